/**
 * One relayed call over one connection: sends the request and streams the answer to the client, byte for byte. It uses
 * Node's HTTP client, which parses strictly, skips an unrequested 100 Continue (undici fails on it:
 * docs/decisions/0011), and has no time-outs of its own.
 */
import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { unlessAborted } from '../../kit/time.ts'
import { GatewayError } from '../errors.ts'
import { writeHead } from '../pipeline/request/head.ts'
import { answerHeaders } from './answer-headers.ts'

interface UpstreamCall {
  /** Connected to the URL's host. */
  socket: Duplex
  /** Checked by the address policy. */
  url: URL
  headers: Record<string, string>
  body: Buffer
}

/** Gets the bytes of the body that were written to the client; must not throw. */
type Received = (bytes: number) => void

const MAX_HEADER_BYTES = 16_384
const FLUSH_MS = 1_000

/**
 * Resolves when the client has the whole answer. Rejects with the reason of `signal`, or with GatewayError
 * upstream_error, and cuts off a client that already has the headers. Always destroys the socket.
 */
export async function exchange(
  call: UpstreamCall,
  res: ServerResponse,
  signal: AbortSignal,
  received: Received,
): Promise<void> {
  try {
    signal.throwIfAborted()
    await unlessAborted(streamAnswer(call, res, received), signal)
  } catch (error) {
    if (!signal.aborted) await written(res)
    cutOff(res)
    throw error
  } finally {
    call.socket.destroy()
  }
}

function streamAnswer(
  { socket, url, headers, body }: UpstreamCall,
  res: ServerResponse,
  received: Received,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer: IncomingMessage | undefined
    let failed = false
    const fail = () => {
      failed = true
      reject(new GatewayError('upstream_error', 'The upstream ended its answer early.'))
    }
    const failIncomplete = () => {
      if (answer?.complete !== true) fail()
    }
    // Without this, a connection that breaks before the request takes it goes unnoticed.
    socket.on('close', failIncomplete)
    if (socket.destroyed) return fail()
    const request = openRequest({
      createConnection: () => socket,
      method: 'POST',
      path: url.pathname + url.search,
      headers,
      setHost: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Overrides the command line.
      insecureHTTPParser: false,
    })
    // Comes before the answer's end. Without this, a reset would complete an answer without a length.
    request.on('error', failIncomplete)
    request.on('close', failIncomplete)
    request.on('response', (answered) => {
      answer = answered
      if (!begin(answered, res)) return fail()
      answered.on('end', () => {
        if (!failed) res.end()
      })
      answered.on('error', failIncomplete)
      streamBody(answered, res, received)
      res.on('finish', resolve)
    })
    request.end(body)
  })
}

/** Sends status and headers at once, so that a client sees them before the first event. False for an invalid status. */
function begin({ statusCode = 0, headers }: IncomingMessage, res: ServerResponse): boolean {
  if (statusCode < 200 || res.destroyed || res.headersSent) return false
  for (const [name, value] of Object.entries(answerHeaders(statusCode, headers))) res.setHeader(name, value)
  writeHead(res, statusCode)
  res.flushHeaders()
  return true
}

/** Reads the upstream no faster than the client. */
function streamBody(answer: IncomingMessage, res: ServerResponse, received: Received): void {
  res.on('drain', () => answer.resume())
  answer.on('data', (chunk: Buffer) => {
    if (!res.write(chunk)) answer.pause()
    received(chunk.length)
  })
}

/** Resolves when all bytes received so far are on their way to the client, or the client does not read them in time. */
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

/** Ends the connection so that no client takes the beginning of an answer for the whole. */
function cutOff(res: ServerResponse): void {
  if (!res.headersSent) return
  // For HTTP/1.0 the end of the connection alone ends an answer. There the connection must be reset, which loses bytes
  // that are on their way. Node's resetAndDestroy would first end it.
  const socket: ResettableSocket | null = res.socket
  const showsItsEnd = res.chunkedEncoding || res.hasHeader('content-length')
  if (socket !== null && !showsItsEnd) socket.resetAndClosing = true
  res.destroy()
}

/** Node resets a socket that is destroyed while this is set. */
type ResettableSocket = Socket & { resetAndClosing?: boolean }
