/** Servers on loopback and records for the tests of this room. */
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { Pool } from 'undici'
import { expect, onTestFinished, vi } from 'vitest'
import { featuresOf } from '../../contract/profiles.ts'
import type { ChannelRecord } from '../../contract/table/records.ts'
import type { Soon } from '../../kit/soon.ts'
import type { UpstreamFailure } from '../errors.ts'
import { type AnswerSink, type ExchangeTimeouts, send, type UpstreamResponse } from './exchange.ts'
import { AttemptFailed } from './failure.ts'
import type { UpstreamRequest } from './request.ts'

export interface TestServer {
  origin: string
  /** Connections that are open now. */
  sockets: Set<Socket>
  /** Connections accepted so far. */
  accepted: () => number
}

export function httpServer(listener: RequestListener): Promise<TestServer> {
  return listen(createHttpServer(listener), 'http')
}

/** Calls `answer` at the first bytes of a request. */
export function tcpServer(answer: (socket: Socket) => void): Promise<TestServer> {
  return listen(
    createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => answer(socket))
    }),
    'http',
  )
}

/** Listens on a free port of 127.0.0.1 until the test has finished. */
export async function listen(server: Server, scheme: 'http' | 'https'): Promise<TestServer> {
  const sockets = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { origin: `${scheme}://127.0.0.1:${portOf(server)}`, sockets, accepted: () => accepted }
}

export function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on TCP')
  return address.port
}

export function testRequest(
  origin: string,
  body = '{}',
): UpstreamRequest & { headers: Record<string, string> } {
  return {
    origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(body),
  }
}

export function testChannel(changes: Partial<ChannelRecord> = {}): ChannelRecord {
  return {
    name: 'main',
    type: 'chat_completion',
    baseURL: 'https://api.example.com/v1',
    auth: { scheme: 'Bearer', secret: 'upstream-secret' },
    headers: {},
    query: {},
    profile: 'generic',
    features: featuresOf('chat_completion', 'generic'),
    timeoutsMs: { connect: 2_000, firstByte: 5_000, idle: 5_000, total: 10_000 },
    ejection: { consecutiveFailures: 5, intervalMs: 30_000, maxIntervalMs: 300_000 },
    ...changes,
  }
}

/** A connection can be reused one turn after the end of its answer. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Records the calls of a sink. */
export class Recorder implements AnswerSink {
  readonly #response: UpstreamResponse | undefined
  readonly chunks: Buffer[] = []
  readonly last: ('end' | UpstreamFailure)[] = []

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  /** With a response, every chunk counts as content. */
  constructor(response?: UpstreamResponse) {
    this.#response = response
  }

  data(chunk: Buffer): void {
    this.#response?.noteContent()
    this.chunks.push(chunk)
  }

  end(): void {
    this.last.push('end')
  }

  fail(failure: UpstreamFailure): void {
    this.last.push(failure)
  }
}

export const PATIENT: ExchangeTimeouts = { firstByte: 10_000, idle: 10_000, total: 15_000 }
export const never = new AbortController().signal

export function poolOf(server: TestServer): Pool {
  const pool = new Pool(server.origin, { pipelining: 1, allowH2: false })
  onTestFinished(() => pool.destroy())
  return pool
}

export function call(
  server: TestServer,
  timeouts: Partial<ExchangeTimeouts> = {},
  signal = never,
  body = '{}',
) {
  return send(poolOf(server), testRequest(server.origin, body), { ...PATIENT, ...timeouts }, signal)
}

/** The detail of the failure that a promise is rejected with. */
export async function faultIn(answer: Soon<unknown>): Promise<string> {
  let error: unknown
  try {
    await answer
  } catch (reason) {
    error = reason
  }
  if (!(error instanceof AttemptFailed)) throw new Error('expected AttemptFailed', { cause: error })
  expect(error.failure.class).toBe('transient')
  expect(error.message).toBe(error.failure.detail)
  expect(error.cause).toBeUndefined()
  return error.failure.detail
}

/** Attaches a recorder and waits for its end or failure. */
export async function record(response: UpstreamResponse): Promise<Recorder> {
  const recorder = new Recorder(response)
  response.attach(recorder)
  await vi.waitFor(() => expect(recorder.last).toHaveLength(1), { timeout: 10_000 })
  return recorder
}

/** Waits until a number has not changed for a while, while server and client may use the event loop freely. */
export async function settledAt(read: () => number): Promise<void> {
  let last = read()
  let since = performance.now()
  while (performance.now() - since < 150) {
    await nextTurn()
    if (read() === last) continue
    last = read()
    since = performance.now()
  }
}
