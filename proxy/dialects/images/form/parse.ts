/**
 * Reads multipart/form-data (RFC 7578) that is complete in memory. Contents stay where they are in the body; time is
 * linear in its length, whatever is in it: what is compared with the boundary has no carriage return, so that no byte
 * is compared more than once for two beginnings.
 */
import { GatewayError } from '../../../errors.ts'
import { readHeader } from './parameters.ts'

export interface Part {
  /** One character a byte (Latin-1), as the file's name: they may be in any encoding. */
  name: string
  /** Set for a file. */
  filename?: string
  contentType?: string
  /** Of the content, in the body. */
  start: number
  end: number
}

const MAX_PARTS = 64
const MAX_HEADER_BYTES = 8 * 1024
const MAX_NAME = 200
const MAX_TYPE = 200
/** Encodings that leave the bytes as they are; any other is obsolete (RFC 7578 4.7). */
const PLAIN_ENCODINGS = ['7bit', '8bit', 'binary']

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const DASH = 0x2d
const DELETE = 0x7f

/** A line that begins with the boundary. */
interface Delimiter {
  /** Of the line end before it. */
  start: number
  /** Where the next part begins; undefined behind the last one. */
  next: number | undefined
}

/** The parts in their order. Throws GatewayError invalid_request, and nothing else on any bytes. */
export function parseForm(body: Buffer, boundary: string): Part[] {
  const line = Buffer.from(`--${boundary}`, 'latin1')
  const parts: Part[] = []
  let at = firstDelimiter(body, line).next
  while (at !== undefined) {
    if (parts.length === MAX_PARTS) throw malformed(`has more than ${MAX_PARTS} parts`)
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
  while (body[at] === SPACE || body[at] === TAB) at++
  return body[at] === CR && body[at + 1] === LF ? { next: at + 2 } : undefined
}

/** The headers of a part, and where its content starts. */
function readHead(body: Buffer, from: number): Omit<Part, 'end'> {
  const text = body.toString('latin1', from, Math.min(from + MAX_HEADER_BYTES, body.length))
  const length = text.indexOf('\r\n\r\n')
  if (length < 0) {
    if (text.length < MAX_HEADER_BYTES) throw malformed('ends within the headers of a part')
    throw malformed(`has a part with more than ${MAX_HEADER_BYTES} bytes of headers`)
  }
  const headers = readHeaders(text.slice(0, length))
  const encoding = headers.get('content-transfer-encoding')
  if (encoding !== undefined && !PLAIN_ENCODINGS.includes(encoding.toLowerCase())) {
    throw malformed('has a part with a content transfer encoding')
  }
  const contentType = headers.get('content-type')
  if (contentType !== undefined && contentType.length > MAX_TYPE) {
    throw malformed(`has a part with a content type of more than ${MAX_TYPE} characters`)
  }
  return {
    ...readName(headers.get('content-disposition')),
    ...(contentType !== undefined && { contentType }),
    start: from + length + 4,
  }
}

function readHeaders(text: string): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (colon < 1 || hasControl(line) || /\s/.test(name) || headers.has(name)) {
      throw malformed('has a part with malformed headers')
    }
    headers.set(name, line.slice(colon + 1).trim())
  }
  return headers
}

/** They would be lines of their own to other readers. */
function hasControl(line: string): boolean {
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i)
    if ((code < SPACE && code !== TAB) || code === DELETE) return true
  }
  return false
}

function readName(disposition: string | undefined): Pick<Part, 'name' | 'filename'> {
  const header = disposition === undefined ? undefined : readHeader(disposition)
  const name = header?.parameters.get('name')
  if (header?.value !== 'form-data' || name === undefined || name === '' || name.length > MAX_NAME) {
    throw malformed(`has a part without a name of 1 to ${MAX_NAME} characters`)
  }
  const filename = header.parameters.get('filename') ?? plainName(header.parameters.get('filename*'))
  return { name, ...(filename !== undefined && { filename }) }
}

/** Of `UTF-8''a%20b.png` what stands behind the quotes: it only matters that there is a name. */
function plainName(extended: string | undefined): string | undefined {
  return extended?.slice(extended.lastIndexOf("'") + 1)
}

function malformed(problem: string): GatewayError {
  return new GatewayError('invalid_request', `The form ${problem}.`)
}
