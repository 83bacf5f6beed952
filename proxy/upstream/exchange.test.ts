import { getEventListeners, once } from 'node:events'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Pool } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ExchangeTimeouts, send, type UpstreamResponse } from './exchange.ts'
import { AttemptFailed } from './failure.ts'
import {
  httpServer,
  listen,
  nextTurn,
  portOf,
  Recorder,
  type TestServer,
  tcpServer,
  testRequest,
} from './testing.ts'

const PATIENT: ExchangeTimeouts = { firstByte: 10_000, idle: 10_000, total: 15_000 }
const never = new AbortController().signal

function poolOf(server: TestServer, connectTimeout = 2_000): Pool {
  const pool = new Pool(server.origin, {
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectTimeout },
  })
  onTestFinished(() => pool.destroy())
  return pool
}

function call(server: TestServer, timeouts: Partial<ExchangeTimeouts> = {}, signal = never, body = '{}') {
  return send(poolOf(server), testRequest(server.origin, body), { ...PATIENT, ...timeouts }, signal)
}

/** The detail of the failure that a promise is rejected with. */
async function faultIn(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof AttemptFailed)) throw new Error('expected AttemptFailed', { cause: error })
  expect(error.failure.class).toBe('transient')
  expect(error.message).toBe(error.failure.detail)
  expect(error.cause).toBeUndefined()
  return error.failure.detail
}

/** Attaches a recorder and waits until it has heard its last. */
async function record(response: UpstreamResponse): Promise<Recorder> {
  const recorder = new Recorder()
  response.attach(recorder)
  await vi.waitFor(() => expect(recorder.last).toHaveLength(1), { timeout: 10_000 })
  return recorder
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const CHUNKED_START = `${HEAD}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`

describe('an answer', () => {
  test('status, headers and body arrive; the request is a POST with its length', async () => {
    const server = await httpServer((req, res) => {
      let body = ''
      req.on('data', (chunk) => {
        body += chunk
      })
      req.on('end', () => {
        res.writeHead(429, { 'Content-Type': 'application/json', 'X-Twice': ['a', 'b'], 'Retry-After': '3' })
        res.end(`${req.method} ${req.url} ${req.headers['content-length']} ${body}`)
      })
    })
    const response = await call(server, {}, never, '{"model":"m"}')
    expect(response.status).toBe(429)
    expect(response.headers['x-twice']).toEqual(['a', 'b'])
    expect(response.headers['retry-after']).toBe('3')
    expect(response.isEventStream).toBe(false)
    expect((await response.readAll(1_000)).toString()).toBe('POST /v1/chat/completions 13 {"model":"m"}')
  })

  test('an informational status is not the answer', async () => {
    const server = await httpServer((_req, res) => {
      res.writeEarlyHints({ link: '</x>; rel=preload' })
      res.end('done')
    })
    const response = await call(server)
    expect(response.status).toBe(200)
    expect((await response.readAll(100)).toString()).toBe('done')
  })

  test('chunks of a stream come as they are sent', async () => {
    let write: ((text: string) => void) | undefined
    let finish: (() => void) | undefined
    const server = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      res.flushHeaders()
      write = (text) => res.write(text)
      finish = () => res.end()
    })
    const response = await call(server)
    expect(response.isEventStream).toBe(true)
    const recorder = new Recorder()
    response.attach(recorder)
    write?.('data: 1\n\n')
    await vi.waitFor(() => expect(recorder.text).toBe('data: 1\n\n'))
    write?.('data: 2\n\n')
    await vi.waitFor(() => expect(recorder.text).toBe('data: 1\n\ndata: 2\n\n'))
    expect(recorder.last).toEqual([])
    finish?.()
    await vi.waitFor(() => expect(recorder.last).toEqual(['end']))
  })

  test('what came before a sink was attached is kept, and the upstream waits when it is much', async () => {
    const size = 30_000_000
    let written = 0
    const server = await httpServer((_req, res) => {
      const piece = Buffer.alloc(100_000, 'x')
      const push = () => {
        while (written < size) {
          written += piece.length
          if (!res.write(piece)) {
            res.once('drain', push)
            return
          }
        }
        res.end()
      }
      push()
    })
    const response = await call(server)
    await vi.waitFor(() => expect(written).toBeGreaterThan(0))
    await settledAt(() => written)
    expect(written).toBeLessThan(size)
    const body = await response.readAll(size)
    expect(body.length).toBe(size)
    expect(body.every((byte) => byte === 0x78)).toBe(true)
  })

  test('pause stops reading, resume goes on, nothing is lost or doubled', async () => {
    const pieces = Array.from({ length: 3_000 }, (_, i) => `piece ${i} ${'.'.repeat(2_000)}\n`)
    let written = 0
    const server = await httpServer(async (_req, res) => {
      for (const piece of pieces) {
        written++
        if (!res.write(piece)) await once(res, 'drain')
      }
      res.end()
    })
    const response = await call(server)
    const recorder = new Recorder()
    response.attach(recorder)
    response.pause()
    await settledAt(() => written)
    const held = recorder.chunks.length
    expect(written).toBeLessThan(pieces.length)
    response.resume()
    await vi.waitFor(() => expect(recorder.chunks.length).toBeGreaterThan(held))
    await vi.waitFor(() => expect(recorder.last).toEqual(['end']), { timeout: 10_000 })
    expect(recorder.text).toBe(pieces.join(''))
  })

  test('a sink that pauses inside data gets one chunk at a time, and its end last', async () => {
    const server = await httpServer((_req, res) => {
      res.end(Buffer.alloc(1_000_000, 'y'))
    })
    const response = await call(server)
    const heard: (number | string)[] = []
    response.attach({
      data: (chunk) => {
        heard.push(chunk.length)
        response.pause()
        setImmediate(() => response.resume())
      },
      end: () => heard.push('end'),
      fail: () => heard.push('fail'),
    })
    await vi.waitFor(() => expect(heard.at(-1)).toBe('end'))
    const sizes = heard.filter((item) => typeof item === 'number')
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_000_000)
    expect(sizes.length).toBe(heard.length - 1)
  })

  test('readAll stops at its limit, announced or not, and releases the connection', async () => {
    const server = await httpServer((req, res) => {
      if (req.headers['x-chunked'] === undefined) res.setHeader('content-length', 3_000)
      res.write(Buffer.alloc(2_000))
      if (req.headers['x-finish'] !== undefined) res.end(Buffer.alloc(1_000))
    })
    const ask = (...names: string[]) => {
      const request = testRequest(server.origin)
      for (const name of names) request.headers[name] = 'yes'
      return send(poolOf(server), request, PATIENT, never)
    }
    expect(await faultIn((await ask()).readAll(2_999))).toBe('answer_too_large')
    expect(await faultIn((await ask('x-chunked')).readAll(1_999))).toBe('answer_too_large')
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
    expect((await (await ask('x-finish')).readAll(3_000)).length).toBe(3_000)
    expect((await (await ask('x-finish', 'x-chunked')).readAll(3_000)).length).toBe(3_000)
  })

  test('a second sink is refused', async () => {
    const server = await httpServer((_req, res) => void res.end('x'))
    const response = await call(server)
    await record(response)
    expect(() => response.attach(new Recorder())).toThrow('attached already')
  })
})

/** Waits until a number has not changed over many turns of the event loop, which server and client share. */
async function settledAt(read: () => number): Promise<void> {
  let last = -1
  let unchanged = 0
  while (unchanged < 2_000) {
    await nextTurn()
    unchanged = read() === last ? unchanged + 1 : 0
    last = read()
  }
}

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
  ])('%s: what came is delivered, then it fails', async (_name, text, end) => {
    const recorder = await cut(text, end)
    expect(recorder.text).toBe('hello')
    expect(recorder.last).toEqual([failure])
  })

  test('a reset fails', async () => {
    const recorder = await cut(CHUNKED_START, reset)
    expect(recorder.last).toEqual([failure])
  })

  test('rubbish between chunks fails', async () => {
    const recorder = await cut(`${CHUNKED_START}zz\r\n`, () => {})
    expect(recorder.last).toEqual([failure])
  })

  test('a body that ends with the connection, without a length, ends', async () => {
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

  test('a header that cannot be written', async () => {
    const server = await httpServer((_req, res) => void res.end())
    const request = testRequest(server.origin)
    request.headers.authorization = 'Bearer two\nlines'
    expect(await faultIn(send(poolOf(server), request, PATIENT, never))).toBe('bad_request')
    expect(server.accepted()).toBe(0)
  })
})

describe('time-outs', () => {
  const silent = () => httpServer(() => {})
  const headersOnly = () =>
    httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.flushHeaders()
    })
  const oneChunk = () =>
    httpServer((_req, res) => {
      res.write('hello')
    })

  test('no headers', async () => {
    const server = await silent()
    expect(await faultIn(call(server, { firstByte: 60 }))).toBe('first_byte_timeout')
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('headers and then nothing is no first byte yet', async () => {
    const server = await headersOnly()
    const recorder = await record(await call(server, { firstByte: 60 }))
    expect(recorder.last).toEqual([{ class: 'transient', detail: 'first_byte_timeout' }])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('silence after the first byte', async () => {
    const server = await oneChunk()
    const recorder = await record(await call(server, { idle: 60 }))
    expect(recorder.text).toBe('hello')
    expect(recorder.last).toEqual([{ class: 'transient', detail: 'idle_timeout' }])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('each chunk starts the idle time anew', async () => {
    const server = await httpServer((_req, res) => {
      let sent = 0
      const timer = setInterval(() => {
        res.write('.')
        if (++sent < 12) return
        clearInterval(timer)
        res.end()
      }, 50)
    })
    const recorder = await record(await call(server, { idle: 400 }))
    expect(recorder.last).toEqual(['end'])
    expect(recorder.text).toBe('.'.repeat(12))
  })

  test('a pause of ours is no silence; after it the idle time counts again', async () => {
    const server = await oneChunk()
    const response = await call(server, { idle: 60 })
    const recorder = new Recorder()
    response.attach(recorder)
    await vi.waitFor(() => expect(recorder.text).toBe('hello'))
    response.pause()
    let elapsed = false
    setTimeout(() => {
      elapsed = true
    }, 200)
    await vi.waitFor(() => expect(elapsed).toBe(true))
    expect(recorder.last).toEqual([])
    response.resume()
    await vi.waitFor(() => expect(recorder.last).toEqual([{ class: 'transient', detail: 'idle_timeout' }]))
  })

  test('the total time runs through everything, pauses too', async () => {
    expect(await faultIn(call(await silent(), { total: 60 }))).toBe('total_timeout')
    const server = await oneChunk()
    const response = await call(server, { total: 100 })
    const recorder = new Recorder()
    response.attach(recorder)
    response.pause()
    await vi.waitFor(() => expect(recorder.last).toEqual([{ class: 'transient', detail: 'total_timeout' }]))
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })
})

describe('abort', () => {
  const aborted = { class: 'transient', detail: 'aborted' }

  test('before sending', async () => {
    const server = await httpServer((_req, res) => void res.end())
    expect(await faultIn(call(server, {}, AbortSignal.abort()))).toBe('aborted')
    expect(server.accepted()).toBe(0)
  })

  test('while connecting: nothing is sent afterwards', async () => {
    let requests = 0
    const server = await httpServer((_req, res) => {
      requests++
      res.end()
    })
    const controller = new AbortController()
    const answer = faultIn(call(server, {}, controller.signal))
    controller.abort()
    expect(await answer).toBe('aborted')
    await vi.waitFor(() => expect([server.accepted(), server.sockets.size]).toEqual([1, 0]))
    expect(requests).toBe(0)
  })

  test('while waiting for headers', async () => {
    const server = await httpServer(() => {})
    const controller = new AbortController()
    const answer = faultIn(call(server, {}, controller.signal))
    await vi.waitFor(() => expect(server.sockets.size).toBe(1))
    controller.abort()
    expect(await answer).toBe('aborted')
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  const endless = () =>
    httpServer((_req, res) => {
      res.write('hello')
    })

  test('in mid-stream, by the signal', async () => {
    const server = await endless()
    const controller = new AbortController()
    const response = await call(server, {}, controller.signal)
    const recorder = new Recorder()
    response.attach(recorder)
    await vi.waitFor(() => expect(recorder.text).toBe('hello'))
    controller.abort()
    expect(recorder.last).toEqual([aborted])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('by its owner, inside data: that chunk is the last, and fail is heard once', async () => {
    const server = await httpServer((_req, res) => void res.end(Buffer.alloc(2_000_000)))
    const response = await call(server)
    const recorder = new Recorder()
    const data = vi.fn(() => response.abort())
    response.attach({ data, end: () => recorder.end(), fail: (failure) => recorder.fail(failure) })
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
    expect(data).toHaveBeenCalledTimes(1)
    expect(recorder.last).toEqual([aborted])
  })

  test('while paused', async () => {
    const server = await endless()
    const response = await call(server)
    const recorder = new Recorder()
    response.pause()
    response.attach(recorder)
    response.abort()
    expect([recorder.text, recorder.last]).toEqual(['', [aborted]])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('without a sink', async () => {
    const server = await endless()
    const controller = new AbortController()
    const response = await call(server, {}, controller.signal)
    response.abort()
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
    expect(await faultIn(response.readAll(10))).toBe('aborted')
  })

  test('after the end it changes nothing, and the connection lives on', async () => {
    const server = await httpServer((_req, res) => void res.end('hello'))
    const pool = poolOf(server)
    for (let i = 0; i < 3; i++) {
      const response = await send(pool, testRequest(server.origin), PATIENT, never)
      const recorder = await record(response)
      response.abort()
      expect(recorder.last).toEqual(['end'])
      await nextTurn()
    }
    expect(server.accepted()).toBe(1)
  })
})

describe('encodings that nobody asked for', () => {
  const text = 'data: {"a":1}\n\n'.repeat(5_000)
  const codings = [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const
  const serve = (encoding: string, body: Buffer) =>
    httpServer((_req, res) => {
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'content-encoding': encoding,
        'content-length': body.length,
      })
      res.end(body)
    })

  test.each(codings)('%s is undone, and the headers no longer speak of it', async (encoding, compress) => {
    const response = await call(await serve(encoding, compress(Buffer.from(text))))
    expect(response.headers).not.toHaveProperty('content-encoding')
    expect(response.headers).not.toHaveProperty('content-length')
    expect((await response.readAll(text.length)).toString()).toBe(text)
  })

  test.each(codings)('%s that is cut short fails', async (encoding, compress) => {
    const response = await call(await serve(encoding, compress(Buffer.from(text)).subarray(0, -4)))
    expect(await faultIn(response.readAll(text.length))).toBe('bad_encoding')
  })

  test.each(codings)('a bomb in %s stops at the limit', async (encoding, compress) => {
    const response = await call(await serve(encoding, compress(Buffer.alloc(10_000_000))))
    expect(await faultIn(response.readAll(1_000_000))).toBe('answer_too_large')
  })

  test('a paused sink holds the decoder', async () => {
    const size = 20_000_000
    const server = await serve('gzip', gzipSync(Buffer.alloc(size, 'z')))
    const response = await call(server)
    const recorder = new Recorder()
    response.pause()
    response.attach(recorder)
    await settledAt(() => recorder.chunks.length)
    expect(recorder.chunks).toEqual([])
    response.resume()
    await vi.waitFor(() => expect(recorder.last).toEqual(['end']), { timeout: 10_000 })
    expect(recorder.chunks.reduce((sum, chunk) => sum + chunk.length, 0)).toBe(size)
  })

  test('identity is no encoding; an unknown one fails', async () => {
    const plain = await call(await serve('identity', Buffer.from(text)))
    expect((await plain.readAll(text.length)).toString()).toBe(text)
    const server = await serve('gzip, br', Buffer.from(text))
    expect(await faultIn(call(server))).toBe('bad_encoding')
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })
})

test('nothing is left behind: no timer, no listener on the signal', async () => {
  const server = await httpServer((req, res) => {
    if (req.headers['x-mode'] === 'reset') req.socket.resetAndDestroy()
    else if (req.headers['x-mode'] === 'gzip') {
      res.setHeader('content-encoding', 'gzip')
      res.end(gzipSync('hello'))
    } else res.end('hello')
  })
  const pool = poolOf(server)
  const controller = new AbortController()
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  for (const mode of ['plain', 'reset', 'gzip', 'abort', 'too-large', 'plain']) {
    const request = testRequest(server.origin)
    request.headers['x-mode'] = mode
    const sent = send(pool, request, PATIENT, controller.signal)
    if (mode === 'reset') expect(await faultIn(sent)).toBe('reset')
    else if (mode === 'abort') (await sent).abort()
    else if (mode === 'too-large') expect(await faultIn((await sent).readAll(1))).toBe('answer_too_large')
    else expect((await (await sent).readAll(100)).toString()).toBe('hello')
  }
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  await pool.destroy()
  await vi.waitFor(() => expect(timers()).toBeLessThanOrEqual(before))
})
