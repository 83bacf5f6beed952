/** Answers requests that do not parse or never become complete, in their turn, and closes the connection. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../errors.ts'
import { answerBare, destroyAfterLinger } from './bare-answer.ts'
import { endWaiting } from './error-response.ts'
import { type HeadLimits, headersTooLarge } from './request-problem.ts'
import { queueOf } from './request-queue.ts'

export type Refusal = (req: IncomingMessage, res: ServerResponse, error: GatewayError) => void

/** `breakOff` answers a request that is being served and whose body broke or never arrived. */
export function answerBroken(
  error: Error & { code?: string },
  socket: Duplex,
  limits: HeadLimits,
  breakOff: Refusal,
): void {
  const queue = queueOf(socket)
  const reset = error.code === 'ECONNRESET'
  // The parser reports each packet that follows.
  if (queue.broken && !reset) return
  queue.broken = true
  const { last } = queue
  // Its answer waits for others. A client that ends the connection in the middle of such a request has left.
  if (error.code === 'HPE_INVALID_EOF_STATE' && last?.socket === null) {
    socket.destroy()
    return
  }
  if (last !== undefined && endWaiting(last)) {
    // Its headers have promised to keep the connection.
    last.once('finish', () => end(socket))
    return
  }
  if (reset || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal = problemOf(error, limits)
  if (last === undefined || last.req.complete) answerInTurn(socket, refusal)
  // An answer that has begun cannot be taken back.
  else if (last.headersSent) socket.destroy()
  else {
    last.shouldKeepAlive = false
    if (last.socket === null) last.once('socket', () => destroyAfterLinger(socket))
    else destroyAfterLinger(socket)
    breakOff(last.req, last, refusal)
  }
}

/** Refuses input that has no request object, after the answers to the requests before it. */
export function answerInTurn(socket: Duplex, refusal: GatewayError): void {
  const { last } = queueOf(socket)
  if (last === undefined) answerBare(socket, refusal)
  // Input after the last request of a connection is ignored.
  else if (last.shouldKeepAlive) {
    last.once('finish', () => {
      if (socket.writable) answerBare(socket, refusal)
    })
  }
}

function end(socket: Duplex): void {
  socket.end()
  destroyAfterLinger(socket)
}

function problemOf({ code }: { code?: string }, limits: HeadLimits): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(limits)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new GatewayError('request_timeout', 'The request was not sent in time.')
  return new GatewayError('invalid_request', 'This is not a valid HTTP/1.1 request.')
}
