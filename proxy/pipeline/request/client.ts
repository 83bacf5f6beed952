/** The client's side of an HTTP request: whether the client is still connected, and answers in one piece. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancel, type Canceller } from '../../../kit/cancel.ts'
import type { Arrival } from './context.ts'
import { writeHead } from './head.ts'
import type { Shutdown } from './shutdown.ts'

/** The client closed the connection and does not wait for an answer. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** A request over HTTP with its answer. */
export interface HttpRequest {
  requestId: string
  req: IncomingMessage
  res: ServerResponse
  /** See requestControl. */
  control: Canceller
}

/** `endpoint`: its name, for log and metrics. */
export function arrivalOf(endpoint: string, { requestId, req, res, control }: HttpRequest): Arrival {
  const status = () => (res.headersSent ? res.statusCode : 0)
  return { endpoint, requestId, req, control, status }
}

/**
 * Aborts when work on an answer must end early. The reason is ClientGone, or the GatewayError for the client: the
 * process shuts down, or the key was revoked.
 */
export function requestControl(res: ServerResponse, shutdown: Shutdown): Canceller {
  const controller = new Cancel()
  const seat = shutdown.add(controller)
  res.on('close', () => {
    shutdown.remove(seat)
    if (!res.writableFinished) controller.abort(new ClientGone())
  })
  return controller
}

/** Node writes a head and a text of this length together from its stack; above that it allocates. */
const MAX_TEXT_BYTES = 12_288

/** Sends a whole answer in JSON with status 200; cuts off a client that does not read it for `stallMs`. */
export function sendWhole(res: ServerResponse, body: Buffer, stallMs: number): void {
  writeHead(res, 200, ['content-type', 'application/json', 'content-length', String(body.length)])
  // As a text in Latin-1, which has the same bytes, it is one string with the head: 9 of 64 µs less than two buffers.
  if (body.length <= MAX_TEXT_BYTES) res.end(body.toString('latin1'), 'latin1')
  else res.end(body)
  cutIfUnread(res, stallMs)
}

/** Cuts off the client of an answer that has ended, when it does not read the rest for `ms`. */
export function cutIfUnread(res: ServerResponse, ms: number): void {
  // Most answers are in the buffers of the system by now. One behind another answer has no socket yet.
  if (res.socket === null || res.socket.writableLength > 0) onSilence(res, ms, () => res.destroy())
}

/** Calls `silent` when for `ms` nothing was sent and the client read none of the unsent bytes. */
export function onSilence(res: ServerResponse, ms: number, silent: () => void): void {
  res.setTimeout(ms, silent)
  // Before the server's own listener, which sets the time-out of the idle connection.
  res.prependOnceListener('finish', () => res.setTimeout(0))
}
