/** Parses the headers of a part of a form (RFC 7578), within limits. */
import { DELETE, SPACE, TAB } from '../../../../kit/bytes.ts'
import { GatewayError } from '../../../errors.ts'
import { readHeader } from './parameters.ts'

export interface PartHead {
  /** One character per byte (Latin-1), like the file name: clients use any encoding. */
  name: string
  /** Present for a file. */
  filename?: string
  contentType?: string
}

/** Including the empty line after them. */
export const MAX_HEADER_BYTES = 8 * 1024
/** Spaces and tabs between a boundary and the end of its line. */
export const MAX_PADDING = 256
const MAX_NAME = 200
const MAX_TYPE = 200
/** Encodings that do not change the bytes; all others are obsolete (RFC 7578 4.7). */
const PLAIN_ENCODINGS = ['7bit', '8bit', 'binary']

/** `text`: the lines before the empty one, in Latin-1. Throws GatewayError invalid_request. */
export function readPartHead(text: string): PartHead {
  const headers = readHeaders(text)
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

/** Other parsers may end a line at a control character. */
function hasControl(line: string): boolean {
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i)
    if ((code < SPACE && code !== TAB) || code === DELETE) return true
  }
  return false
}

function readName(disposition: string | undefined): Pick<PartHead, 'name' | 'filename'> {
  const header = disposition === undefined ? undefined : readHeader(disposition)
  const name = header?.parameters.get('name')
  if (header?.value !== 'form-data' || name === undefined || name === '' || name.length > MAX_NAME) {
    throw malformed(`has a part without a name of 1 to ${MAX_NAME} characters`)
  }
  const filename = header.parameters.get('filename') ?? plainName(header.parameters.get('filename*'))
  return { name, ...(filename !== undefined && { filename }) }
}

/** The part of `UTF-8''a%20b.png` after the quotes. Not decoded, because only the presence of a name matters. */
function plainName(extended: string | undefined): string | undefined {
  return extended?.slice(extended.lastIndexOf("'") + 1)
}

export function malformed(problem: string): GatewayError {
  return new GatewayError('invalid_request', `The form ${problem}.`)
}
