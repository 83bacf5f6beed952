/** Sockets on loopback whose calls the test answers, and clients for them. */
import { createServer, type IncomingMessage } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { GatewayError } from '../errors.ts'
import { listen } from '../outbound/testing.ts'
import type { WholeBody } from '../pipeline/body/read-body.ts'
import type { Call } from '../pipeline/call.ts'
import { Shutdown } from '../pipeline/request/shutdown.ts'
import { FIXED_LIMITS, type SocketLimits } from './limits.ts'
import { MemoryPool } from './memory.ts'
import { Sockets } from './sockets.ts'

const MINUTE = 60_000

/** Long time-outs, so that a connection ends only when a test makes it end. */
export const TEST_LIMITS: SocketLimits = {
  ...FIXED_LIMITS,
  maxHeldBytes: 512 * 1_048_576,
  maxMessageBytes: 64 * 1_048_576,
  maxFragments: 1_024,
  json: { maxDepth: 64, maxKeys: 50_000, maxValues: 1_000_000 },
  maxUnsentBytes: 16 * 1_048_576,
  messageMs: 10 * MINUTE,
  stallMs: 10 * MINUTE,
  pingMs: 10 * MINUTE,
  pongMs: 10 * MINUTE,
  maxAgeMs: 60 * MINUTE,
}

/** One event as the pipeline writes it. */
export function sse(data: Record<string, unknown> & { type: string }): Buffer {
  return Buffer.from(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
}

/** Answers a call with these events at once. */
export function answer(call: Call, ...events: (Record<string, unknown> & { type: string })[]): void {
  const stream = call.client.stream(Buffer.from(': keep-alive\n\n'))
  for (const event of events) stream.write(sse(event))
  stream.end()
}

export interface TestSockets {
  url: string
  sockets: Sockets
  shutdown: Shutdown
  /** Calls so far. */
  calls: Call[]
  /** Messages that never became a call. */
  refused: GatewayError[]
  clock: { now: number }
  pool: MemoryPool
  /** Aborting it revokes the key that opened the sockets. */
  key: AbortController
}

/** Upgrades every request with an `Upgrade` header. */
export async function socketServer(
  serve: (call: Call, body: Record<string, unknown>) => Promise<void> | void,
  limits: Partial<SocketLimits> = {},
): Promise<TestSockets> {
  const calls: Call[] = []
  const refused: GatewayError[] = []
  const clock = { now: 0 }
  const shutdown = new Shutdown()
  const key = new AbortController()
  const pool = new MemoryPool(512 * 1_048_576)
  let ids = 0
  const sockets = new Sockets({
    limits: { ...TEST_LIMITS, ...limits },
    pool,
    shutdown,
    newRequestId: () => `req_${++ids}`,
    now: () => clock.now,
    refused: (_req: IncomingMessage, error) => void refused.push(error),
    async serve(call) {
      calls.push(call)
      await serve(call, JSON.parse(String(((await call.read()) as WholeBody).bytes)))
    },
  })
  const server = createServer()
  server.on('upgrade', (req, _socket, head) => sockets.accept(req, head, key.signal))
  const { origin } = await listen(server, 'http')
  onTestFinished(() => sockets.terminate())
  return { url: origin.replace('http', 'ws'), sockets, shutdown, calls, refused, clock, pool, key }
}

interface TestClient {
  ws: WebSocket
  /** All messages so far, parsed. */
  messages: Record<string, unknown>[]
  /** Pings so far, the first one possibly before `connect` returned. */
  pings(): number
  send(message: unknown): void
  /** Waits for this many messages and returns them. */
  received(count: number): Promise<Record<string, unknown>[]>
  /** Code and reason of the end of the connection. */
  closed: Promise<{ code: number; reason: string }>
}

export async function connect(url: string, options: ClientOptions = {}): Promise<TestClient> {
  const ws = new WebSocket(url, { perMessageDeflate: false, ...options })
  onTestFinished(() => ws.terminate())
  const messages: Record<string, unknown>[] = []
  ws.on('message', (data) => messages.push(JSON.parse(String(data))))
  let pings = 0
  ws.on('ping', () => pings++)
  ws.on('error', () => undefined)
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  await new Promise<void>((resolve, reject) => {
    ws.once('open', resolve)
    ws.once('error', reject)
  })
  return {
    ws,
    messages,
    pings: () => pings,
    send: (message) => ws.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async received(count) {
      await vi.waitUntil(() => messages.length >= count, { timeout: 10_000, interval: 2 })
      return messages
    },
    closed,
  }
}

/** The message that begins a response. */
export const create = (fields: object = {}) => ({ type: 'response.create', model: 'm', ...fields })

/** The last event of an answer. */
export const completed = (id: string) => ({ type: 'response.completed', response: { id } })

export const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 10_000, interval: 2 })

/** Calls wait for the test, and end when their control is aborted. */
export function patient() {
  const waiting: { call: Call; body: Record<string, unknown>; end: () => void }[] = []
  const serve = (call: Call, body: Record<string, unknown>) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ call, body, end: resolve })
      call.control.signal.addEventListener('abort', () => {
        const { reason } = call.control.signal
        if (reason instanceof GatewayError) reject(reason)
        else resolve()
      })
      if (call.control.signal.aborted) reject(call.control.signal.reason)
    })
  return { waiting, serve }
}
