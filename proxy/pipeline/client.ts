/** The client's side of a request: whether it is still there, and answers of one piece. */
import type { ServerResponse } from 'node:http'

/** The client closed the connection; there is nobody to answer. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** A signal that aborts when the client goes away before its answer is complete. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) controller.abort(new ClientGone())
  })
  return controller.signal
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
  res.end(body)
  if (res.writableFinished) return
  const socket = res.socket
  let written = socket?.bytesWritten
  const timer = setInterval(() => {
    if (socket?.bytesWritten === written) res.destroy()
    written = socket?.bytesWritten
  }, stallMs)
  timer.unref()
  const stop = () => clearInterval(timer)
  res.once('finish', stop)
  res.once('close', stop)
}
