/** The client's side of a request over HTTP: whether it is still there, and answers of one piece. */
import type { ServerResponse } from 'node:http'
import type { Shutdown } from './shutdown.ts'

/** The client closed the connection; there is nobody to answer. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/**
 * Aborts when work on an answer must end early. The reason is ClientGone, or the GatewayError that the client is still
 * to be told: the process shuts down, or the key was taken back.
 */
export function requestControl(res: ServerResponse, shutdown: Shutdown): AbortController {
  const controller = new AbortController()
  shutdown.add(controller)
  res.once('close', () => {
    shutdown.remove(controller)
    if (!res.writableFinished) controller.abort(new ClientGone())
  })
  return controller
}

/** Sends a whole answer; a client that does not read it for `stallMs` is cut off. */
export function sendWhole(
  res: ServerResponse,
  status: number,
  contentType: string,
  body: Buffer,
  stallMs: number,
): void {
  res.writeHead(status, { 'content-type': contentType, 'content-length': body.length })
  onSilence(res, stallMs, () => res.destroy())
  res.end(body)
}

/** Calls `silent` when for `ms` nothing was sent and the client took nothing of what is still to be sent. */
export function onSilence(res: ServerResponse, ms: number, silent: () => void): void {
  res.setTimeout(ms, silent)
  // Before the server's own listener, which sets the time-out of the idle connection.
  res.prependOnceListener('finish', () => res.setTimeout(0))
}
