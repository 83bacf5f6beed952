/** Limits of WebSockets, each at its bound. */
import { describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { connection, requestBytes } from '../../harness/socket.ts'
import { CONTINUATION, frame, HANDSHAKE, handshakeBytes, TEXT } from '../../harness/web-socket.ts'
import { AUTHORIZATION, attackedGateway, createMessage, ended } from './attacked-gateway.ts'

const POLICY = 1008
const TOO_BIG = 1009
const BYTES = 3_000
const FRAGMENTS = 4
const CONNECTIONS = 6

const attacked = attackedGateway({
  SLUICE_SOCKET_MAX_MESSAGE_BYTES: String(BYTES),
  SLUICE_SOCKET_MAX_FRAGMENTS: String(FRAGMENTS),
  SLUICE_MAX_CONNECTIONS: String(CONNECTIONS),
  // Limits HTTP requests, not messages.
  SLUICE_MAX_BODY_BYTES: '1024',
})

const message = (bytes: number) =>
  createMessage({ input: 'x'.repeat(bytes - createMessage({ input: '' }).length) })

/** Splits a text into `count` frames. */
function inFrames(text: string, count: number): Buffer[] {
  const size = Math.ceil(text.length / count)
  return Array.from({ length: count }, (_, n) =>
    frame(n === 0 ? TEXT : CONTINUATION, text.slice(n * size, (n + 1) * size), { fin: n === count - 1 }),
  )
}

describe('bytes', () => {
  it.each([1, FRAGMENTS])('serves as many as allowed, in %d frames', async (count) => {
    const socket = await attacked.open()
    socket.send(...inFrames(message(BYTES), count))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    socket.socket.destroy()
  })

  it.each([1, FRAGMENTS])('closes with 1009 after one more, in %d frames', async (count) => {
    const seen = attacked.upstream.calls.length
    const socket = await attacked.open()
    socket.send(...inFrames(message(BYTES + 1), count))
    expect(await socket.ended).toBe(TOO_BIG)
    expect(socket.messages()).toEqual([])
    expect(attacked.upstream.calls.length).toBe(seen)
  })
})

describe('fragments', () => {
  it('serves as many as allowed, repeatedly', async () => {
    const socket = await attacked.open()
    for (let n = 1; n <= 3; n++) {
      socket.send(...inFrames(createMessage(), FRAGMENTS))
      expect(await ended(socket, n)).toMatchObject({ type: 'response.completed' })
    }
    socket.socket.destroy()
  })

  it('closes with 1008 after one more', async () => {
    const socket = await attacked.open()
    socket.send(...inFrames(createMessage(), FRAGMENTS + 1))
    expect(await socket.ended).toBe(POLICY)
    expect(socket.messages()).toEqual([])
  })
})

it('counts WebSockets as connections: one more is refused until one has ended', async () => {
  // The parallel socket is the first one.
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS - 1 }, () => attacked.open()))
  for (const bytes of [
    handshakeBytes([...HANDSHAKE, AUTHORIZATION]),
    requestBytes('GET /v1/models HTTP/1.1', [AUTHORIZATION]),
  ])
    expect(await (await connection(attacked.gateway.base, bytes)).closed).toMatch(/^(HTTP\/1\.1 503 |$)/)
  for (const { socket } of sockets.splice(0, 1)) socket.destroy()
  const fresh = await until(() => attacked.open().catch(() => undefined), 'a free connection')
  fresh.send(frame(TEXT, createMessage()))
  expect(await ended(fresh, 1)).toMatchObject({ type: 'response.completed' })
  for (const { socket } of [...sockets, fresh]) socket.destroy()
})
