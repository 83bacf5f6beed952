import { getEventListeners, once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { send } from './exchange.ts'
import {
  call,
  faultIn,
  httpServer,
  never,
  PATIENT,
  poolOf,
  Recorder,
  record,
  settledAt,
  testRequest,
} from './testing.ts'

/** Bytes. Linux lets the buffers of a connection grow to 32 MiB where it is read and 4 MiB where it is written. */
const MORE_THAN_SOCKETS_HOLD = 60_000_000

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
    let finish: (() => void) | undefined
    const server = await httpServer((_req, res) => {
      finish = () => res.end('done')
      res.writeEarlyHints({ link: '</x>; rel=preload' })
    })
    let answers = 0
    const sent = call(server).finally(() => answers++)
    await vi.waitFor(() => expect(finish).toBeDefined())
    await settledAt(() => answers)
    expect(answers).toBe(0)
    finish?.()
    const response = await sent
    expect(response.status).toBe(200)
    expect((await response.readAll(100)).toString()).toBe('done')
  })

  test('chunks of a stream arrive as they are sent', async () => {
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

  test('bytes before a sink is attached are kept, and the upstream waits if they are many', async () => {
    const size = MORE_THAN_SOCKETS_HOLD
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

  test('pause stops reading, resume continues, nothing is lost or repeated', async () => {
    const pieces = Array.from(
      { length: MORE_THAN_SOCKETS_HOLD / 20_000 },
      (_, i) => `piece ${i} ${'.'.repeat(20_000)}\n`,
    )
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
    await vi.waitFor(() => expect(recorder.last).toEqual(['end']), 20_000)
    expect(recorder.text).toBe(pieces.join(''))
  })

  test('a sink that pauses inside data gets one chunk at a time, and its end last', async () => {
    const server = await httpServer((_req, res) => {
      res.end(Buffer.alloc(1_000_000, 'y'))
    })
    const response = await call(server)
    const received: (number | string)[] = []
    response.attach({
      data: (chunk) => {
        received.push(chunk.length)
        response.pause()
        setImmediate(() => response.resume())
      },
      end: () => received.push('end'),
      fail: () => received.push('fail'),
    })
    await vi.waitFor(() => expect(received.at(-1)).toBe('end'))
    const sizes = received.filter((item) => typeof item === 'number')
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(1_000_000)
    expect(sizes.length).toBe(received.length - 1)
  })

  test('readAll stops at its limit, with or without a content-length, and releases the connection', async () => {
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

test('leaves no timer and no listener on the signal behind', async () => {
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
