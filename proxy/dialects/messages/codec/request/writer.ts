import * as core from '../../../core/writer.ts'

/** State that the parts of the request encoder share. */
export interface Writer extends core.Writer {
  /** Each written cache mark, and the client's name for it. */
  marks: Map<unknown, string>
}

export function writerFor(...about: Parameters<typeof core.writerFor>): Writer {
  return { ...core.writerFor(...about), marks: new Map() }
}
