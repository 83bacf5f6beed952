/** Writes a refusal on the bare socket, where Node has no request object. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { DEFAULT_DIALECT } from '../dialects/index.ts'
import type { GatewayError } from '../errors.ts'
import { newRequestId } from './request-id.ts'

/** Time for a client to read the refusal and close its side. Without this bound a client that keeps sending holds the socket. */
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

/** Destroys a socket after its last answer. */
export function destroyAfterLinger(socket: Duplex, lingerMs: number = LINGER_MS): void {
  const cut = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(cut))
}
