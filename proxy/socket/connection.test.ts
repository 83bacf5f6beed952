import { connect as connectTcp } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { GatewayError } from '../errors.ts'
import type { Call } from '../pipeline/call.ts'
import { ClientGone } from '../pipeline/client.ts'
import { answer, connect, socketServer, sse } from './testing.ts'

const create = (fields: object = {}) => ({ type: 'response.create', model: 'm', ...fields })
const completed = (id: string) => ({ type: 'response.completed', response: { id } })
const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 10_000, interval: 2 })

/** Calls wait for the test, and end with their control. */
function patient() {
  const waiting: { call: Call; body: Record<string, unknown>; end: () => void }[] = []
  const serve = (call: Call, body: Record<string, unknown>) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ call, body, end: resolve })
      call.control.signal.addEventListener('abort', () => {
        const { reason } = call.control.signal
        if (reason instanceof GatewayError) reject(reason)
        else resolve()
      })
      if (call.control.signal.aborted) reject(call.control.signal.reason)
    })
  return { waiting, serve }
}

describe('calls', () => {
  test('a message becomes a call, its events become messages', async () => {
    const { url, calls, shutdown } = await socketServer((call) =>
      answer(call, { type: 'response.created', n: 0 }, completed('r1')),
    )
    const client = await connect(url)
    client.send(create({ input: 'hi', stream_id: 'a', generate: false }))
    expect(await client.received(2)).toEqual([
      { stream_id: 'a', type: 'response.created', n: 0 },
      { stream_id: 'a', ...completed('r1') },
    ])
    const [call] = calls
    expect(call).toMatchObject({ requestId: 'req_1', generate: false, endpoint: { name: 'responses' } })
    expect((await call?.read())?.toString()).toBe('{"model":"m","input":"hi","stream":true}')
    // A call that is over is nobody's any more.
    shutdown.begin()
    expect(call?.control.signal.aborted).toBe(false)
  })

  test('messages of the stream without a name have none', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r1')))
    const client = await connect(url)
    client.send(create())
    expect(await client.received(1)).toEqual([completed('r1')])
  })

  test('a refused call is told with its status, and the socket stays', async () => {
    let refuse = true
    const { url } = await socketServer((call) => {
      if (!refuse) return answer(call, completed('r1'))
      refuse = false
      throw new GatewayError('insufficient_balance', 'Nothing left.')
    })
    const client = await connect(url)
    client.send(create({ stream_id: 'a' }))
    expect(await client.received(1)).toEqual([
      {
        type: 'error',
        status: 402,
        stream_id: 'a',
        error: {
          type: 'insufficient_quota',
          code: 'insufficient_balance',
          message: 'Nothing left.',
          param: null,
        },
      },
    ])
    client.send(create())
    expect((await client.received(2))[1]).toEqual(completed('r1'))
  })

  test('an unexpected error is told as one of the gateway, without its words', async () => {
    const { url } = await socketServer(() => {
      throw new Error('SECRET')
    })
    const client = await connect(url)
    client.send(create())
    const [message] = await client.received(1)
    expect(message).toMatchObject({ status: 500, error: { code: 'internal_error' } })
    expect(JSON.stringify(message)).not.toContain('SECRET')
  })

  test('a stream is answered in order, others go on beside it', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve)
    const client = await connect(url)
    for (const [n, stream_id] of ['a', 'a', 'b', undefined].entries()) client.send(create({ n, stream_id }))
    await until(() => waiting.length === 3)
    expect(waiting.map(({ body }) => body.n)).toEqual([0, 2, 3])
    waiting[0]?.end()
    await until(() => waiting.length === 4)
    expect(waiting[3]?.body.n).toBe(1)
  })

  test('sixteen run, the others wait', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve)
    const client = await connect(url)
    for (let n = 0; n < 20; n++) client.send(create({ stream_id: `s${n}` }))
    client.send({ type: 'mark' })
    await client.received(1)
    expect(waiting.length).toBe(16)
    for (const { end } of waiting.splice(0)) end()
    await until(() => waiting.length === 4)
  })

  test('thirty-two names, and no more', async () => {
    const { url, refused } = await socketServer((call) => answer(call, completed('r')))
    const client = await connect(url)
    for (let n = 0; n < 32; n++) client.send(create({ stream_id: `s${n}` }))
    client.send(create())
    await client.received(33)
    client.send(create({ stream_id: 's32' }))
    expect((await client.received(34))[33]).toMatchObject({
      type: 'error',
      status: 400,
      stream_id: 's32',
      error: { code: 'websocket_stream_limit_reached' },
    })
    client.send(create({ stream_id: 's0' }))
    expect((await client.received(35))[34]).toMatchObject({ type: 'response.completed' })
    expect(refused.map(({ code }) => code)).toEqual(['websocket_stream_limit_reached'])
  })

  test('other messages are answered or ignored, none becomes a call', async () => {
    const { url, calls } = await socketServer(() => undefined)
    const client = await connect(url)
    client.send('{')
    client.send({ type: 'response.processed', response_id: 'r' })
    client.send({ type: 'response.steer', previous_response_id: 'r', input: [] })
    client.send({ type: 'response.append', input: [] })
    expect(await client.received(3)).toMatchObject([
      { type: 'error', status: 400, error: { code: 'invalid_request', param: 'type' } },
      { type: 'response.steer.failed', steer: { previous_response_id: 'r', input: [] } },
      { type: 'error', status: 400, error: { param: 'type' } },
    ])
    expect(calls).toEqual([])
  })
})

describe('memory', () => {
  /** Answers with an id of its own and remembers; a request with `fail` is refused. */
  function remembering() {
    const found: unknown[] = []
    return {
      found,
      serve: (call: Call, body: Record<string, unknown>) => {
        const previous = body.previous_response_id as string | undefined
        if (previous !== undefined) found.push(call.memory?.history(previous))
        if (body.fail === 'status') throw new GatewayError('upstream_error', 'No.')
        if (body.fail === 'event')
          return answer(call, { type: 'error', code: 'upstream_error', message: 'No.' })
        call.memory?.remember(String(body.id), previous, [String(body.id)])
        answer(call, completed(String(body.id)))
      },
    }
  }

  test('a connection knows its own answers, and no other does', async () => {
    const { found, serve } = remembering()
    const { url, pool } = await socketServer(serve)
    const [one, two] = [await connect(url), await connect(url)]
    one.send(create({ id: 'r1' }))
    one.send(create({ id: 'r2', previous_response_id: 'r1' }))
    await one.received(2)
    one.send(create({ id: 'r3', previous_response_id: 'r2', stream_id: 'a' }))
    await one.received(3)
    two.send(create({ id: 'r4', previous_response_id: 'r1' }))
    await two.received(1)
    // What was gone on from may be gone on from again.
    one.send(create({ id: 'r5', previous_response_id: 'r1' }))
    await one.received(4)
    expect(found).toEqual([['r1'], ['r1', 'r2'], undefined, ['r1']])
    expect(pool.used).toBe(4 * (2 + 64))
    for (const { ws } of [one, two]) ws.close()
    await until(() => pool.used === 0)
  })

  test.each(['status', 'event'])(
    'after a failure by %s the stream has forgotten what it went on from',
    async (fail) => {
      const { found, serve } = remembering()
      const { url } = await socketServer(serve)
      const client = await connect(url)
      client.send(create({ id: 'r1', stream_id: 'a' }))
      await client.received(1)
      // From another stream it is a fork, which leaves its origin alone.
      client.send(create({ fail, previous_response_id: 'r1', stream_id: 'b' }))
      await client.received(2)
      client.send(create({ fail, previous_response_id: 'r1', stream_id: 'a' }))
      await client.received(3)
      client.send(create({ id: 'r2', previous_response_id: 'r1', stream_id: 'a' }))
      await client.received(4)
      expect(found).toEqual([['r1'], ['r1'], undefined])
    },
  )
})

describe('a client that leaves', () => {
  test.each([
    ['closes', (ws: { close(): void }) => ws.close()],
    ['is cut off', (ws: { terminate(): void }) => ws.terminate()],
  ])('%s: what runs is aborted, what waits never begins', async (_, leave) => {
    const { waiting, serve } = patient()
    const { url, sockets, calls } = await socketServer(serve)
    const client = await connect(url)
    for (const stream_id of ['a', 'a', 'b']) client.send(create({ stream_id }))
    await until(() => waiting.length === 2)
    expect(sockets.size).toBe(1)
    leave(client.ws)
    await until(() => sockets.size === 0)
    await until(() => waiting.every(({ call }) => call.control.signal.reason instanceof ClientGone))
    await new Promise(setImmediate)
    expect(calls.length).toBe(2)
  })

  test('one that answers no ping is gone', async () => {
    const { url, sockets } = await socketServer(patient().serve, { pingMs: 20, pongMs: 40 })
    const [silent, alive] = [await connect(url, { autoPong: false }), await connect(url)]
    let pings = 0
    alive.ws.on('ping', () => pings++)
    expect((await silent.closed).code).toBe(1006)
    await until(() => pings > 5)
    expect(sockets.size).toBe(1)
  })

  test('one whose answers to pings are not read, because it has sent too much, is not', async () => {
    const { waiting, serve } = patient()
    const { url, sockets, calls } = await socketServer(serve, { pingMs: 20, pongMs: 40, maxWaiting: 1 })
    const client = await connect(url)
    let pings = 0
    client.ws.on('ping', () => pings++)
    for (let n = 0; n < 2; n++) client.send(create({ n }))
    await until(() => waiting.length === 1)
    // Node reads a little ahead.
    client.send(create({ large: 'x'.repeat(20_000_000) }))
    await until(() => calls[0]?.req.socket.isPaused() === true)
    const before = pings
    await until(() => pings > before + 3)
    expect(sockets.size).toBe(1)
  })

  test('one that is in the middle of a long message is not', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { pingMs: 20, pongMs: 40 })
    const socket = connectTcp(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.write(
      'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    )
    await until(() => received.includes('\r\n\r\n'))
    const text = JSON.stringify(create())
    // Masked with zeros; a byte at a time, the pings are never answered.
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
    let at = 0
    const typing = setInterval(() => {
      if (at < frame.length) socket.write(frame.subarray(at, ++at))
    }, 8)
    onTestFinished(() => clearInterval(typing))
    await until(() => received.includes('response.completed'))
  })
})

describe('messages that break the rules', () => {
  test('a binary one closes 1003', async () => {
    const { url, calls } = await socketServer(() => undefined)
    const client = await connect(url)
    client.ws.send(Buffer.from(JSON.stringify(create())))
    client.send(create())
    expect((await client.closed).code).toBe(1003)
    expect(calls).toEqual([])
  })

  test('a larger one than allowed closes 1009', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { maxFrameBytes: 100 })
    const client = await connect(url)
    const text = JSON.stringify(create({ input: '' }))
    client.send(create({ input: 'x'.repeat(100 - text.length) }))
    await client.received(1)
    client.send(create({ input: 'x'.repeat(101 - text.length) }))
    expect((await client.closed).code).toBe(1009)
  })

  test('one that is no UTF-8 closes 1007', async () => {
    const { url } = await socketServer(() => undefined)
    const client = await connect(url)
    client.ws.send(Buffer.from([0x7b, 0xff, 0x7d]), { binary: false })
    expect((await client.closed).code).toBe(1007)
  })

  test('pieces are put together, too many of them close 1008', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { maxFragments: 8 })
    const client = await connect(url)
    const text = JSON.stringify(create())
    const part = Math.ceil(text.length / 8)
    for (let n = 0; n < 8; n++) client.ws.send(text.slice(n * part, (n + 1) * part), { fin: n === 7 })
    await client.received(1)
    for (let n = 0; n < 9; n++) client.ws.send(' ', { fin: n === 8 })
    expect((await client.closed).code).toBe(1008)
  })
})

describe('messages that are refused', () => {
  test('so many in a row close 1008, and each before was answered', async () => {
    const { url, refused, sockets } = await socketServer(() => undefined)
    const client = await connect(url)
    for (let n = 0; n < 100; n++) client.send('{')
    expect(await client.closed).toEqual({ code: 1008, reason: 'Too many messages were refused.' })
    expect([client.messages.length, refused.length]).toEqual([64, 64])
    await until(() => sockets.size === 0)
  })

  test('calls that are refused at once count as well', async () => {
    const { url } = await socketServer(() => undefined, { maxNames: 0, maxRefusals: 2 })
    const client = await connect(url)
    for (let n = 0; n < 2; n++) client.send(create({ stream_id: 'a' }))
    expect((await client.closed).code).toBe(1008)
  })

  test('a call that is taken makes them forgotten, a message that is ignored does not', async () => {
    const { url, refused } = await socketServer((call) => answer(call, completed('r')), { maxRefusals: 3 })
    const client = await connect(url)
    for (let round = 0; round < 3; round++) {
      client.send('{')
      client.send('{')
      client.send(create())
    }
    await client.received(9)
    for (let n = 0; n < 3; n++) {
      client.send({ type: 'response.processed', response_id: 'r' })
      client.send('{')
    }
    expect((await client.closed).code).toBe(1008)
    expect(refused.length).toBe(9)
  })
})

describe('back-pressure', () => {
  test('a client that does not read holds up its answer, and is cut off in the end', async () => {
    const delta = sse({ type: 'x', delta: 'y'.repeat(100_000) })
    let written = 0
    let stalled: boolean | undefined
    const { url, sockets } = await socketServer(
      (call) =>
        new Promise<void>((resolve) => {
          const stream = call.client.stream(Buffer.alloc(0))
          const pump = () => {
            do written += delta.length
            while (stream.write(delta) && written < 64_000_000)
          }
          stream.onDrain(pump)
          call.control.signal.addEventListener('abort', () => {
            stalled = stream.stalled
            resolve()
          })
          pump()
        }),
      { stallMs: 150 },
    )
    const client = await connect(url)
    client.ws.pause()
    client.send(create())
    await until(() => sockets.size === 0)
    expect(stalled).toBe(true)
    // What the two kernels hold, and one MiB.
    expect(written).toBeLessThan(32_000_000)
  })

  test('a client that reads slowly gets everything, in order', async () => {
    const delta = (n: number) => sse({ type: 'x', n, delta: 'y'.repeat(50_000) })
    const { url } = await socketServer((call) => {
      const stream = call.client.stream(Buffer.alloc(0))
      stream.write(Buffer.concat(Array.from({ length: 400 }, (_, n) => delta(n))))
      stream.end(sse(completed('r')))
    })
    const client = await connect(url)
    client.ws.pause()
    client.send(create())
    client.send(create())
    const beat = setInterval(() => (client.ws.isPaused ? client.ws.resume() : client.ws.pause()), 2)
    onTestFinished(() => clearInterval(beat))
    const messages = await client.received(802)
    const numbers = [...Array.from({ length: 400 }, (_, n) => n), undefined]
    expect(messages.map(({ n }) => n)).toEqual([...numbers, ...numbers])
  })

  test('silence is no fault: a client without anything to read is not cut off', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { stallMs: 20 })
    const client = await connect(url)
    client.send(create())
    await client.received(1)
    // Far more looks than end the connection of one that does not read.
    for (let n = 0; n < 20; n++) {
      client.ws.ping()
      await new Promise((resolve) => client.ws.once('pong', () => setTimeout(resolve, 5)))
    }
    client.send(create())
    await client.received(2)
  })

  test('a flood of calls is read as they are served', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve, { maxWaiting: 4 })
    const client = await connect(url)
    const large = 'x'.repeat(500_000)
    const paused = vi.spyOn(WebSocket.prototype, 'pause')
    onTestFinished(() => paused.mockRestore())
    for (let n = 0; n < 60; n++) client.send(create({ n, large }))
    await until(() => paused.mock.calls.length > 0)
    // Thirty megabytes do not fit between the two: the rest is still with the client.
    expect(client.ws.bufferedAmount).toBeGreaterThan(10_000_000)
    expect(waiting.length).toBe(1)
    for (let n = 0; n < 60; n++) {
      await until(() => waiting.length > n)
      expect(waiting[n]?.body.n).toBe(n)
      waiting[n]?.end()
    }
    expect(client.ws.bufferedAmount).toBe(0)
  })

  test('a client that has been silent before, and then does not read, is cut off', async () => {
    const { url, calls, sockets } = await socketServer(
      (call) =>
        calls.length === 1
          ? answer(call, completed('r'))
          : // More than the two kernels hold.
            answer(call, { type: 'x', delta: 'y'.repeat(32_000_000) }),
      { stallMs: 100 },
    )
    const client = await connect(url)
    client.send(create())
    await client.received(1)
    client.ws.pause()
    client.send(create())
    await until(() => calls.length === 2 && sockets.size === 0)
  })

  test('a client that does not read is cut off in time, whatever it sends', async () => {
    const large = 'y'.repeat(32_000_000)
    const { url, calls, sockets } = await socketServer((call) => answer(call, { type: 'x', delta: large }), {
      stallMs: 400,
    })
    const client = await connect(url)
    client.ws.pause()
    client.send(create())
    await until(() => calls.length === 1)
    const from = performance.now()
    const talk = setInterval(() => client.ws.ping(), 20)
    onTestFinished(() => clearInterval(talk))
    await until(() => sockets.size === 0)
    const ms = performance.now() - from
    expect(ms).toBeGreaterThan(350)
    expect(ms).toBeLessThan(750)
  })

  test('a client that sends nonsense and reads nothing is cut off', async () => {
    const { url, sockets } = await socketServer(() => undefined, {
      highWaterBytes: 10_000,
      maxUnsentBytes: 100_000,
      stallMs: 150,
    })
    const client = await connect(url)
    client.ws.pause()
    const paused = vi.spyOn(WebSocket.prototype, 'pause')
    onTestFinished(() => paused.mockRestore())
    const flood = setInterval(() => {
      for (let n = 0; n < 1_000 && client.ws.bufferedAmount < 1_000_000; n++)
        client.send({ type: 'response.steer', previous_response_id: 'r', input: [] })
    }, 1)
    onTestFinished(() => clearInterval(flood))
    await until(() => sockets.size === 0)
    // At first it was only not read any more.
    expect(paused).toHaveBeenCalled()
  })
})

describe('age', () => {
  test('an old socket takes no calls, and closes when those that run are over', async () => {
    const { waiting, serve } = patient()
    const { url, clock } = await socketServer(serve)
    const client = await connect(url)
    clock.now = 3_599_999
    client.send(create())
    await until(() => waiting.length === 1)
    clock.now = 3_600_000
    client.send(create({ stream_id: 'a' }))
    expect(await client.received(1)).toEqual([
      {
        type: 'error',
        status: 400,
        stream_id: 'a',
        error: {
          type: 'invalid_request_error',
          code: 'websocket_connection_limit_reached',
          message:
            'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
          param: null,
        },
      },
    ])
    const { call, end } = waiting[0] ?? {}
    if (call === undefined) throw new Error('nothing runs')
    answer(call, completed('r'))
    end?.()
    expect((await client.closed).code).toBe(1000)
    expect(client.messages[1]).toEqual(completed('r'))
  })
})

describe('age, while nothing comes', () => {
  test('an idle socket is closed', async () => {
    const { url } = await socketServer(() => undefined, { maxAgeMs: 30 })
    expect((await (await connect(url)).closed).code).toBe(1000)
  })

  test('one with a call is closed when it is over, and takes no other', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve, { maxAgeMs: 100 })
    const [client, idle] = [await connect(url), await connect(url)]
    client.send(create())
    await until(() => waiting.length === 1)
    // It is younger.
    await idle.closed
    client.send(create({ stream_id: 'a' }))
    expect(await client.received(1)).toMatchObject([
      { stream_id: 'a', error: { code: 'websocket_connection_limit_reached' } },
    ])
    waiting[0]?.end()
    expect((await client.closed).code).toBe(1000)
  })
})

describe('messages that have begun', () => {
  const part = (bytes: number) => 'x'.repeat(bytes)

  test('one that is not complete in time closes 1008', async () => {
    const { url, calls } = await socketServer(() => undefined, { messageMs: 60 })
    const client = await connect(url)
    client.ws.send(part(10_000), { fin: false })
    const trickle = setInterval(() => client.ws.send('x', { fin: false }), 10)
    onTestFinished(() => clearInterval(trickle))
    expect(await client.closed).toEqual({ code: 1008, reason: 'A message was not complete in time.' })
    expect(calls).toEqual([])
  })

  test('those that are, and pings beside them, are no fault', async () => {
    const { url, sockets } = await socketServer((call) => answer(call, completed('r')), { messageMs: 100 })
    const client = await connect(url)
    for (let n = 0; n < 8; n++) {
      client.ws.send(JSON.stringify(create({ input: part(20_000) })).slice(0, -1), { fin: false })
      for (let p = 0; p < 50; p++) client.ws.ping(part(125))
      const pong = new Promise((resolve) => client.ws.on('pong', (data) => data.length === 0 && resolve(0)))
      client.ws.ping()
      await pong
      client.ws.send('}', { fin: true })
      await client.received(n + 1)
      // Pings alone are no message however many they are.
      for (let p = 0; p < 50; p++) client.ws.ping(part(125))
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    expect(sockets.size).toBe(1)
  })

  test('of all sockets the one that holds most is cut off when they hold too much', async () => {
    const { url, sockets } = await socketServer((call) => answer(call, completed('r')), {
      maxHeldBytes: 300_000,
    })
    const [small, large, other] = [await connect(url), await connect(url), await connect(url)]
    small.ws.send(JSON.stringify(create({ input: part(50_000) })).slice(0, -1), { fin: false })
    large.ws.send(part(200_000), { fin: false })
    other.ws.send(part(100_000), { fin: false })
    expect([1013, 1006]).toContain((await large.closed).code)
    expect(sockets.size).toBe(2)
    small.ws.send('}', { fin: true })
    expect(await small.received(1)).toEqual([completed('r')])
  })

  test('calls that wait count as well, those that run do not', async () => {
    const { waiting, serve } = patient()
    const { url, sockets } = await socketServer(serve, { maxHeldBytes: 300_000 })
    const [runs, waits] = [await connect(url), await connect(url)]
    for (const stream_id of ['a', 'b', 'c']) runs.send(create({ stream_id, input: part(150_000) }))
    await until(() => waiting.length === 3)
    for (let n = 0; n < 4; n++) waits.send(create({ input: part(100_000) }))
    expect([1013, 1006]).toContain((await waits.closed).code)
    expect(sockets.size).toBe(1)
    expect(runs.ws.readyState).toBe(WebSocket.OPEN)
  })
})

test('a call that may not be made any more closes 1008 when that was told', async () => {
  const { url } = await socketServer(() => {
    throw new GatewayError('unauthorized', 'This API key is not valid.')
  })
  const client = await connect(url)
  client.send(create({ stream_id: 'a' }))
  expect((await client.closed).code).toBe(1008)
  expect(client.messages).toMatchObject([{ type: 'error', status: 401, stream_id: 'a' }])
})

describe('an end of the process', () => {
  test('a socket whose handshake ends after all is cut off', async () => {
    const { url, sockets } = await socketServer(() => undefined)
    sockets.terminate()
    expect((await (await connect(url)).closed).code).toBe(1006)
  })

  test('idle sockets close at once, busy ones after their calls; new ones are refused', async () => {
    const { waiting, serve } = patient()
    const { url, sockets } = await socketServer(serve)
    const [idle, busy] = [await connect(url), await connect(url)]
    busy.send(create({ n: 1 }))
    busy.send(create({ n: 2 }))
    await until(() => waiting.length === 1)
    sockets.leave()
    expect((await idle.closed).code).toBe(1001)
    busy.send(create({ stream_id: 'a' }))
    expect(await busy.received(1)).toMatchObject([
      { status: 503, stream_id: 'a', error: { code: 'overloaded', headers: { 'retry-after': '1' } } },
    ])
    waiting[0]?.end()
    // It was taken before.
    await until(() => waiting.length === 2)
    waiting[1]?.end()
    expect((await busy.closed).code).toBe(1001)
    const late = await connect(url)
    expect((await late.closed).code).toBe(1001)
  })

  test('at the end of the grace calls end with an error', async () => {
    const { waiting, serve } = patient()
    const { url, sockets, shutdown, calls } = await socketServer(serve)
    const client = await connect(url)
    client.send(create({ n: 1 }))
    client.send(create({ n: 2 }))
    await until(() => waiting.length === 1)
    sockets.leave()
    shutdown.begin()
    expect((await client.closed).code).toBe(1001)
    expect(client.messages.map(({ status }) => status)).toEqual([503, 503])
    expect(calls.length).toBe(2)
    await until(() => sockets.size === 0)
  })

  test('a client that does not close its side is not waited for', async () => {
    const { url, sockets } = await socketServer(() => undefined, { closeMs: 30 })
    const client = await connect(url)
    client.ws.pause()
    sockets.leave()
    await until(() => sockets.size === 0)
  })
})

test('two hundred sockets with streams of their own', async () => {
  const { url, sockets } = await socketServer(async (call, body) => {
    await new Promise(setImmediate)
    answer(call, { type: 'response.created' }, completed(String(body.id)))
  })
  const clients = await Promise.all(Array.from({ length: 200 }, () => connect(url)))
  expect(sockets.size).toBe(200)
  for (const [c, client] of clients.entries())
    for (let n = 0; n < 12; n++)
      client.send(create({ id: `${c}.${n}`, stream_id: n % 4 === 0 ? undefined : `s${n % 4}` }))
  for (const [c, client] of clients.entries()) {
    const messages = await client.received(24)
    for (const stream of [undefined, 's1', 's2', 's3']) {
      const ids = messages.flatMap(({ stream_id, response }) =>
        stream_id === stream && response !== undefined ? [(response as { id: string }).id] : [],
      )
      const first = Number(stream?.slice(1) ?? 0)
      expect(ids).toEqual([0, 4, 8].map((n) => `${c}.${first + n}`))
    }
  }
  sockets.leave()
  for (const { closed } of clients) expect((await closed).code).toBe(1001)
  await until(() => sockets.size === 0)
})
