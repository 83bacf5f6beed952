/** What a caller of the relay asks for: `{url, format, body}`. */
import type { JsonLimits } from '../dialects/core/dialect.ts'
import { parseJsonObject } from '../dialects/core/json/body.ts'
import { spanOf } from '../dialects/core/json/splice.ts'
import { isRecord } from '../dialects/core/json/value.ts'
import { GatewayError } from '../errors.ts'

/** Whose headers the upstream gets. */
export type RelayStyle = 'chat' | 'messages'

export interface RelayRequest {
  /** As written; the address policy reads it. */
  url: string
  style: RelayStyle
  /** The bytes of the upstream's body, as they stand in the request. */
  body: Buffer
  /** The body asks for a stream. */
  stream: boolean
  /** The body has the field `speed`. */
  speed: boolean
}

const READ_KEYS: ReadonlySet<string> = new Set(['url', 'format', 'body'])

/** Throws GatewayError invalid_request. Further keys beside the three are ignored. */
export function parseRelayRequest(bytes: Buffer, limits: JsonLimits): RelayRequest {
  const { value, members } = parseJsonObject(bytes, limits, READ_KEYS)
  const { url, format, body } = value
  if (typeof url !== 'string') throw wrong('url', 'must be a string')
  if (typeof format !== 'string') throw wrong('format', 'must be a string')
  const span = spanOf(members, 'body')
  if (!isRecord(body) || span === undefined) throw wrong('body', 'must be an object')
  if (typeof body.model !== 'string' || body.model === '')
    throw wrong('body.model', 'must be a string that is not empty')
  return {
    url,
    style: styleOf(format),
    body: bytes.subarray(span.start, span.end),
    stream: body.stream === true,
    speed: Object.hasOwn(body, 'speed'),
  }
}

function styleOf(format: string): RelayStyle {
  return /anthropic|claude|messages/i.test(format) ? 'messages' : 'chat'
}

function wrong(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${problem}.`, { param })
}
