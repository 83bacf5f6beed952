/** Relay calls interrupted by the client, the upstream or the gateway. */
import type { IncomingMessage } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { httpServer, listen, tcpServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { readAll } from '../../harness/http.ts'
import { metric } from '../../harness/ledger.ts'
import { envelope, HEADERS, openRelay, rawUpstream, relay, relayOfTest, startRelay } from './setup.ts'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startRelay()
})
afterAll(() => gateway.stop())

const gone = (upstream: { sockets: Set<Socket> }, timeoutMs = 1_000) =>
  until(() => upstream.sockets.size === 0, 'the connection to the upstream to be closed', timeoutMs)

/** What a client received, and how its connection ended: `end` or an error code. */
interface Client {
  socket: Socket
  text: string
  ended: string | undefined
}

function client(bytes: string): Client {
  const self: Client = {
    socket: connect(Number(new URL(gateway.base).port), '127.0.0.1'),
    text: '',
    ended: undefined,
  }
  onTestFinished(() => void self.socket.destroy())
  self.socket.on('data', (chunk) => {
    self.text += chunk.toString('latin1')
  })
  self.socket.on('end', () => {
    self.ended ??= 'end'
  })
  self.socket.on('error', (error: Error & { code?: string }) => {
    self.ended ??= error.code
  })
  self.socket.write(bytes)
  return self
}

function post(url: string, version = '1.1', more = 0): string {
  const body = envelope(url)
  const headers = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /api/proxy HTTP/${version}\r\nhost: x\r\n${headers.join('')}content-length: ${body.length + more}\r\n\r\n${body}`
}

describe('a client that leaves', () => {
  test.each(['end', 'reset'] as const)(
    'by %s before the answer closes the upstream connection',
    async (how) => {
      const upstream = await rawUpstream(() => undefined)
      const { socket } = client(post(upstream.origin))
      await until(() => upstream.requests.length === 1, 'the call')
      if (how === 'end') socket.destroy()
      else socket.resetAndDestroy()
      await gone(upstream)
    },
  )

  test('during the answer closes the upstream connection', async () => {
    const upstream = await httpServer((_req, res) => void res.write('data: 1\n\n'))
    const res = await openRelay(gateway, envelope(upstream.origin))
    res.destroy()
    await gone(upstream)
  })

  test('during an answer that it did not read closes the upstream connection', async () => {
    const upstream = await httpServer((_req, res) => {
      res.on('error', () => undefined)
      for (let i = 0; i < 300; i++) res.write(Buffer.alloc(100_000))
    })
    const res = await openRelay(gateway, envelope(upstream.origin))
    res.pause()
    res.destroy()
    await gone(upstream)
  })

  test('while its body is forwarded closes the upstream connection', async () => {
    const server = createServer((socket) => void socket.on('error', () => undefined).pause())
    const upstream = await listen(server, 'http')
    const leaving = new AbortController()
    const body = envelope(upstream.origin, `{"model":"m","text":"${'x'.repeat(20_000_000)}"}`)
    const left = openRelay(gateway, body, { signal: leaving.signal }).catch(() => 'left')
    await until(() => upstream.sockets.size === 1, 'the call')
    const [socket] = upstream.sockets
    leaving.abort()
    expect(await left).toBe('left')
    // A paused socket does not notice the end.
    socket?.resume()
    await gone(upstream)
    expect(socket?.bytesRead).toBeLessThan(body.length)
  })

  test('in the middle of a further request closes the upstream connection', async () => {
    const upstream = await rawUpstream(() => undefined)
    const { socket } = client(post(upstream.origin))
    await until(() => upstream.requests.length === 1, 'the call')
    socket.write(post(upstream.origin, '1.1', 10))
    await until(() => inFlight(2), 'the further request')
    socket.end()
    await gone(upstream)
  })

  test('with hundreds of others leaves no call behind', async () => {
    const upstream = await rawUpstream((socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n'))
    const silent = await tcpServer(() => undefined)
    const clients = Array.from({ length: 300 }, (_, i) =>
      client(post(i % 2 === 0 ? upstream.origin : silent.origin)),
    )
    await until(() => upstream.sockets.size === 150 && silent.sockets.size === 150, 'the calls')
    for (const { socket } of clients) socket.destroy()
    await Promise.all([gone(upstream, 5_000), gone(silent, 5_000)])
    await until(() => inFlight(0), 'their end')
  })

  test('in the middle of its body: no upstream is called', async () => {
    const upstream = await rawUpstream()
    const { socket } = client(post(upstream.origin, '1.1', 10))
    await until(() => inFlight(1), 'the request')
    socket.destroy()
    await until(() => inFlight(0), 'its end')
    expect(upstream.accepted()).toBe(0)
  })
})

const inFlight = async (count: number) => (await metric(gateway, 'sluice_requests_in_flight')) === count

describe('the client notices an upstream that breaks off an answer', () => {
  const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n'
  const LENGTH = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhi'
  test.each<[string, string, string, 'end' | 'reset']>([
    ['chunks', '1.1', CHUNKED, 'end'],
    ['chunks', '1.1', CHUNKED, 'reset'],
    ['chunks', '1.0', CHUNKED, 'end'],
    ['a length', '1.1', LENGTH, 'end'],
    ['a length', '1.1', LENGTH, 'reset'],
    ['a length', '1.0', LENGTH, 'end'],
    ['neither', '1.1', 'HTTP/1.1 200 OK\r\n\r\nhi', 'reset'],
    ['neither', '1.0', 'HTTP/1.1 200 OK\r\n\r\nhi', 'reset'],
  ])('with %s, over HTTP/%s', async (_name, version, text, how) => {
    let socket: Socket | undefined
    const upstream = await rawUpstream((each) => {
      socket = each
      each.write(text)
    })
    const self = client(post(upstream.origin, version))
    await until(() => self.text.includes('hi'), 'the beginning')
    if (how === 'end') socket?.end()
    else socket?.resetAndDestroy()
    await until(() => self.ended, 'the end')
    // The client must be able to tell this from a complete answer.
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(self.text)?.[1]
    const [, body = ''] = self.text.split('\r\n\r\n')
    const short = length !== undefined && body.length < Number(length)
    const unended = /\r\ntransfer-encoding: chunked\r\n/i.test(self.text) && !self.text.endsWith('0\r\n\r\n')
    expect(short || unended || self.ended === 'ECONNRESET').toBe(true)
    await gone(upstream)
  })

  test('without an effect on other calls', async () => {
    const other = await httpServer((_req, res) => void setTimeout(() => res.end('whole'), 100))
    const broken = await rawUpstream((socket) => void socket.end(CHUNKED))
    const [whole, cut] = await Promise.allSettled([
      relay(gateway, envelope(other.origin)),
      relay(gateway, envelope(broken.origin)),
    ])
    expect(cut.status).toBe('rejected')
    expect(whole).toMatchObject({ status: 'fulfilled', value: { status: 200, bytes: Buffer.from('whole') } })
  })
})

describe('a stopping gateway', () => {
  test('lets streams finish', async () => {
    const stopping = await relayOfTest()
    let end: () => void = () => undefined
    const upstream = await httpServer((_req, res) => {
      res.write('data: 1\n\n')
      end = () => void res.end('data: 2\n\n')
    })
    const res = await openRelay(stopping, envelope(upstream.origin))
    stopping.child.kill('SIGTERM')
    await until(async () => !(await acceptsCalls(stopping)), 'the gateway to refuse calls')
    end()
    expect((await readAll(res)).toString()).toBe('data: 1\n\ndata: 2\n\n')
    await until(() => stopping.child.exitCode === 0, 'its end')
  })

  test('cuts streams off after the drain timeout, and answers waiting calls with 503', async () => {
    const stopping = await relayOfTest({ SLUICE_DRAIN_TIMEOUT: '300ms' })
    const streaming = await httpServer((_req, res) => void res.write('data: 1\n\n'))
    const silent = await tcpServer(() => undefined)
    const stream: IncomingMessage = await openRelay(stopping, envelope(streaming.origin))
    const waiting = relay(stopping, envelope(silent.origin))
    await until(() => silent.sockets.size === 1, 'the call')
    const rest = expect(readAll(stream)).rejects.toMatchObject({ code: 'ECONNRESET' })
    stopping.child.kill('SIGTERM')
    expect(await waiting).toMatchObject({ status: 503 })
    await rest
    await Promise.all([gone(streaming), gone(silent)])
    await until(() => stopping.child.exitCode === 0, 'its end')
  })
})

const acceptsCalls = ({ base }: RunningGateway) =>
  fetch(`${base}/v1/models`).then(
    ({ status }) => status !== 503,
    () => false,
  )
