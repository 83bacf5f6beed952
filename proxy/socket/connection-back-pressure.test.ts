import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { answer, completed, connect, create, patient, socketServer, sse, until } from './testing.ts'

describe('back-pressure', () => {
  test('a client that does not read pauses its answer, and is cut off in the end', async () => {
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
    // The buffers of the two kernels, and one MiB.
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

  test('a client with nothing to read is not cut off, however long it is silent', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { stallMs: 20 })
    const client = await connect(url)
    client.send(create())
    await client.received(1)
    // Far more checks than it takes to cut off a client that does not read.
    for (const from = performance.now(); performance.now() - from < 200; ) {
      client.ws.ping()
      await new Promise((resolve) => client.ws.once('pong', resolve))
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
    // Thirty megabytes do not fit into the buffers: the rest is still with the client.
    expect(client.ws.bufferedAmount).toBeGreaterThan(10_000_000)
    expect(waiting.length).toBe(1)
    for (let n = 0; n < 60; n++) {
      await until(() => waiting.length > n)
      expect(waiting[n]?.body.n).toBe(n)
      waiting[n]?.end()
    }
    expect(client.ws.bufferedAmount).toBe(0)
  })

  test('a client that was silent and then does not read is cut off', async () => {
    const { url, calls, sockets } = await socketServer(
      (call) =>
        calls.length === 1
          ? answer(call, completed('r'))
          : // More than the buffers of the two kernels.
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

  test('a client that does not read is cut off, whatever it sends', async () => {
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
    expect(performance.now() - from).toBeGreaterThan(350)
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
    // Before that, the gateway only stopped reading from it.
    expect(paused).toHaveBeenCalled()
  })
})
