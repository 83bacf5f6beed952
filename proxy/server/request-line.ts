/** The requests of a connection, whose answers go out in their order (RFC 9112, section 9.3.2). */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface RequestLine {
  /** Requests so far. */
  count: number
  /** The newest answer that is not over; all others that are not over go out before it. */
  last: ServerResponse | undefined
  /** True once something came that is no HTTP, or not in time: nothing that follows is served. */
  broken: boolean
}

const lines = new WeakMap<Duplex, RequestLine>()

export function lineOf(socket: Duplex): RequestLine {
  const line = lines.get(socket) ?? { count: 0, last: undefined, broken: false }
  lines.set(socket, line)
  return line
}

/** True when no answer is under way, which would run into another protocol. */
export function isFree({ last, broken }: RequestLine): boolean {
  return last === undefined && !broken
}

/**
 * Adds a request. False when an answer before it ends the connection: the client never gets an answer to this one, so
 * it must not be served (RFC 9112, section 9.6).
 */
export function join(line: RequestLine, res: ServerResponse): boolean {
  if (line.broken || line.last?.shouldKeepAlive === false) return false
  line.count++
  line.last = res
  const over = () => {
    if (line.last === res) line.last = undefined
  }
  res.once('finish', over).once('close', over)
  return true
}
