/** Renders an error once, at the edge, in the dialect of the caller. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientApiOf, DEFAULT_DIALECT } from '../dialects/index.ts'
import type { GatewayError } from '../errors.ts'
import { writeHead } from '../pipeline/request/head.ts'

/** Without `/api`. */
const RELAY = /^\/proxy(?:[/?]|$)/

/** How long the rest of a refused upload is read and dropped. */
const LINGER_MS = 2_000

/** Answers with the error. An answer that has begun can only be broken off. */
export function sendError(
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
  requestId: string,
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy()
    return
  }
  const body = Buffer.from(JSON.stringify(renderBody(req, error, requestId)))
  writeHead(res, error.status, [
    ...['content-type', 'application/json'],
    ...['content-length', String(body.length)],
    ...['x-sluice-error', error.code],
    ...retryHeaders(error),
  ])
  if (req.complete) res.end(body)
  else endBehindRequest(req, res, body)
}

/** Complete answers that wait for the end of their requests. */
const waiting = new WeakMap<ServerResponse, () => void>()

/** Ends an answer that waits for the end of its request, which will not come. False when it does not wait. */
export function endWaiting(res: ServerResponse): boolean {
  const end = waiting.get(res)
  end?.()
  return end !== undefined
}

/**
 * Writes the whole answer at once, but ends it only when the request ends: with the end Node closes a connection that is
 * not kept, and a client that is cut off while it sends loses the answer.
 */
function endBehindRequest(req: IncomingMessage, res: ServerResponse, body: Buffer): void {
  res.write(body)
  req.resume()
  let cut: NodeJS.Timeout | undefined
  const end = () => {
    clearTimeout(cut)
    waiting.delete(res)
    res.end()
  }
  const linger = () => {
    if (!waiting.has(res)) return
    cut = setTimeout(() => {
      end()
      req.socket.destroy()
    }, LINGER_MS).unref()
  }
  waiting.set(res, end)
  // After other answers it has not begun yet, and the connection still belongs to them.
  if (res.socket === null) res.once('socket', linger)
  else linger()
  req.once('end', end).once('close', end)
}

/** The relay speaks the default dialect; elsewhere the client decides. */
function renderBody({ url = '', headers }: IncomingMessage, error: GatewayError, requestId: string): object {
  const path = url.replace(/^\/api(?=\/)/, '')
  const api = RELAY.test(path) ? DEFAULT_DIALECT : clientApiOf(path, headers)
  return api.errorBody(error, requestId)
}

function retryHeaders(error: GatewayError): string[] {
  const headers: string[] = []
  if (error.retryAfterSeconds !== undefined)
    headers.push('retry-after', String(Math.ceil(error.retryAfterSeconds)))
  if (error.final) headers.push('x-should-retry', 'false')
  return headers
}
