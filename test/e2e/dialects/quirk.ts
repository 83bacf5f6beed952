/** An odd but valid answer, and what every client must read from it. */
import type { Counts, DialectName } from './scripted-answer.ts'

export interface Quirk {
  name: string
  upstream: DialectName
  /** The answer as JSON, or the JSON of each event of a stream. */
  body?: object
  events?: object[]
  text?: string
  reasoning?: string
  /** Name and input. */
  calls?: [string, string][]
  counts?: Partial<Counts>
  /** The SDK of the same dialect, which gets it as it is, does not understand it. */
  otherDialectsOnly?: true
}

/** Token counts of most quirks. */
export const COUNTS = { input: 20, output: 7 }

/** The bytes of a stream, as its dialect frames it. */
export function framed({ upstream, events = [] }: Quirk): string {
  const lines = events.map((event) => {
    const name = upstream === 'chat' ? '' : `event: ${(event as { type: string }).type}\n`
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return lines.join('') + (upstream === 'chat' ? 'data: [DONE]\n\n' : '')
}
