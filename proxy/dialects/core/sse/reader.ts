import { SPACE } from '../../../../kit/bytes.ts'

const BYTE_ORDER_MARK = 0xfeff

/**
 * Calls `each` for every server-sent event of a text that begins with an event
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation). `event` is '' when the
 * event names none; `data` are its data lines, joined with a line feed. Skips events without data (comments, stray empty
 * lines) and a byte order mark at the beginning. Unlike the standard, reads a last event that lacks its empty line: some
 * upstreams close without it.
 */
export function readEvents(text: string, each: (event: string, data: string) => void): void {
  // Most upstreams end lines with a line feed; others pay for a second pass.
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
  let at = lines.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0
  let event = ''
  let data: string | undefined
  while (at < lines.length) {
    const found = lines.indexOf('\n', at)
    const end = found < 0 ? lines.length : found
    if (end === at) {
      if (data !== undefined) each(event, data)
      event = ''
      data = undefined
    } else if (isField(lines, 'data', at, end)) {
      const value = fieldValue(lines, at + 4, end)
      data = data === undefined ? value : `${data}\n${value}`
    } else if (isField(lines, 'event', at, end)) {
      event = fieldValue(lines, at + 5, end)
    }
    at = end + 1
  }
  if (data !== undefined) each(event, data)
}

/** True when the line from `at` to `end` has this field: its name, alone or before a colon. */
function isField(lines: string, name: string, at: number, end: number): boolean {
  const after = at + name.length
  return lines.startsWith(name, at) && (after === end || lines[after] === ':')
}

/** The text after the colon at `colon`, without one leading space; '' when the line ends before. */
function fieldValue(lines: string, colon: number, end: number): string {
  return lines.slice(lines.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, end)
}
