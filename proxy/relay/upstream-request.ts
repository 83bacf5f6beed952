/** The headers that an upstream gets from the relay: its key, and nothing else of the caller's. */
import { authOf } from '../../contract/channel-types.ts'
import { credentialHeader } from '../upstream/request.ts'
import type { RelayRequest } from './request.ts'

/** Names in lower case. `url` is the one that was checked. */
export function upstreamHeaders(
  url: URL,
  key: string,
  { style, headers, body, stream }: RelayRequest,
): Record<string, string> {
  return {
    host: url.host,
    ...credentialHeader({ ...authOf(style), secret: key }),
    ...headers,
    'content-type': 'application/json',
    'content-length': String(body.length),
    accept: stream ? 'text/event-stream' : 'application/json',
    // What comes is passed on as it is; the caller has not said which encodings it knows.
    'accept-encoding': 'identity',
    'user-agent': 'sluice',
    connection: 'close',
  }
}
