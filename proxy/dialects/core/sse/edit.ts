/** Changes the JSON in server-sent events. All other bytes stay unchanged. */
import { type Cut, cut } from '../json/splice.ts'
import { eventEnd } from './events.ts'

/** A data line and its value. The byte order mark of a stream is three characters in Latin-1. */
const DATA_LINE = /^(?:\xef\xbb\xbf)?data(?::\x20?(.*)|$)/gm
const LF = Buffer.from('\n')

interface Line {
  /** Offset of the line in the data of its event. */
  from: number
  /** Offset of the line in the bytes. */
  at: number
  length: number
}

/**
 * `bytes` are whole events. `edit` gets the data of each event that contains `needle`, an ASCII text, and returns its
 * cuts. A cut across two data lines is skipped.
 */
export function editEvents(bytes: Buffer, needle: string, edit: (data: Buffer) => Cut[]): Buffer {
  if (!bytes.includes(needle)) return bytes
  const latin1 = bytes.toString('latin1')
  const cuts: Cut[] = []
  let next = latin1.indexOf(needle)
  for (let start = 0; next >= 0; ) {
    const end = eventEnd(latin1, start)
    if (next < end) {
      cuts.push(...eventCuts(bytes, latin1.slice(start, end), start, edit))
      next = latin1.indexOf(needle, end)
    }
    start = end
  }
  return cut(bytes, cuts)
}

function eventCuts(bytes: Buffer, event: string, start: number, edit: (data: Buffer) => Cut[]): Cut[] {
  const lines: Line[] = []
  let from = 0
  for (const { index, 0: line, 1: value = '' } of event.matchAll(DATA_LINE)) {
    lines.push({ from, at: start + index + line.length - value.length, length: value.length })
    from += value.length + 1
  }
  const pieces = lines.flatMap(({ at, length }, i) => {
    const piece = bytes.subarray(at, at + length)
    return i === 0 ? [piece] : [LF, piece]
  })
  return edit(Buffer.concat(pieces)).flatMap((given) => {
    const line = lines.findLast((one) => one.from <= given.start)
    if (line === undefined || given.end > line.from + line.length) return []
    const move = line.at - line.from
    return [{ ...given, start: given.start + move, end: given.end + move }]
  })
}
