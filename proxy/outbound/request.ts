/** A request to an upstream, and the form in which undici takes it. */
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

/** A request, ready to be sent. */
export interface UpstreamRequest {
  /** Absent: POST. */
  method?: 'GET' | 'DELETE'
  /** Scheme, host and port. */
  origin: string
  /** Path and query. */
  path: string
  /** Names in lower case. Requests may share them. */
  headers: Readonly<Record<string, string>>
  /** Null: none. The length of a stream is not known; it is destroyed with the request. */
  body: Buffer | readonly Buffer[] | Readable | null
}

/** undici counts a Buffer as sent when the socket has queued it. This much fits into the socket buffers of the kernel. */
const QUEUED_WHOLE_BYTES = 1_048_576
const PIECE_BYTES = 262_144

/** The request as undici takes it. Its own time-outs are coarse and would continue during a pause. */
export function optionsOf(request: UpstreamRequest): Dispatcher.DispatchOptions {
  const { method = 'POST', origin, path, headers, body } = request
  const carrying = (sent: Buffer | Readable | null, length?: number) => ({
    method,
    origin,
    path,
    headers: length === undefined ? headers : { ...headers, 'content-length': String(length) },
    body: sent,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  if (body === null || body instanceof Readable) return carrying(body)
  if (Buffer.isBuffer(body) && body.length <= QUEUED_WHOLE_BYTES) return carrying(body)
  const parts = Buffer.isBuffer(body) ? [body] : body
  return carrying(
    inPieces(parts),
    parts.reduce((sum, part) => sum + part.length, 0),
  )
}

/** A large body as pieces, of which undici queues one at a time: it is sent when the last one is. */
function inPieces(parts: readonly Buffer[]): Readable {
  const pieces = async function* () {
    for (const part of parts)
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        yield part.subarray(at, at + PIECE_BYTES)
        // Without this, others wait until the socket buffers are full: 4 MB at once, 5 ms.
        await new Promise(setImmediate)
      }
  }
  return Readable.from(pieces(), { objectMode: false, highWaterMark: PIECE_BYTES })
}
