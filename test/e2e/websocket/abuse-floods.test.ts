/** More of everything than anybody needs: pings, pongs, messages, calls, sockets. */
import { describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { metric } from '../../harness/ledger.ts'
import { CUT_OFF, frame, PING, PONG, type RawSocket, TEXT } from '../../harness/web-socket.ts'
import { attackedGateway, create, ended, ends } from './attacked-gateway.ts'

const POLICY = 1008

const attacked = attackedGateway()

const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes))
const message = (value: unknown) => frame(TEXT, JSON.stringify(value))
const pongs = ({ frames }: RawSocket) => frames.filter(({ opcode }) => opcode === PONG).length

async function isServed(socket: RawSocket): Promise<void> {
  const count = ends(socket).length + 1
  socket.send(frame(TEXT, create()))
  expect(await ended(socket, count)).toMatchObject({ type: 'response.completed' })
}

describe('pings', () => {
  it('ten thousand at once cut their connection off', async () => {
    const socket = await attacked.open()
    socket.send(many(10_000, frame(PING, 'x'.repeat(125))))
    expect(await socket.ended).toBe(CUT_OFF)
  })

  it('ten thousand, each burst of them waited for, are all answered', async () => {
    const socket = await attacked.open()
    for (let sent = 60; sent <= 10_000; sent += 60) {
      socket.send(many(60, frame(PING, 'x'.repeat(125))))
      await until(() => pongs(socket) === sent, 'the pongs')
    }
    await isServed(socket)
    socket.socket.destroy()
  })

  it('ten thousand pongs that nobody asked for are nothing', async () => {
    const socket = await attacked.open()
    socket.send(many(10_000, frame(PONG, 'x'.repeat(125))))
    await isServed(socket)
    socket.socket.destroy()
  })
})

describe('messages', () => {
  it.each<[string, Buffer]>([
    ['empty', frame(TEXT)],
    ['response.cancel', message({ type: 'response.cancel' })],
    ['of a type nobody knows', message({ type: 'x'.repeat(1_000) })],
    ['with a stream_id that is no name', message({ type: 'response.create', stream_id: '\u0000' })],
  ])('%s: ten thousand close 1008 when sixty-four were refused', async (_what, bytes) => {
    const before = attacked.gateway.requests().length
    const socket = await attacked.open()
    socket.send(many(10_000, bytes))
    expect(await socket.ended).toBe(POLICY)
    expect(socket.messages().map(({ type, status }) => [type, status])).toEqual(
      Array.from({ length: 64 }, () => ['error', 400]),
    )
    expect(attacked.gateway.requests().length - before).toBeLessThan(70)
  })

  it('that are ignored are ignored, ten thousand times', async () => {
    const socket = await attacked.open()
    socket.send(many(10_000, message({ type: 'response.processed', response_id: 'r' })))
    await isServed(socket)
    socket.socket.destroy()
  })

  it('that steer are answered as they are read, ten thousand times', async () => {
    const socket = await attacked.open()
    socket.send(many(10_000, message({ type: 'response.steer', previous_response_id: 'r', input: 'x' })))
    await until(() => socket.frames.length === 10_000, 'all answers')
    await isServed(socket)
    socket.socket.destroy()
  })
})

describe('calls', () => {
  it('three hundred in one stream are all served, one after the other', async () => {
    const seen = attacked.upstream.calls.length
    const socket = await attacked.open()
    const calls = Array.from({ length: 300 }, (_, n) => frame(TEXT, create({ input: `<${n}>` })))
    socket.send(...calls)
    await until(() => ends(socket).length === 300, 'all answers')
    const asked = attacked.upstream.calls.slice(seen).map(({ body }) => /<(\d+)>/.exec(body.toString())?.[1])
    expect(asked).toEqual(calls.map((_, n) => String(n)))
    socket.socket.destroy()
  })

  it('of a client that leaves at once: those that run are broken off, the others never begin', async () => {
    const seen = attacked.upstream.calls.length
    attacked.upstream.answer(() => undefined)
    const socket = await attacked.open()
    socket.send(...Array.from({ length: 200 }, (_, n) => frame(TEXT, create({ stream_id: `s${n % 20}` }))))
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

  it('that are opened and left without a word leave nothing', async () => {
    const sockets: RawSocket[] = []
    for (const _ of rounds)
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => attacked.open()))))
    await until(async () => (await metric(attacked.gateway, 'sluice_sockets')) === 1_001, 'all to be open')
    for (const { socket } of sockets) socket.resetAndDestroy()
  })

  it('that are left in the middle of a message leave nothing', async () => {
    const sockets: RawSocket[] = []
    const begun = frame(TEXT, 'x'.repeat(5_000), { fin: false })
    for (const _ of rounds)
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => attacked.open(begun)))))
    for (const { socket } of sockets) socket.destroy()
  })
})
