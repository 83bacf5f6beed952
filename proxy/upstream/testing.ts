/** Servers on loopback and records for the tests of this folder. */
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { ChannelRecord } from '../../contract/table/records.ts'
import type { UpstreamFailure } from '../errors.ts'
import type { AnswerSink } from './exchange.ts'
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

/** Runs `answer` when the first bytes of a request are there. */
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

export function testRequest(origin: string, body = '{}'): UpstreamRequest {
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
    features: { streamUsage: true, embeddings: true, images: true },
    timeoutsMs: { connect: 2_000, firstByte: 5_000, idle: 5_000, total: 10_000 },
    ejection: { consecutiveFailures: 5, intervalMs: 30_000, maxIntervalMs: 300_000 },
    ...changes,
  }
}

/** A connection can be used again one turn after its answer has ended. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Remembers what a sink hears. */
export class Recorder implements AnswerSink {
  readonly chunks: Buffer[] = []
  readonly last: ('end' | UpstreamFailure)[] = []

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  data(chunk: Buffer): void {
    this.chunks.push(chunk)
  }

  end(): void {
    this.last.push('end')
  }

  fail(failure: UpstreamFailure): void {
    this.last.push(failure)
  }
}
