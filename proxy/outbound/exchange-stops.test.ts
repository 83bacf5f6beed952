import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { send } from './exchange.ts'
import {
  call,
  faultIn,
  httpServer,
  never,
  nextTurn,
  PATIENT,
  poolOf,
  Recorder,
  record,
  testRequest,
} from './testing.ts'

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

  test('headers alone are not the first byte', async () => {
    const server = await headersOnly()
    const recorder = await record(await call(server, { firstByte: 60 }))
    expect(recorder.last).toEqual([{ class: 'transient', detail: 'first_byte_timeout' }])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('bytes without content extend neither the time to the first byte nor the idle time', async () => {
    const server = await httpServer((_req, res) => {
      res.write(' ')
      const timer = setInterval(() => res.write(' \r\n\t'), 20)
      res.on('close', () => clearInterval(timer))
    })
    expect(await faultIn((await call(server, { firstByte: 150 })).readAll(1_000))).toBe('first_byte_timeout')
    const sink = { data: vi.fn(), end: vi.fn(), fail: vi.fn() }
    const response = await call(server, { firstByte: 150 })
    response.attach(sink)
    await vi.waitFor(() => expect(sink.fail.mock.calls).toMatchObject([[{ detail: 'first_byte_timeout' }]]))

    const ends = await httpServer((_req, res) => {
      res.write('{}')
      const timer = setInterval(() => res.write(' '), 20)
      res.on('close', () => clearInterval(timer))
    })
    expect(await faultIn((await call(ends, { idle: 150 })).readAll(1_000_000))).toBe('idle_timeout')
  })

  test('a pause before the first byte does not extend its time-out', async () => {
    const response = await call(await headersOnly(), { firstByte: 60 })
    const recorder = new Recorder()
    response.pause()
    response.attach(recorder)
    await vi.waitFor(() => expect(recorder.last).toHaveLength(1))
    expect(recorder.last).toEqual([{ class: 'transient', detail: 'first_byte_timeout' }])
  })

  test('silence after the first byte', async () => {
    const server = await oneChunk()
    const recorder = await record(await call(server, { idle: 60 }))
    expect(recorder.text).toBe('hello')
    expect(recorder.last).toEqual([{ class: 'transient', detail: 'idle_timeout' }])
    await vi.waitFor(() => expect(server.sockets.size).toBe(0))
  })

  test('each chunk restarts the idle time', async () => {
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

  test('while the gateway pauses the idle time stands still; after that it counts again', async () => {
    const server = await oneChunk()
    const response = await call(server, { idle: 60 })
    const recorder = new Recorder(response)
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

  test('the total time includes pauses', async () => {
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

  test('in the middle of a stream, by the signal', async () => {
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

  test('by its owner, inside data: that chunk is the last, and fail is called once', async () => {
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

  test('after the end changes nothing, and the connection stays open', async () => {
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
