/** The requests of a connection. Their answers are sent in the same order (RFC 9112, section 9.3.2). */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

interface RequestQueue {
  /** Requests so far. */
  count: number
  /** The newest answer that is not over; all others are sent before it. */
  last: ServerResponse | undefined
  /** True once the input was not valid HTTP, or too slow: no later request is served. */
  broken: boolean
}

const queues = new WeakMap<Duplex, RequestQueue>()

export function queueOf(socket: Duplex): RequestQueue {
  const known = queues.get(socket)
  if (known !== undefined) return known
  const queue = { count: 0, last: undefined, broken: false }
  queues.set(socket, queue)
  return queue
}

/** True when no answer is under way, so that the protocol may change. */
export function isFree({ last, broken }: RequestQueue): boolean {
  return last === undefined && !broken
}

/**
 * Adds a request. False when an answer before it ends the connection: the client never gets an answer to this one, so
 * it must not be served (RFC 9112, section 9.6).
 */
export function join(queue: RequestQueue, res: ServerResponse): boolean {
  if (queue.broken || queue.last?.shouldKeepAlive === false) return false
  queue.count++
  queue.last = res
  const over = () => {
    if (queue.last === res) queue.last = undefined
  }
  res.on('finish', over).on('close', over)
  return true
}
