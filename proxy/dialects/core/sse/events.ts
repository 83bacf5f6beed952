import { CR, LF } from '../../../../kit/bytes.ts'
import { readEvents } from './reader.ts'
import { endsEmptyLine } from './splitter.ts'

/** One server-sent event. No dialect uses its id and retry time. */
interface SseEvent {
  /** The `event` field; empty when there is none. */
  event: string
  /** The `data` lines, joined with a line feed. */
  data: string
}

/** The events in a buffer that begins with an event; see readEvents. */
export function sseEvents(bytes: Buffer): SseEvent[] {
  const events: SseEvent[] = []
  readEvents(bytes.toString('utf8'), (event, data) => void events.push({ event, data }))
  return events
}

/**
 * Index after the empty line that ends the event at `from`; the length of the text when none does. `latin1`: bytes of a
 * stream as Latin-1 text (one character per byte), beginning with an event.
 */
export function eventEnd(latin1: string, from: number): number {
  const code = (i: number) => (i < 0 ? LF : latin1.charCodeAt(i))
  for (let i = from; i < latin1.length; i++) {
    if (!endsEmptyLine(code(i - 2), code(i - 1), code(i))) continue
    return code(i) === CR && code(i + 1) === LF ? i + 2 : i + 1
  }
  return latin1.length
}
