import { connect as connectTcp } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { ClientGone } from '../pipeline/request/client.ts'
import { answer, completed, connect, create, patient, socketServer, until } from './testing.ts'

describe('a client that leaves', () => {
  test.each([
    ['closes', (ws: { close(): void }) => ws.close()],
    ['is cut off', (ws: { terminate(): void }) => ws.terminate()],
  ])('%s: running calls are aborted, waiting ones never start', async (_, leave) => {
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

  test('a client that answers no ping is cut off', async () => {
    const { url, sockets } = await socketServer(patient().serve, { pingMs: 20, pongMs: 200 })
    const [silent, alive] = [await connect(url, { autoPong: false }), await connect(url)]
    let pings = 0
    alive.ws.on('ping', () => pings++)
    expect((await silent.closed).code).toBe(1006)
    await until(() => pings > 5)
    expect(sockets.size).toBe(1)
  })

  test('a client whose pongs the gateway does not read, because it sent too much, is not cut off', async () => {
    const { waiting, serve } = patient()
    const { url, sockets, calls } = await socketServer(serve, { pingMs: 20, pongMs: 200, maxWaiting: 1 })
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

  test('a client in the middle of a long message is not cut off', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { pingMs: 20, pongMs: 200 })
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

describe('age', () => {
  test('an old socket takes no calls, and closes after its running calls', async () => {
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

describe('age, while the client sends nothing', () => {
  test('an idle socket is closed', async () => {
    const { url } = await socketServer(() => undefined, { maxAgeMs: 30 })
    expect((await (await connect(url)).closed).code).toBe(1000)
  })

  test('a socket with a call takes no other and closes after it', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve, { maxAgeMs: 800 })
    const client = await connect(url)
    client.send(create())
    await until(() => waiting.length === 1)
    // This socket is younger.
    await (await connect(url)).closed
    client.send(create({ stream_id: 'a' }))
    expect(await client.received(1)).toMatchObject([
      { stream_id: 'a', error: { code: 'websocket_connection_limit_reached' } },
    ])
    waiting[0]?.end()
    expect((await client.closed).code).toBe(1000)
  })
})

test('an unauthorized call gets its error, then the socket closes 1008', async () => {
  const { url } = await socketServer(() => {
    throw new GatewayError('unauthorized', 'This API key is not valid.')
  })
  const client = await connect(url)
  client.send(create({ stream_id: 'a' }))
  expect((await client.closed).code).toBe(1008)
  expect(client.messages).toMatchObject([{ type: 'error', status: 401, stream_id: 'a' }])
})

describe('a shutdown', () => {
  test('a socket whose handshake ends after the shutdown is cut off', async () => {
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
    // The socket took it before the shutdown.
    await until(() => waiting.length === 2)
    waiting[1]?.end()
    expect((await busy.closed).code).toBe(1001)
    const late = await connect(url)
    expect((await late.closed).code).toBe(1001)
  })

  test('at the end of the grace period calls end with an error', async () => {
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

  test('does not wait for a client that does not close its side', async () => {
    const { url, sockets } = await socketServer(() => undefined, { closeMs: 30 })
    const client = await connect(url)
    client.ws.pause()
    sockets.leave()
    await until(() => sockets.size === 0)
  })
})

describe('a revoked key', () => {
  const revoked = new GatewayError('unauthorized', 'This API key was revoked.')

  test('closes idle sockets', async () => {
    const { url, key, sockets } = await socketServer(patient().serve)
    const [one, other] = [await connect(url), await connect(url)]
    key.abort(revoked)
    for (const { closed } of [one, other])
      expect(await closed).toEqual({ code: 1008, reason: 'The API key is no longer valid.' })
    await until(() => sockets.size === 0)
  })

  test('aborts running calls with an error, drops waiting ones and closes', async () => {
    const { waiting, serve } = patient()
    const { url, key, calls } = await socketServer(serve)
    const client = await connect(url)
    for (const stream_id of ['a', 'a', 'b']) client.send(create({ stream_id }))
    await until(() => waiting.length === 2)
    key.abort(revoked)
    expect(await client.closed).toMatchObject({ code: 1008 })
    expect(client.messages).toHaveLength(2)
    for (const message of client.messages)
      expect(message).toMatchObject({ type: 'error', error: { code: 'unauthorized' } })
    expect(calls.length).toBe(2)
  })

  test('is reported on a socket even during a shutdown', async () => {
    const { waiting, serve } = patient()
    const { url, key, sockets } = await socketServer(serve)
    const client = await connect(url)
    client.send(create())
    await until(() => waiting.length === 1)
    key.abort(revoked)
    sockets.leave()
    expect(await client.closed).toMatchObject({ code: 1008 })
  })
})
