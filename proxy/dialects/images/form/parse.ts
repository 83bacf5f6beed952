/**
 * Reads multipart/form-data (RFC 7578) that is complete in memory. Contents stay where they are in the body; time is
 * linear in its length, whatever is in it: what is compared with the boundary has no carriage return, so that no byte
 * is compared more than once for two beginnings.
 */
import { CR, DASH, LF, SPACE, TAB } from '../../../../kit/bytes.ts'
import {
  headTooLarge,
  MAX_HEADER_BYTES,
  MAX_PADDING,
  malformed,
  type PartHead,
  readPartHead,
  tooManyParts,
} from './part-head.ts'

export interface Part extends PartHead {
  /** Of the content, in the body. */
  start: number
  end: number
}

/** A line that begins with the boundary. */
interface Delimiter {
  /** Of the line end before it. */
  start: number
  /** Where the next part begins; undefined behind the last one. */
  next: number | undefined
}

/** The parts in their order. Throws GatewayError invalid_request, and nothing else on any bytes. */
export function parseForm(body: Buffer, boundary: string, maxParts: number): Part[] {
  const line = Buffer.from(`--${boundary}`, 'latin1')
  const parts: Part[] = []
  let at = firstDelimiter(body, line).next
  while (at !== undefined) {
    if (parts.length === maxParts) throw tooManyParts(maxParts)
    const { start, ...head } = readHead(body, at)
    const delimiter = findDelimiter(body, line, start)
    if (delimiter === undefined) throw malformed('ends before its last boundary')
    parts.push({ ...head, start, end: delimiter.start })
    at = delimiter.next
  }
  return parts
}

/** What stands before it means nothing. */
function firstDelimiter(body: Buffer, line: Buffer): Delimiter {
  const atStart = delimiterAt(body, line, 0)
  const first = atStart === undefined ? findDelimiter(body, line, 0) : { start: 0, ...atStart }
  if (first === undefined) throw malformed('does not have the boundary that its content type names')
  return first
}

function findDelimiter(body: Buffer, line: Buffer, from: number): Delimiter | undefined {
  for (let i = from; i < body.length; i++) {
    if (body[i] !== CR || body[i + 1] !== LF) continue
    const found = delimiterAt(body, line, i + 2)
    if (found !== undefined) return { start: i, ...found }
  }
  return undefined
}

/** A line that goes on behind the boundary with anything but spaces is no delimiter. */
function delimiterAt(body: Buffer, line: Buffer, from: number): Pick<Delimiter, 'next'> | undefined {
  for (let i = 0; i < line.length; i++) if (body[from + i] !== line[i]) return undefined
  let at = from + line.length
  if (body[at] === DASH && body[at + 1] === DASH) return { next: undefined }
  const padded = at + MAX_PADDING
  while (at < padded && (body[at] === SPACE || body[at] === TAB)) at++
  return body[at] === CR && body[at + 1] === LF ? { next: at + 2 } : undefined
}

/** The headers of a part, and where its content starts. */
function readHead(body: Buffer, from: number): Omit<Part, 'end'> {
  const text = body.toString('latin1', from, Math.min(from + MAX_HEADER_BYTES, body.length))
  const length = text.indexOf('\r\n\r\n')
  if (length < 0) {
    if (text.length < MAX_HEADER_BYTES) throw malformed('ends within the headers of a part')
    throw headTooLarge()
  }
  return { ...readPartHead(text.slice(0, length)), start: from + length + 4 }
}
