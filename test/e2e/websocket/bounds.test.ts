/** The settings that bound a WebSocket, at their edges. */
import { describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { connection, requestBytes } from '../../harness/socket.ts'
import { CONTINUATION, frame, HANDSHAKE, handshakeBytes, TEXT } from '../../harness/web-socket.ts'
import { AUTHORIZATION, attackedGateway, create, ended } from './attacked-gateway.ts'

const POLICY = 1008
const TOO_BIG = 1009
const BYTES = 3_000
const FRAGMENTS = 4
const CONNECTIONS = 6

const attacked = attackedGateway({
  SLUICE_SOCKET_MAX_MESSAGE_BYTES: String(BYTES),
  SLUICE_SOCKET_MAX_FRAGMENTS: String(FRAGMENTS),
  SLUICE_MAX_CONNECTIONS: String(CONNECTIONS),
  // Bounds requests, and no messages.
  SLUICE_MAX_BODY_BYTES: '1024',
})

const message = (bytes: number) => create({ input: 'x'.repeat(bytes - create({ input: '' }).length) })

/** A text in so many frames, each with a part of it. */
function inPieces(text: string, count: number): Buffer[] {
  const size = Math.ceil(text.length / count)
  return Array.from({ length: count }, (_, n) =>
    frame(n === 0 ? TEXT : CONTINUATION, text.slice(n * size, (n + 1) * size), { fin: n === count - 1 }),
  )
}

describe('bytes', () => {
  it.each([1, FRAGMENTS])('as many as allowed, in %d frames, are served', async (count) => {
    const socket = await attacked.open()
    socket.send(...inPieces(message(BYTES), count))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    socket.socket.destroy()
  })

  it.each([1, FRAGMENTS])('one more, in %d frames, closes 1009', async (count) => {
    const seen = attacked.upstream.calls.length
    const socket = await attacked.open()
    socket.send(...inPieces(message(BYTES + 1), count))
    expect(await socket.ended).toBe(TOO_BIG)
    expect(socket.messages()).toEqual([])
    expect(attacked.upstream.calls.length).toBe(seen)
  })
})

describe('fragments', () => {
  it('as many as allowed are served, again and again', async () => {
    const socket = await attacked.open()
    for (let n = 1; n <= 3; n++) {
      socket.send(...inPieces(create(), FRAGMENTS))
      expect(await ended(socket, n)).toMatchObject({ type: 'response.completed' })
    }
    socket.socket.destroy()
  })

  it('one more closes 1008', async () => {
    const socket = await attacked.open()
    socket.send(...inPieces(create(), FRAGMENTS + 1))
    expect(await socket.ended).toBe(POLICY)
    expect(socket.messages()).toEqual([])
  })
})

it('WebSockets count as connections: one more is not taken until one has ended', async () => {
  // The good one is the first.
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS - 1 }, () => attacked.open()))
  for (const bytes of [
    handshakeBytes([...HANDSHAKE, AUTHORIZATION]),
    requestBytes('GET /v1/models HTTP/1.1', [AUTHORIZATION]),
  ])
    expect(await (await connection(attacked.gateway.base, bytes)).closed).toMatch(/^(HTTP\/1\.1 503 |$)/)
  for (const { socket } of sockets.splice(0, 1)) socket.destroy()
  const fresh = await until(() => attacked.open().catch(() => undefined), 'room for one')
  fresh.send(frame(TEXT, create()))
  expect(await ended(fresh, 1)).toMatchObject({ type: 'response.completed' })
  for (const { socket } of [...sockets, fresh]) socket.destroy()
})
