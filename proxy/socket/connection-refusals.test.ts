import { describe, expect, test } from 'vitest'
import { CUT_OFF, frame, openRaw, PING } from '../../test/harness/web-socket.ts'
import { answer, completed, connect, create, socketServer, until } from './testing.ts'

describe('messages that break the protocol', () => {
  test('a binary message closes 1003', async () => {
    const { url, calls } = await socketServer(() => undefined)
    const client = await connect(url)
    client.ws.send(Buffer.from(JSON.stringify(create())))
    client.send(create())
    expect((await client.closed).code).toBe(1003)
    expect(calls).toEqual([])
  })

  test('a message above the size limit closes 1009', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r')), { maxMessageBytes: 100 })
    const client = await connect(url)
    const text = JSON.stringify(create({ input: '' }))
    client.send(create({ input: 'x'.repeat(100 - text.length) }))
    await client.received(1)
    client.send(create({ input: 'x'.repeat(101 - text.length) }))
    expect((await client.closed).code).toBe(1009)
  })

  test('a message whose pieces together exceed the size limit closes 1009', async () => {
    const { url, calls } = await socketServer(() => undefined, { maxMessageBytes: 100 })
    const client = await connect(url)
    for (let n = 0; n < 3; n++) client.ws.send('x'.repeat(34), { fin: n === 2 })
    expect((await client.closed).code).toBe(1009)
    expect(calls).toEqual([])
  })

  test('a message that is not UTF-8 closes 1007', async () => {
    const { url } = await socketServer(() => undefined)
    const client = await connect(url)
    client.ws.send(Buffer.from([0x7b, 0xff, 0x7d]), { binary: false })
    expect((await client.closed).code).toBe(1007)
  })

  test('pieces are joined, too many of them close 1008', async () => {
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

describe('pings', () => {
  test.each([
    ['a full burst is answered', 8],
    ['one more than a burst cuts the connection off', 9],
  ])('%s', async (_, count) => {
    const { url } = await socketServer(() => undefined, { maxPendingPongs: 8 })
    const client = await openRaw(url.replace('ws', 'http'))
    client.send(...Array.from({ length: count }, (_, n) => frame(PING, String(n))))
    if (count > 8) expect(await client.ended).toBe(CUT_OFF)
    else await until(() => client.frames.length === count)
  })
})

describe('refused messages', () => {
  test('too many in a row close 1008; each is answered before', async () => {
    const { url, refused, sockets } = await socketServer(() => undefined)
    const client = await connect(url)
    for (let n = 0; n < 100; n++) client.send('{')
    expect(await client.closed).toEqual({ code: 1008, reason: 'Too many messages were refused.' })
    expect([client.messages.length, refused.length]).toEqual([64, 64])
    await until(() => sockets.size === 0)
  })

  test('calls that are refused immediately count as well', async () => {
    const { url } = await socketServer(() => undefined, { maxNames: 0, maxRefusals: 2 })
    const client = await connect(url)
    for (let n = 0; n < 2; n++) client.send(create({ stream_id: 'a' }))
    expect((await client.closed).code).toBe(1008)
  })

  test('an accepted call resets the count, an ignored message does not', async () => {
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
