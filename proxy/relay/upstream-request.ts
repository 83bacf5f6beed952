/** The headers that an upstream gets from the relay: its key, and nothing else of the caller's. */
import type { RelayRequest } from './request.ts'

/** Version of the Messages API that every upstream of that style is asked in. */
const ANTHROPIC_VERSION = '2023-06-01'
/** The beta that the field `speed` belongs to; https://docs.anthropic.com/en/api/beta-headers. */
const SPEED_BETA = 'fast-mode-2026-02-01'

/** Names in lower case. `url` is the one that was checked. */
export function upstreamHeaders(
  url: URL,
  key: string,
  { style, body, stream, speed }: RelayRequest,
): Record<string, string> {
  return {
    host: url.host,
    ...(style === 'messages' ? messagesHeaders(key, speed) : { authorization: `Bearer ${key}` }),
    'content-type': 'application/json',
    'content-length': String(body.length),
    accept: stream ? 'text/event-stream' : 'application/json',
    // What comes is passed on as it is; the caller has not said which encodings it knows.
    'accept-encoding': 'identity',
    'user-agent': 'sluice',
    connection: 'close',
  }
}

function messagesHeaders(key: string, speed: boolean): Record<string, string> {
  const headers = { 'x-api-key': key, 'anthropic-version': ANTHROPIC_VERSION }
  return speed ? { ...headers, 'anthropic-beta': SPEED_BETA } : headers
}
