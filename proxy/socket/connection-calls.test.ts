import { describe, expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { answer, completed, connect, create, patient, socketServer, until } from './testing.ts'

describe('calls', () => {
  test('a message becomes a call, its events become messages', async () => {
    const { url, calls, shutdown } = await socketServer((call) =>
      answer(call, { type: 'response.created', n: 0 }, completed('r1')),
    )
    const client = await connect(url)
    client.send(create({ input: 'hi', stream_id: 'a', generate: false }))
    expect(await client.received(2)).toEqual([
      { stream_id: 'a', type: 'response.created', n: 0 },
      { stream_id: 'a', ...completed('r1') },
    ])
    const [call] = calls
    expect(call).toMatchObject({ requestId: 'req_1', generate: false, endpoint: { name: 'responses' } })
    expect(await call?.read()).toEqual({ bytes: Buffer.from('{"model":"m","input":"hi","stream":true}') })
    // The call is over, so this abort must change nothing.
    shutdown.begin()
    expect(call?.control.signal.aborted).toBe(false)
  })

  test('messages of the unnamed stream have no stream_id', async () => {
    const { url } = await socketServer((call) => answer(call, completed('r1')))
    const client = await connect(url)
    client.send(create())
    expect(await client.received(1)).toEqual([completed('r1')])
  })

  test('a refused call is answered with its status, and the socket stays open', async () => {
    let refuse = true
    const { url } = await socketServer((call) => {
      if (!refuse) return answer(call, completed('r1'))
      refuse = false
      throw new GatewayError('insufficient_balance', 'Nothing left.')
    })
    const client = await connect(url)
    client.send(create({ stream_id: 'a' }))
    expect(await client.received(1)).toEqual([
      {
        type: 'error',
        status: 402,
        stream_id: 'a',
        error: {
          type: 'insufficient_quota',
          code: 'insufficient_balance',
          message: 'Nothing left.',
          param: null,
        },
      },
    ])
    client.send(create())
    expect((await client.received(2))[1]).toEqual(completed('r1'))
  })

  test('an unexpected error is sent as an internal error, without its text', async () => {
    const { url } = await socketServer(() => {
      throw new Error('SECRET')
    })
    const client = await connect(url)
    client.send(create())
    const [message] = await client.received(1)
    expect(message).toMatchObject({ status: 500, error: { code: 'internal_error' } })
    expect(JSON.stringify(message)).not.toContain('SECRET')
  })

  test('calls of a stream are answered in order, other streams in parallel', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve)
    const client = await connect(url)
    for (const [n, stream_id] of ['a', 'a', 'b', undefined].entries()) client.send(create({ n, stream_id }))
    await until(() => waiting.length === 3)
    expect(waiting.map(({ body }) => body.n)).toEqual([0, 2, 3])
    waiting[0]?.end()
    await until(() => waiting.length === 4)
    expect(waiting[3]?.body.n).toBe(1)
  })

  test('sixteen calls run, the others wait', async () => {
    const { waiting, serve } = patient()
    const { url } = await socketServer(serve)
    const client = await connect(url)
    for (let n = 0; n < 20; n++) client.send(create({ stream_id: `s${n}` }))
    client.send({ type: 'mark' })
    await client.received(1)
    expect(waiting.length).toBe(16)
    for (const { end } of waiting.splice(0)) end()
    await until(() => waiting.length === 4)
  })

  test('a socket may use thirty-two stream names, and no more', async () => {
    const { url, refused } = await socketServer((call) => answer(call, completed('r')))
    const client = await connect(url)
    for (let n = 0; n < 32; n++) client.send(create({ stream_id: `s${n}` }))
    client.send(create())
    await client.received(33)
    client.send(create({ stream_id: 's32' }))
    expect((await client.received(34))[33]).toMatchObject({
      type: 'error',
      status: 400,
      stream_id: 's32',
      error: { code: 'websocket_stream_limit_reached' },
    })
    client.send(create({ stream_id: 's0' }))
    expect((await client.received(35))[34]).toMatchObject({ type: 'response.completed' })
    expect(refused.map(({ code }) => code)).toEqual(['websocket_stream_limit_reached'])
  })

  test('other messages are answered or ignored, and none becomes a call', async () => {
    const { url, calls } = await socketServer(() => undefined)
    const client = await connect(url)
    client.send('{')
    client.send({ type: 'response.processed', response_id: 'r' })
    client.send({ type: 'response.steer', previous_response_id: 'r', input: [] })
    client.send({ type: 'response.append', input: [] })
    expect(await client.received(3)).toMatchObject([
      { type: 'error', status: 400, error: { code: 'invalid_request', param: 'type' } },
      { type: 'response.steer.failed', steer: { previous_response_id: 'r', input: [] } },
      { type: 'error', status: 400, error: { param: 'type' } },
    ])
    expect(calls).toEqual([])
  })
})

test('two hundred sockets may each use streams of their own', async () => {
  const { url, sockets } = await socketServer(async (call, body) => {
    await new Promise(setImmediate)
    answer(call, { type: 'response.created' }, completed(String(body.id)))
  })
  const clients = await Promise.all(Array.from({ length: 200 }, () => connect(url)))
  expect(sockets.size).toBe(200)
  for (const [c, client] of clients.entries())
    for (let n = 0; n < 12; n++)
      client.send(create({ id: `${c}.${n}`, stream_id: n % 4 === 0 ? undefined : `s${n % 4}` }))
  for (const [c, client] of clients.entries()) {
    const messages = await client.received(24)
    for (const stream of [undefined, 's1', 's2', 's3']) {
      const ids = messages.flatMap(({ stream_id, response }) =>
        stream_id === stream && response !== undefined ? [(response as { id: string }).id] : [],
      )
      const first = Number(stream?.slice(1) ?? 0)
      expect(ids).toEqual([0, 4, 8].map((n) => `${c}.${first + n}`))
    }
  }
  sockets.leave()
  for (const { closed } of clients) expect((await closed).code).toBe(1001)
  await until(() => sockets.size === 0)
})
