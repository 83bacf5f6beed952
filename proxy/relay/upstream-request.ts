/** Builds the headers for an upstream of the relay: its key, and no other header of the caller. */
import { authOf } from '../../contract/channel-types.ts'
import { credentialHeader } from '../upstream/request.ts'
import type { RelayRequest } from './request.ts'

/** Names in lower case. `url` was checked. */
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
    // The answer is streamed as it is, and the relay does not know which encodings the caller supports.
    'accept-encoding': 'identity',
    'user-agent': 'sluice',
    connection: 'close',
  }
}
