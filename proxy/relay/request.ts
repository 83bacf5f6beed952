/** Reads the body of a relay request: `{url, format, body}`. */
import type { ApiName } from '../../contract/apis.ts'
import { parseJsonObject } from '../dialects/core/json/body.ts'
import { spanOf } from '../dialects/core/json/splice.ts'
import { isRecord } from '../dialects/core/json/value.ts'
import type { JsonLimits } from '../dialects/core/request.ts'
import { relayDialect } from '../dialects/index.ts'
import { GatewayError } from '../errors.ts'

export interface RelayRequest {
  /** Not checked yet: the address policy does that. */
  url: string
  /** The dialect that the caller means: its upstreams decide how the key is sent. */
  style: ApiName
  /** The body for the upstream, byte for byte as in the request. */
  body: Buffer
  /** The body requests a stream. */
  stream: boolean
  /** Of the dialect, beside the key; names in lower case. */
  headers: Record<string, string>
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
  const dialect = relayDialect(format)
  return {
    url,
    style: dialect.name,
    body: bytes.subarray(span.start, span.end),
    stream: body.stream === true,
    headers: dialect.versionHeaders?.(body) ?? {},
  }
}

function wrong(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${problem}.`, { param })
}
