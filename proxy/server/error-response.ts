/** Renders an error once, at the edge, in the dialect of the caller. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DIALECTS } from '../dialects/index.ts'
import type { GatewayError } from '../errors.ts'

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
  res.writeHead(error.status, {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-sluice-error': error.code,
    ...retryHeaders(error),
  })
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

/** The family is told by the path, and where both families share one, by the header that only one of them sends. */
function renderBody(req: IncomingMessage, error: GatewayError, requestId: string): object {
  const path = (req.url ?? '').replace(/^\/api(?=\/)/, '')
  const messages = /^\/v1\/messages(?:[/?]|$)/.test(path)
  const openai = /^\/(?:v1\/(?:chat|responses|embeddings|images)|proxy)(?:[/?]|$)/.test(path)
  const anthropic = messages || (!openai && req.headers['anthropic-version'] !== undefined)
  return DIALECTS[anthropic ? 'messages' : 'chat'].errorBody(error, requestId)
}

function retryHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = {}
  if (error.retryAfterSeconds !== undefined)
    headers['retry-after'] = String(Math.ceil(error.retryAfterSeconds))
  if (error.final) headers['x-should-retry'] = 'false'
  return headers
}
