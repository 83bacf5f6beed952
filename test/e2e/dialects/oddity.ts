/** An answer that is odd and yet right, and what every client must read of it. */
import type { Counts, DialectName } from './story.ts'

export interface Oddity {
  name: string
  upstream: DialectName
  /** The whole answer, or the events of a stream: JSON each. */
  body?: object
  events?: object[]
  text?: string
  reasoning?: string
  /** Name and input. */
  calls?: [string, string][]
  counts?: Partial<Counts>
}

/** What most of them use. */
export const COUNTS = { input: 20, output: 7 }

/** The bytes of a stream, as its dialect frames it. */
export function framed({ upstream, events = [] }: Oddity): string {
  const lines = events.map((event) => {
    const name = upstream === 'chat' ? '' : `event: ${(event as { type: string }).type}\n`
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return lines.join('') + (upstream === 'chat' ? 'data: [DONE]\n\n' : '')
}
