/** What does not parse, or never becomes complete: told in its turn, and the connection ends. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../errors.ts'
import { answerBare, destroyAfterLinger } from './bare-answer.ts'
import { endWaiting } from './error-response.ts'
import { type HeadLimits, headersTooLarge } from './request-problem.ts'
import { queueOf } from './request-queue.ts'

export type Refusal = (req: IncomingMessage, res: ServerResponse, error: GatewayError) => void

/** `breakOff` answers a request that is being served and whose body broke or never came. */
export function answerBroken(
  error: Error & { code?: string },
  socket: Duplex,
  limits: HeadLimits,
  breakOff: Refusal,
): void {
  const queue = queueOf(socket)
  const reset = error.code === 'ECONNRESET'
  // The parser says so of each packet that follows.
  if (queue.broken && !reset) return
  queue.broken = true
  const { last } = queue
  // Its answer waits for others: whoever ends the connection in such a request has left, as after a whole one.
  if (error.code === 'HPE_INVALID_EOF_STATE' && last?.socket === null) {
    socket.destroy()
    return
  }
  if (last !== undefined && endWaiting(last)) {
    // It has told the client that the connection is kept.
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

/** Refuses what has no request object, behind the answers to the requests before it. */
export function answerInTurn(socket: Duplex, refusal: GatewayError): void {
  const { last } = queueOf(socket)
  if (last === undefined) answerBare(socket, refusal)
  // What follows the last request of a connection is ignored.
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
