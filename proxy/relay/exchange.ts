/**
 * One relayed call over one connection: the request out, and the answer to the client as it comes, byte for byte. Node's
 * client is used because it reads answers strictly, passes over unasked 100s, and has no time-outs of its own.
 */
import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../errors.ts'
import { answerHeaders } from './answer-headers.ts'

export interface UpstreamCall {
  /** The one that was checked. */
  url: URL
  headers: Record<string, string>
  body: Buffer
}

/** Hears how an answer comes. Its methods must not throw. */
export interface ExchangeEvents {
  /** Bytes of the body, after their way to the client has begun. */
  received(bytes: number): void
}

const MAX_HEADER_BYTES = 16_384
const FLUSH_MS = 1_000

/**
 * Resolves when the client has got the whole answer. Rejects with the reason of `signal`, or with GatewayError
 * upstream_error; a client that had the headers by then is cut off. The socket is destroyed in any case.
 */
export async function exchange(
  socket: Duplex,
  call: UpstreamCall,
  res: ServerResponse,
  signal: AbortSignal,
  events: ExchangeEvents,
): Promise<void> {
  let stop: (() => void) | undefined
  try {
    const aborted = new Promise<never>((_resolve, reject) => {
      stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop)
    })
    signal.throwIfAborted()
    await Promise.race([passOn(socket, call, res, events), aborted])
  } catch (error) {
    if (!signal.aborted) await written(res)
    cutOff(res)
    throw error
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
    socket.destroy()
  }
}

function passOn(
  socket: Duplex,
  { url, headers, body }: UpstreamCall,
  res: ServerResponse,
  events: ExchangeEvents,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer: IncomingMessage | undefined
    let failed = false
    const fail = () => {
      failed = true
      reject(new GatewayError('upstream_error', 'The upstream broke off its answer.'))
    }
    const failIncomplete = () => {
      if (answer?.complete !== true) fail()
    }
    // A connection that broke before the request took it tells the request nothing.
    socket.on('close', failIncomplete)
    if (socket.destroyed) return fail()
    const request = openRequest({
      createConnection: () => socket,
      method: 'POST',
      path: url.pathname + url.search,
      headers,
      setHost: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Also where the command line says otherwise.
      insecureHTTPParser: false,
    })
    // Told before the answer ends: Node takes a reset for the end of one without a length.
    request.on('error', failIncomplete)
    request.on('close', failIncomplete)
    request.on('response', (answered) => {
      answer = answered
      if (!begin(answered, res)) return fail()
      answered.on('end', () => {
        if (!failed) res.end()
      })
      answered.on('error', failIncomplete)
      relayBody(answered, res, events)
      res.on('finish', resolve)
    })
    request.end(body)
  })
}

/** Sends status and headers at once, so that a silent stream shows them. False for a status that is none. */
function begin({ statusCode = 0, headers }: IncomingMessage, res: ServerResponse): boolean {
  if (statusCode < 200 || res.destroyed || res.headersSent) return false
  for (const [name, value] of Object.entries(answerHeaders(statusCode, headers))) res.setHeader(name, value)
  res.writeHead(statusCode)
  res.flushHeaders()
  return true
}

/** No faster than the client takes it. */
function relayBody(answer: IncomingMessage, res: ServerResponse, { received }: ExchangeEvents): void {
  res.on('drain', () => answer.resume())
  answer.on('data', (chunk: Buffer) => {
    if (!res.write(chunk)) answer.pause()
    received(chunk.length)
  })
}

/** Resolves when what came before an upstream broke off is on its way, or its client does not read it. */
function written(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (!res.headersSent || res.destroyed) return resolve()
    const timer = setTimeout(resolve, FLUSH_MS)
    const done = () => {
      clearTimeout(timer)
      resolve()
    }
    res.once('close', done)
    res.write('', done)
  })
}

/** So that no client takes the beginning of an answer for all of it. */
function cutOff(res: ServerResponse): void {
  if (!res.headersSent) return
  // Where the end of the connection is all that ends an answer, such as for HTTP/1.0, it must be reset instead, at the
  // cost of what is on its way. Node's resetAndDestroy would end it first.
  const socket: ResettableSocket | null = res.socket
  const showsItsEnd = res.chunkedEncoding || res.hasHeader('content-length')
  if (socket !== null && !showsItsEnd) socket.resetAndClosing = true
  res.destroy()
}

/** A socket of Node is reset when it is destroyed while this is set. */
type ResettableSocket = Socket & { resetAndClosing?: boolean }
