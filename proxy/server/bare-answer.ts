/** Refusals where there is no request object, written on the bare socket. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { DEFAULT_DIALECT } from '../dialects/index.ts'
import type { GatewayError } from '../errors.ts'
import { newRequestId } from './request-id.ts'

/** Time for a peer to read its refusal and close its side; one that goes on sending does not keep the socket. */
const LINGER_MS = 1_000

/** Answers in the default dialect, because the request is unknown, and closes the connection. */
export function answerBare(socket: Duplex, error: GatewayError): void {
  const requestId = newRequestId()
  const body = JSON.stringify(DEFAULT_DIALECT.errorBody(error, requestId))
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-sluice-error: ${error.code}`,
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    ...(error.retryAfterSeconds === undefined ? [] : [`retry-after: ${error.retryAfterSeconds}`]),
    'connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  destroyAfterLinger(socket)
}

/** Destroys a socket on which all is said. */
export function destroyAfterLinger(socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(cut))
}
