import { createServer as createTcpServer, type Socket } from 'node:net'
import { Pool } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { send } from './exchange.ts'
import {
  call,
  faultIn,
  httpServer,
  listen,
  never,
  PATIENT,
  poolOf,
  portOf,
  Recorder,
  record,
  tcpServer,
  testRequest,
} from './testing.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const CHUNKED_START = `${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`

describe('an answer that is cut', () => {
  async function cut(text: string, end: (socket: Socket) => void) {
    const server = await tcpServer((socket) => {
      socket.write(text, () => end(socket))
    })
    return record(await call(server))
  }
  const fin = (socket: Socket) => socket.end()
  const reset = (socket: Socket) => socket.resetAndDestroy()
  const failure = { class: 'transient', detail: 'cut_stream' }

  test.each([
    ['chunked, closed', CHUNKED_START, fin],
    ['chunked, closed inside a chunk', `${HEAD}transfer-encoding: chunked\r\n\r\nff\r\nhello`, fin],
    ['chunked, last chunk without its end', `${CHUNKED_START}0\r\n`, fin],
    ['shorter than its length', `${HEAD}content-length: 10\r\n\r\nhello`, fin],
    [
      'shorter than its length, connection: close',
      `${HEAD}connection: close\r\ncontent-length: 10\r\n\r\nhello`,
      fin,
    ],
    [
      'chunked, connection: close',
      `${HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`,
      fin,
    ],
  ])('%s: the received bytes are delivered, then it fails', async (_name, text, end) => {
    const recorder = await cut(text, end)
    expect(recorder.text).toBe('hello')
    expect(recorder.last).toEqual([failure])
  })

  test('a reset fails', async () => {
    const recorder = await cut(CHUNKED_START, reset)
    expect(recorder.last).toEqual([failure])
  })

  test('garbage between chunks fails', async () => {
    const recorder = await cut(`${CHUNKED_START}zz\r\n`, () => {})
    expect(recorder.last).toEqual([failure])
  })

  test('a body without a length is complete when the connection closes', async () => {
    const recorder = await cut(`${HEAD}connection: close\r\n\r\nhello`, fin)
    expect(recorder.text).toBe('hello')
    expect(recorder.last).toEqual(['end'])
  })

  test('while paused: chunks first, then the failure', async () => {
    const server = await tcpServer((socket) => {
      socket.end(CHUNKED_START)
    })
    const response = await call(server)
    const recorder = new Recorder()
    response.pause()
    response.attach(recorder)
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
    expect([recorder.text, recorder.last]).toEqual(['', []])
    response.resume()
    await vi.waitFor(() => expect(recorder.last).toEqual([failure]))
    expect(recorder.text).toBe('hello')
  })

  test('readAll rejects', async () => {
    const server = await tcpServer((socket) => socket.end(CHUNKED_START))
    expect(await faultIn((await call(server)).readAll(100))).toBe('cut_stream')
  })
})

describe('no answer at all', () => {
  test('refused', async () => {
    const closed = createTcpServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const port = portOf(closed)
    await new Promise((resolve) => closed.close(resolve))
    const server = { origin: `http://127.0.0.1:${port}`, sockets: new Set<Socket>(), accepted: () => 0 }
    expect(await faultIn(call(server))).toBe('connect_refused')
  })

  test('connect time-out', async () => {
    const request = testRequest('http://upstream.test')
    const pool = new Pool(request.origin, { connect: { timeout: 50, lookup: () => {} } })
    onTestFinished(() => pool.destroy())
    expect(await faultIn(send(pool, request, PATIENT, never))).toBe('connect_timeout')
  })

  test('unknown name', async () => {
    const request = testRequest('http://upstream.invalid')
    const unknown = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
    const pool = new Pool(request.origin, {
      connect: { lookup: (_host, _options, done) => done(unknown, '', 4) },
    })
    onTestFinished(() => pool.destroy())
    expect(await faultIn(send(pool, request, PATIENT, never))).toBe('dns')
  })

  test.each([
    ['closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['closed inside the headers', (socket: Socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-')],
  ])('%s before the answer', async (_name, answer) => {
    expect(await faultIn(call(await tcpServer(answer)))).toBe('reset')
  })

  test('not HTTP', async () => {
    expect(await faultIn(call(await tcpServer((socket) => void socket.write('220 mail ready\r\n'))))).toBe(
      'bad_http',
    )
  })

  test('not TLS', async () => {
    const server = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
      }),
      'https',
    )
    expect(await faultIn(call(server))).toBe('tls')
  })

  test('an invalid header', async () => {
    const server = await httpServer((_req, res) => void res.end())
    const request = testRequest(server.origin)
    request.headers.authorization = 'Bearer two\nlines'
    expect(await faultIn(send(poolOf(server), request, PATIENT, never))).toBe('bad_request')
    expect(server.accepted()).toBe(0)
  })
})

test('an unrequested 100 Continue ends a call: the reason why the relay does not use undici', async () => {
  const upstream = await tcpServer((socket) => {
    socket.end('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi')
  })
  expect(await faultIn(call(upstream))).toBe('reset')
})
