import { once } from 'node:events'
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../errors.ts'
import { httpServer } from '../../outbound/testing.ts'
import { ClientGone, requestControl, sendWhole } from './client.ts'
import { Shutdown } from './shutdown.ts'

/** An unsent answer of a server, and the client that waits for it. */
async function exchange() {
  const arrived = Promise.withResolvers<ServerResponse>()
  const { origin } = await httpServer((_, res) => arrived.resolve(res))
  const request = get(origin, { agent: false })
  request.on('error', () => undefined)
  onTestFinished(() => void request.destroy())
  const answered = new Promise<IncomingMessage>((resolve) => request.once('response', resolve))
  return { request, answered, res: await arrived.promise }
}

describe('the signal of a request', () => {
  test('aborts when the client leaves before its answer', async () => {
    const { request, res } = await exchange()
    const { signal } = requestControl(res, new Shutdown())
    expect(signal.aborted).toBe(false)
    request.destroy()
    await new Promise<void>((resolve) => signal.addEventListener('abort', resolve))
    expect(signal.reason).toBeInstanceOf(ClientGone)
  })

  test('aborts when the client leaves in the middle of its answer', async () => {
    const { request, answered, res } = await exchange()
    const { signal } = requestControl(res, new Shutdown())
    res.write('a')
    await answered
    request.destroy()
    await new Promise<void>((resolve) => signal.addEventListener('abort', resolve))
    expect(signal.reason).toBeInstanceOf(ClientGone)
  })

  test('does not abort after a complete answer', async () => {
    const shutdown = new Shutdown()
    const { answered, res } = await exchange()
    const { signal } = requestControl(res, shutdown)
    const closed = once(res, 'close')
    res.end('a')
    const answer = await answered
    answer.resume()
    await closed
    shutdown.begin()
    expect(signal.aborted).toBe(false)
  })

  test.each(['before', 'after'])(
    'has the error for the client when a shutdown starts %s it',
    async (order) => {
      const shutdown = new Shutdown()
      const { res } = await exchange()
      if (order === 'before') shutdown.begin()
      const { signal } = requestControl(res, shutdown)
      if (order === 'after') shutdown.begin()
      expect(signal.aborted).toBe(true)
      expect(signal.reason).toBeInstanceOf(GatewayError)
      expect(signal.reason).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 1 })
    },
  )
})

describe('a whole answer', () => {
  test('has its status, type and length', async () => {
    const { answered, res } = await exchange()
    sendWhole(res, Buffer.from('{"a":"ü"}'), 60_000)
    const answer = await answered
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '10' })
    expect(answer.headers).not.toHaveProperty('transfer-encoding')
    expect(Buffer.concat(await answer.toArray()).toString()).toBe('{"a":"ü"}')
  })

  test('is cut off if the client does not read it', async () => {
    const { res } = await exchange()
    sendWhole(res, Buffer.alloc(32_000_000), 100)
    await once(res, 'close')
    expect(res.writableFinished).toBe(false)
  })

  test('reaches a client that reads slowly, however long it takes', async () => {
    const { answered, res } = await exchange()
    const size = 32_000_000
    const stallMs = 1_000
    const startedAt = performance.now()
    sendWhole(res, Buffer.alloc(size), stallMs)
    let got = 0
    // The client sets the pace: the test waits for the last byte.
    for await (const chunk of await answered) {
      got += chunk.length
      if (performance.now() - startedAt < 3 * stallMs) await delay(10)
    }
    expect(performance.now() - startedAt).toBeGreaterThan(2 * stallMs)
    expect(got).toBe(size)
  })
})

describe('the clock of a connection', () => {
  test('ends with the answer: an idle connection has the server’s own time-out', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const socketOf = Promise.withResolvers<ServerResponse['socket']>()
    const { origin } = await httpServer((_, res) => {
      socketOf.resolve(res.socket)
      sendWhole(res, Buffer.from('a'), 123_456)
    })
    get(origin, { agent }, (answer) => answer.resume()).on('error', () => undefined)
    const socket = await socketOf.promise
    await vi.waitUntil(() => socket?.timeout !== 123_456)
    expect(socket?.timeout).toBeGreaterThan(0)
  })

  test('does not apply to a later request that still waits', async () => {
    const requests: [IncomingMessage, ServerResponse][] = []
    const { origin } = await httpServer((...request) => void requests.push(request))
    const client = connect(Number(new URL(origin).port), '127.0.0.1')
    onTestFinished(() => void client.destroy())
    client.write('GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n')
    await vi.waitUntil(() => requests.length === 2)
    const first = requests[0]?.[1]
    if (first === undefined) throw new Error('no first request')
    const { socket } = first
    const closed = once(first, 'close')
    sendWhole(first, Buffer.alloc(32_000_000), 50_000)
    expect(socket?.timeout).toBe(50_000)
    client.resume()
    await closed
    expect(socket?.timeout).toBe(0)
  })
})
