import { describe, expect, test } from 'vitest'
import { CUT_OFF, frame, openRaw, PING } from '../../test/harness/web-socket.ts'
import { answer, completed, connect, create, socketServer, until } from './testing.ts'

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
    const { url } = await socketServer((call) => answer(call, completed('r')), { maxMessageBytes: 100 })
    const client = await connect(url)
    const text = JSON.stringify(create({ input: '' }))
    client.send(create({ input: 'x'.repeat(100 - text.length) }))
    await client.received(1)
    client.send(create({ input: 'x'.repeat(101 - text.length) }))
    expect((await client.closed).code).toBe(1009)
  })

  test('so does one that is larger than allowed in all its pieces', async () => {
    const { url, calls } = await socketServer(() => undefined, { maxMessageBytes: 100 })
    const client = await connect(url)
    for (let n = 0; n < 3; n++) client.ws.send('x'.repeat(34), { fin: n === 2 })
    expect((await client.closed).code).toBe(1009)
    expect(calls).toEqual([])
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

describe('pings', () => {
  test.each([
    ['as many as a burst may have are answered', 8],
    ['one more cuts the connection off', 9],
  ])('%s', async (_, count) => {
    const { url } = await socketServer(() => undefined, { maxPendingPongs: 8 })
    const client = await openRaw(url.replace('ws', 'http'))
    client.send(...Array.from({ length: count }, (_, n) => frame(PING, String(n))))
    if (count > 8) expect(await client.ended).toBe(CUT_OFF)
    else await until(() => client.frames.length === count)
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
