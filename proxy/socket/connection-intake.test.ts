import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { answer, completed, connect, create, patient, socketServer, until } from './testing.ts'

describe('incomplete messages', () => {
  const part = (bytes: number) => 'x'.repeat(bytes)

  test('a message that is not complete in time closes 1008', async () => {
    const { url, calls } = await socketServer(() => undefined, { messageMs: 60 })
    const client = await connect(url)
    client.ws.send(part(10_000), { fin: false })
    const trickle = setInterval(() => client.ws.send('x', { fin: false }), 10)
    onTestFinished(() => clearInterval(trickle))
    expect(await client.closed).toEqual({ code: 1008, reason: 'A message was not completed in time.' })
    expect(calls).toEqual([])
  })

  test('messages that are complete in time, with pings between them, are accepted', async () => {
    const { url, sockets } = await socketServer((call) => answer(call, completed('r')), {
      messageMs: 300,
    })
    const client = await connect(url)
    const flood = () => {
      for (let p = 0; p < 50; p++) client.ws.ping(part(125))
    }
    const answered = () =>
      new Promise<void>((resolve) => {
        client.ws.on('pong', function onPong(data) {
          if (data.length > 0) return
          client.ws.off('pong', onPong)
          resolve()
        })
        client.ws.ping()
      })
    const from = performance.now()
    // Together they take longer than a single message may.
    for (let n = 0; performance.now() - from < 600; n++) {
      client.ws.send(JSON.stringify(create({ input: part(20_000) })).slice(0, -1), { fin: false })
      flood()
      await answered()
      client.ws.send('}', { fin: true })
      await client.received(n + 1)
    }
    // Pings start no message, however many there are.
    for (const from = performance.now(); performance.now() - from < 600; ) {
      flood()
      await answered()
    }
    expect(sockets.size).toBe(1)
  })

  test('if all sockets together hold too much, the one that holds most is cut off', async () => {
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

  test('the bytes between the pieces of a message count, too', async () => {
    const { url, sockets } = await socketServer(() => undefined, { maxHeldBytes: 300_000 })
    const client = await connect(url)
    client.ws.send('x', { fin: false })
    for (let n = 0; n < 20; n++) {
      for (let p = 0; p < 160; p++) client.ws.pong(part(125))
      client.ws.send('x', { fin: false })
    }
    expect([1013, 1006]).toContain((await client.closed).code)
    await until(() => sockets.size === 0)
  })

  test('waiting calls count as well, running ones do not', async () => {
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
