/** Floods of pings, pongs, messages, calls and sockets. */
import { describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { metric } from '../../harness/ledger.ts'
import { CUT_OFF, frame, PING, PONG, type RawSocket, TEXT } from '../../harness/web-socket.ts'
import { attackedGateway, createMessage, ended, ends } from './attacked-gateway.ts'

const POLICY = 1008

const attacked = attackedGateway()

const repeat = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes))
const message = (value: unknown) => frame(TEXT, JSON.stringify(value))
const pongs = ({ frames }: RawSocket) => frames.filter(({ opcode }) => opcode === PONG).length

async function isServed(socket: RawSocket): Promise<void> {
  const count = ends(socket).length + 1
  socket.send(frame(TEXT, createMessage()))
  expect(await ended(socket, count)).toMatchObject({ type: 'response.completed' })
}

describe('pings', () => {
  it('closes the connection after ten thousand at once', async () => {
    const socket = await attacked.open()
    socket.send(repeat(10_000, frame(PING, 'x'.repeat(125))))
    expect(await socket.ended).toBe(CUT_OFF)
  })

  it('answers ten thousand in bursts that wait for the answers', async () => {
    const socket = await attacked.open()
    for (let sent = 60; sent <= 10_000; sent += 60) {
      socket.send(repeat(60, frame(PING, 'x'.repeat(125))))
      await until(() => pongs(socket) === sent, 'the pongs')
    }
    await isServed(socket)
    socket.socket.destroy()
  })

  it('ignores ten thousand unsolicited pongs', async () => {
    const socket = await attacked.open()
    socket.send(repeat(10_000, frame(PONG, 'x'.repeat(125))))
    await isServed(socket)
    socket.socket.destroy()
  })
})

describe('messages', () => {
  it.each<[string, Buffer]>([
    ['empty', frame(TEXT)],
    ['response.cancel', message({ type: 'response.cancel' })],
    ['of an unknown type', message({ type: 'x'.repeat(1_000) })],
    ['with an invalid stream_id', message({ type: 'response.create', stream_id: '\u0000' })],
  ])('%s: closes with 1008 after sixty-four refused ones', async (_what, bytes) => {
    const before = attacked.gateway.requests().length
    const socket = await attacked.open()
    socket.send(repeat(10_000, bytes))
    expect(await socket.ended).toBe(POLICY)
    expect(socket.messages().map(({ type, status }) => [type, status])).toEqual(
      Array.from({ length: 64 }, () => ['error', 400]),
    )
    expect(attacked.gateway.requests().length - before).toBeLessThan(70)
  })

  it('ignores ten thousand response.processed messages', async () => {
    const socket = await attacked.open()
    socket.send(repeat(10_000, message({ type: 'response.processed', response_id: 'r' })))
    await isServed(socket)
    socket.socket.destroy()
  })

  it('answers ten thousand response.steer messages', async () => {
    const socket = await attacked.open()
    socket.send(repeat(10_000, message({ type: 'response.steer', previous_response_id: 'r', input: 'x' })))
    await until(() => socket.frames.length === 10_000, 'all answers')
    await isServed(socket)
    socket.socket.destroy()
  })
})

describe('calls', () => {
  it('serves three hundred of one stream one after the other', async () => {
    const seen = attacked.upstream.calls.length
    const socket = await attacked.open()
    const calls = Array.from({ length: 300 }, (_, n) => frame(TEXT, createMessage({ input: `<${n}>` })))
    socket.send(...calls)
    await until(() => ends(socket).length === 300, 'all answers')
    const inputs = attacked.upstream.calls.slice(seen).map(({ body }) => /<(\d+)>/.exec(body.toString())?.[1])
    expect(inputs).toEqual(calls.map((_, n) => String(n)))
    socket.socket.destroy()
  })

  it('of a client that leaves: aborts running ones and never starts the others', async () => {
    const seen = attacked.upstream.calls.length
    attacked.upstream.answer(() => undefined)
    const socket = await attacked.open()
    socket.send(
      ...Array.from({ length: 200 }, (_, n) => frame(TEXT, createMessage({ stream_id: `s${n % 20}` }))),
    )
    await until(() => attacked.upstream.calls.length === seen + 16, 'sixteen calls')
    socket.socket.resetAndDestroy()
    const calls = () => attacked.upstream.calls.slice(seen)
    await until(() => calls().every(({ aborted }) => aborted), 'the upstream to be left')
    await until(async () => (await metric(attacked.gateway, 'sluice_requests_in_flight')) === 0, 'no call')
    expect(calls().length).toBe(16)
  })
})

describe('a thousand sockets', () => {
  const rounds = Array.from({ length: 10 }, (_, n) => n)

  it('leave nothing behind when reset without a message', async () => {
    const sockets: RawSocket[] = []
    for (const _ of rounds)
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => attacked.open()))))
    await until(async () => (await metric(attacked.gateway, 'sluice_sockets')) === 1_001, 'all to be open')
    for (const { socket } of sockets) socket.resetAndDestroy()
  })

  it('leave nothing behind when closed in the middle of a message', async () => {
    const sockets: RawSocket[] = []
    const begun = frame(TEXT, 'x'.repeat(5_000), { fin: false })
    for (const _ of rounds)
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => attacked.open(begun)))))
    for (const { socket } of sockets) socket.destroy()
  })
})
