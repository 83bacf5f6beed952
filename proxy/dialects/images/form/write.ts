/** Writes multipart/form-data (RFC 7578). */
import type { PartHead } from './part-head.ts'

export interface Field extends PartHead {
  content: Buffer | string
}

/** Ends each content. */
export const LINE_END = Buffer.from('\r\n')
const ESCAPES: Partial<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A' }

export function writeForm(fields: readonly Field[], boundary: string): Buffer {
  return Buffer.concat([...pieces(fields, boundary), formEnd(boundary)])
}

/** The first parts of a form, without its last boundary. */
export function writeFields(fields: readonly Field[], boundary: string): Buffer {
  return Buffer.concat(pieces(fields, boundary))
}

function pieces(fields: readonly Field[], boundary: string): Buffer[] {
  return fields.flatMap(({ content, ...head }) => {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    return [fieldStart(head, boundary), bytes, LINE_END]
  })
}

/** The boundary and headers before the content of a part. */
export function fieldStart({ name, filename, contentType }: PartHead, boundary: string): Buffer {
  const file = filename === undefined ? '' : `; filename="${escaped(filename)}"`
  const type = contentType === undefined ? '' : `content-type: ${contentType}\r\n`
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"${file}\r\n${type}\r\n`
  return Buffer.from(head, 'latin1')
}

export function formEnd(boundary: string): Buffer {
  return Buffer.from(`--${boundary}--\r\n`)
}

/** Escapes as browsers do. */
function escaped(name: string): string {
  return name.replace(/["\r\n]/g, (character) => ESCAPES[character] ?? character)
}
