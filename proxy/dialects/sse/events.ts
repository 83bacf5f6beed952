import { endsEmptyLine } from './splitter.ts'

/** One server-sent event. Its id and its retry time mean nothing to the dialects. */
export interface SseEvent {
  /** The `event` field; empty when there is none. */
  event: string
  /** The `data` lines, joined with a line feed. */
  data: string
}

const LF = 0x0a
const CR = 0x0d

/**
 * The events in a buffer that begins where an event begins. Events without data (comments, stray empty lines) are
 * skipped; a last event that lacks its empty line counts.
 */
export function* sseEvents(bytes: Buffer): Generator<SseEvent> {
  let event = ''
  let data: string[] = []
  const lines = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
  for (const line of [...lines, '']) {
    if (line === '') {
      if (data.length > 0) yield { event, data: data.join('\n') }
      event = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
  }
}

/**
 * Index after the empty line that ends the event at `from`; the length of the text when none does. `latin1` is a
 * stream's bytes as Latin-1 text, one character a byte, from where an event begins.
 */
export function eventEnd(latin1: string, from: number): number {
  const code = (i: number) => (i < 0 ? LF : latin1.charCodeAt(i))
  for (let i = from; i < latin1.length; i++) {
    if (!endsEmptyLine(code(i - 2), code(i - 1), code(i))) continue
    return code(i) === CR && code(i + 1) === LF ? i + 2 : i + 1
  }
  return latin1.length
}
