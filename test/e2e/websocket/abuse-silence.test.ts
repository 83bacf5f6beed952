/** Clients that do not read, do not answer pings or do not finish a message. */
import { describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { DONE, written } from '../../harness/sse.ts'
import { chatEvents, type Script } from '../../harness/upstream.ts'
import { CUT_OFF, frame, PING, PONG, TEXT } from '../../harness/web-socket.ts'
import { attackedGateway, createMessage } from './attacked-gateway.ts'

const MIB = 1_048_576

const attacked = attackedGateway({
  SLUICE_CLIENT_STALL_TIMEOUT: '600ms',
  SLUICE_SOCKET_PING: '200ms',
  // Longer than the stall time-out, so that the two do not race.
  SLUICE_SOCKET_PONG_TIMEOUT: '1200ms',
  SLUICE_REQUEST_TIMEOUT: '1500ms',
})

const [opening = '', word = ''] = chatEvents('m', 'one two', null)

describe('a client that does not read its answer', () => {
  it('stops the upstream, is cut off at the stall timeout and pays for the sent output', async () => {
    let sent = 0
    const delta = chatEvents('m', 'y'.repeat(65_536), null)[1] ?? ''
    const endless: Script = async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(opening)
      while (!res.destroyed && sent < 200 * MIB) {
        await written(res, delta)
        sent += delta.length
      }
      res.end(DONE)
    }
    attacked.upstream.answer(endless)
    const before = attacked.gateway.requests().length
    const socket = await attacked.open()
    socket.socket.pause()
    socket.send(frame(TEXT, createMessage()))
    const line = await until(() => attacked.gateway.requests()[before], 'the log')
    expect(line).toMatchObject({ outcome: 'client_stalled', settled: expect.any(String) })
    await until(() => attacked.upstream.calls.at(-1)?.aborted, 'the upstream to be left')
    expect(sent).toBeLessThan(64 * MIB)
    socket.socket.destroy()
  })

  it('is cut off although it sends pings', async () => {
    const socket = await attacked.open()
    socket.socket.pause()
    let cut = false
    void socket.ended.then(() => {
      cut = true
    })
    // Each burst is as large as allowed; the client reads no pongs.
    const burst = Buffer.concat(Array.from({ length: 50 }, () => frame(PING, 'x'.repeat(125))))
    const flood = setInterval(() => {
      if (socket.socket.writableLength < MIB) socket.send(burst)
    }, 1)
    try {
      await until(() => cut || socket.socket.errored !== null, 'the end')
    } finally {
      clearInterval(flood)
      socket.socket.destroy()
    }
  })
})

describe('a half-open connection', () => {
  it('is cut off if the client does not answer pings', async () => {
    const socket = await attacked.open()
    expect(await socket.ended).toBe(CUT_OFF)
    expect(socket.frames.some(({ opcode }) => opcode === PING)).toBe(true)
  })

  it('stays open while the client answers anything, and is cut off once it is silent', async () => {
    const socket = await attacked.open()
    const pings = () => socket.frames.filter(({ opcode }) => opcode === PING).length
    for (let answered = 0; answered < 5; ) {
      await until(() => pings() > answered, 'a ping')
      answered = pings()
      socket.send(frame(PONG, 'of another ping'))
    }
    expect(await socket.ended).toBe(CUT_OFF)
    expect(pings()).toBeGreaterThan(5)
  })

  it('ends with its call if the client half-closes without a close frame', async () => {
    attacked.upstream.answer((_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(opening + word)
    })
    const seen = attacked.upstream.calls.length
    const socket = await attacked.open()
    socket.send(frame(TEXT, createMessage()))
    await until(() => socket.messages().some(({ type }) => type === 'response.output_text.delta'), 'a delta')
    socket.socket.end()
    await socket.ended
    await until(() => attacked.upstream.calls[seen]?.aborted, 'the upstream to be left')
  })
})

describe('a message that is not finished', () => {
  const whole = frame(TEXT, createMessage({ input: 'x'.repeat(10_000) }))

  it.each([1, 3, 5, 7, whole.length - 1])('is dropped if its client leaves after %d bytes', async (bytes) => {
    const seen = attacked.upstream.calls.length
    const socket = await attacked.open()
    socket.send(whole.subarray(0, bytes))
    socket.socket.end()
    await socket.ended
    expect(attacked.upstream.calls.length).toBe(seen)
  })

  it('closes with 1008 after its timeout, even if bytes trickle in', async () => {
    const socket = await attacked.open()
    socket.send(whole.subarray(0, 9_000))
    let at = 9_000
    const trickle = setInterval(() => socket.send(whole.subarray(at, ++at)), 20)
    try {
      expect(await socket.ended).toBe(1008)
    } finally {
      clearInterval(trickle)
    }
  })
})
