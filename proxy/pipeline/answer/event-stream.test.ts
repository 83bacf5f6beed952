import { once } from 'node:events'
import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { httpServer } from '../../outbound/testing.ts'
import { EventStream, type EventStreamOptions } from './event-stream.ts'

const OPTIONS: EventStreamOptions = { keepAlive: Buffer.from(':\n\n'), keepAliveMs: 15_000, stallMs: 60_000 }

/** An unsent answer of a server, and the client that waits for it. */
async function exchange(options: Partial<EventStreamOptions> = {}) {
  const arrived = Promise.withResolvers<ServerResponse>()
  const { origin } = await httpServer((_, res) => arrived.resolve(res))
  const request = get(origin, { agent: false })
  request.on('error', () => undefined)
  onTestFinished(() => void request.destroy())
  const answered = new Promise<IncomingMessage>((resolve) => request.once('response', resolve))
  const res = await arrived.promise
  return { request, answered, res, stream: new EventStream(res, { ...OPTIONS, ...options }) }
}

async function textOf(answer: Promise<IncomingMessage>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of await answer) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** More than the buffers between a server and a client that does not read. */
const TOO_MUCH = Buffer.alloc(32_000_000, 'x')

describe('with fake timers', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('it opens with the first bytes, as an event stream that proxies do not buffer', async () => {
    const { answered, res, stream } = await exchange()
    await vi.advanceTimersByTimeAsync(14_999)
    expect([stream.opened, res.headersSent]).toEqual([false, false])
    stream.write(Buffer.from('data: 1\n\n'))
    expect(stream.opened).toBe(true)
    const { statusCode, headers } = await answered
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    expect(headers).not.toHaveProperty('content-length')
  })

  test('an end without events gives an empty stream', async () => {
    const { answered, stream } = await exchange()
    stream.end()
    expect((await answered).statusCode).toBe(200)
    expect(await textOf(answered)).toBe('')
  })

  test('keep-alives are sent only in silence, open the stream, and are comments before the first event', async () => {
    const { answered, stream } = await exchange()
    await vi.advanceTimersByTimeAsync(15_000)
    expect(stream.opened).toBe(true)
    await vi.advanceTimersByTimeAsync(30_000)
    for (const text of ['a', 'b', 'c']) {
      await vi.advanceTimersByTimeAsync(14_999)
      stream.write(Buffer.from(text))
    }
    await vi.advanceTimersByTimeAsync(15_000)
    stream.end(Buffer.from('z'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await textOf(answered)).toBe(`${': keep-alive\n\n'.repeat(3)}abc:\n\nz`)
  })

  test.each<[string, (stream: EventStream, res: ServerResponse) => void]>([
    ['has ended', (stream) => stream.end()],
    ['was abandoned', (stream) => stream.abandon()],
    ['was broken off', (_, res) => res.destroy()],
  ])('a stream that %s has no timers', async (_, finish) => {
    const { res, stream } = await exchange()
    expect(vi.getTimerCount()).toBe(1)
    finish(stream, res)
    await vi.waitUntil(() => vi.getTimerCount() === 0)
  })

  test('abandoned before it opened, it leaves the answer unsent', async () => {
    const { answered, res, stream } = await exchange()
    stream.abandon()
    expect(stream.opened).toBe(false)
    res.writeHead(502).end('{}')
    expect((await answered).statusCode).toBe(502)
    expect(await textOf(answered)).toBe('{}')
  })

  test('after the client left nothing is written, and the sender is not paused', async () => {
    const { request, res, stream } = await exchange()
    stream.write(Buffer.from('a'))
    request.destroy()
    await once(res, 'close')
    expect(stream.write(Buffer.alloc(1_000_000))).toBe(true)
    stream.end(Buffer.from('z'))
    expect([stream.stalled, res.writableEnded]).toEqual([false, false])
  })

  test('waits for a client that falls behind, without keep-alives', async () => {
    const { answered, stream } = await exchange()
    const drained = vi.fn()
    stream.onDrain(drained)
    expect(stream.write(TOO_MUCH)).toBe(false)
    await vi.advanceTimersByTimeAsync(50_000)
    expect(drained).not.toHaveBeenCalled()

    const answer = await answered
    let text = ''
    answer.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    await vi.waitUntil(() => drained.mock.calls.length === 1)
    expect(stream.write(Buffer.from('more'))).toBe(true)
    stream.end()
    await once(answer, 'end')
    expect(text.length).toBe(TOO_MUCH.length + 4)
    expect(text).not.toContain(':')
  })
})

describe('a client that does not read', () => {
  test('is cut off in the middle of a stream', async () => {
    const { res, stream } = await exchange({ stallMs: 100 })
    stream.write(TOO_MUCH)
    await once(res, 'close')
    expect(stream.stalled).toBe(true)
  })

  test('is cut off after the end, if it fell behind before', async () => {
    const { res, stream } = await exchange({ stallMs: 100 })
    stream.write(TOO_MUCH)
    stream.end(Buffer.from('z'))
    await once(res, 'close')
    expect([stream.stalled, res.writableFinished]).toEqual([true, false])
  })

  test('is cut off if a large answer is sent in one piece', async () => {
    const { res, stream } = await exchange({ stallMs: 100 })
    stream.end(TOO_MUCH)
    await once(res, 'close')
    expect([stream.stalled, res.writableFinished]).toEqual([true, false])
  })

  test('is not cut off while its upstream is silent', async () => {
    const { answered, res, stream } = await exchange({ stallMs: 50 })
    await once(res, 'timeout')
    stream.write(Buffer.from('a'))
    await once(res, 'timeout')
    stream.end(Buffer.from('z'))
    expect(await textOf(answered)).toBe('az')
    expect(stream.stalled).toBe(false)
  })
})
