/** Calls that end early, and back-pressure in both directions. */
import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { open, readAll } from '../../test/harness/http.ts'
import { httpServer, listen, settledAt, tcpServer } from '../outbound/testing.ts'
import { HEADERS, relayBody, startRelay, type TestRelay } from './testing.ts'

const post = (relay: TestRelay, url: string, signal?: AbortSignal) =>
  open(relay.origin, {
    method: 'POST',
    headers: HEADERS,
    body: relayBody(url),
    ...(signal !== undefined && { signal }),
  })

/** Accepts connections but never completes a TLS handshake. */
const mute = () =>
  listen(
    createServer((socket) => void socket.on('error', () => undefined).resume()),
    'https',
  )

test('status and headers arrive before the first byte of the body', async () => {
  const relay = await startRelay()
  const upstream = await httpServer((_req, res) => {
    res.writeHead(201, { 'content-type': 'text/event-stream', 'x-request-id': 'u-1' })
    res.flushHeaders()
  })
  const res = await post(relay, upstream.origin)
  expect(res.statusCode).toBe(201)
  expect(res.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-upstream-request-id': 'u-1' })
  res.destroy()
})

describe('back-pressure', () => {
  const CHUNK = Buffer.alloc(65_536, 'x')
  const TOTAL = 200 * CHUNK.length

  test('a client that does not read stops the upstream; nothing is lost', async () => {
    const relay = await startRelay()
    let sent = 0
    const upstream = await httpServer((_req, res) => {
      const send = () => {
        while (sent < TOTAL) {
          sent += CHUNK.length
          if (!res.write(CHUNK)) {
            res.once('drain', send)
            return
          }
        }
        res.end()
      }
      send()
    })
    const res = await post(relay, upstream.origin)
    await settledAt(() => sent)
    expect(sent).toBeLessThan(TOTAL)
    const all = await readAll(res)
    expect(all.length).toBe(TOTAL)
    expect(all.every((byte) => byte === 0x78)).toBe(true)
  })

  test('an upstream that starts to read late gets the whole body', async () => {
    const relay = await startRelay()
    const text = 'y'.repeat(10_000_000)
    let stalled: Socket | undefined
    const upstream = await tcpServer((socket) => {
      stalled = socket.pause()
    })
    const body = relayBody(upstream.origin, 'openai', `{"model":"m","text":"${text}"}`)
    const answer = open(relay.origin, { method: 'POST', headers: HEADERS, body })
    await vi.waitFor(() => expect(stalled).toBeDefined())
    stalled?.on('data', () => {
      if ((stalled?.bytesRead ?? 0) > text.length)
        stalled?.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
    stalled?.resume()
    expect((await readAll(await answer)).toString()).toBe('ok')
  })
})

describe('a client that leaves ends the upstream call', () => {
  test('while the upstream is silent', async () => {
    const relay = await startRelay()
    const upstream = await tcpServer(() => undefined)
    const leaving = new AbortController()
    const call = post(relay, upstream.origin, leaving.signal).catch(() => 'gone')
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(1))
    leaving.abort()
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
    expect(await call).toBe('gone')
    await vi.waitFor(() => expect(relay.lines).toMatchObject([{ status: 499, outcome: 'client_gone' }]))
    expect(relay.facts).toMatchObject([{ error: { code: 'client_gone' } }])
  })

  test('during the answer, while the client does not read', async () => {
    const relay = await startRelay()
    const upstream = await httpServer((_req, res) => {
      res.on('error', () => undefined)
      res.write('data: 1\n\n')
      for (let i = 0; i < 100; i++) res.write(Buffer.alloc(100_000))
    })
    const res = await post(relay, upstream.origin)
    expect(upstream.sockets.size).toBe(1)
    res.destroy()
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
    await vi.waitFor(() => expect(relay.lines).toMatchObject([{ status: 200, outcome: 'client_gone' }]))
  })

  test('while connecting', async () => {
    const relay = await startRelay()
    const upstream = await mute()
    const leaving = new AbortController()
    const call = post(relay, upstream.origin, leaving.signal).catch(() => 'gone')
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(1))
    leaving.abort()
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
    expect(await call).toBe('gone')
  })
})

describe('the total time-out of a call', () => {
  test('before the headers: 504, and the upstream connection is closed', async () => {
    const relay = await startRelay({ settings: { totalMs: 100 } })
    const upstream = await tcpServer(() => undefined)
    const res = await post(relay, upstream.origin)
    expect([res.statusCode, res.headers['x-sluice-error']]).toEqual([504, 'upstream_timeout'])
    await readAll(res)
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
    expect(relay.lines).toMatchObject([{ status: 504, code: 'upstream_timeout' }])
  })

  test('after the headers the client is cut off', async () => {
    const relay = await startRelay({ settings: { totalMs: 300 } })
    const upstream = await httpServer((_req, res) => {
      const beat = setInterval(() => res.write('data: 1\n\n'), 20)
      res.on('close', () => clearInterval(beat))
    })
    const res = await post(relay, upstream.origin)
    expect(res.statusCode).toBe(200)
    await expect(readAll(res)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
    expect(relay.lines).toMatchObject([{ status: 200, code: 'upstream_timeout' }])
  })

  test('a connect time-out: 502', async () => {
    const relay = await startRelay({ settings: { connectMs: 100 } })
    const upstream = await mute()
    const res = await post(relay, upstream.origin)
    expect([res.statusCode, res.headers['x-sluice-error']]).toEqual([502, 'upstream_error'])
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
  })

  test('no timer is left after a call', async () => {
    const relay = await startRelay()
    const upstream = await httpServer((_req, res) => void res.end('ok'))
    const set = vi.spyOn(globalThis, 'setTimeout')
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    onTestFinished(() => void vi.restoreAllMocks())
    await readAll(await post(relay, upstream.origin))
    await vi.waitFor(() => expect(relay.lines).toHaveLength(1))
    const own = set.mock.results.filter((_, i) => [5_000, 20_000].includes(set.mock.calls[i]?.[1] ?? 0))
    expect(own).toHaveLength(2)
    for (const { value } of own) expect(cleared.mock.calls.flat()).toContain(value)
  })
})

describe('shutdown', () => {
  test('before the headers the client gets an error, after them it is cut off', async () => {
    const relay = await startRelay()
    const silent = await tcpServer(() => undefined)
    const streaming = await httpServer((_req, res) => void res.write('data: 1\n\n'))
    const waiting = post(relay, silent.origin)
    const stream = await post(relay, streaming.origin)
    await vi.waitFor(() => expect(silent.sockets.size).toBe(1))
    relay.shutdown.begin()
    expect((await waiting).statusCode).toBe(503)
    await expect(readAll(stream)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await vi.waitFor(() => expect([silent.sockets.size, streaming.sockets.size]).toEqual([0, 0]))
  })
})
