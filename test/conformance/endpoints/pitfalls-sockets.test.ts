/**
 * Faults on sockets known from other gateways; the numbers are those of the list of pitfalls, as in
 * test/conformance/dialects.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { framesOf } from '../../../proxy/socket/events.ts'
import { answer, connect, socketServer } from '../../../proxy/socket/testing.ts'
import { KEY } from '../../e2e/dialects/world.ts'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { chunked, sse } from '../../harness/sse.ts'
import { json, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { fixture } from '../dialects/pitfalls.ts'

/** Models by the dialect of their upstream. */
const NAMES = ['chat', 'responses', 'messages'] as const
const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' }

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream()
  const { baseURL } = upstream
  const models = NAMES.map((name) => {
    const url = name === 'messages' ? baseURL.replace(/\/v1$/, '') : baseURL
    const once = { retry: { attempts: 1 } }
    const awake = { ejection: { consecutiveFailures: 0 } }
    return channel(name, url, { type: TYPES[name], ...awake }) + route(name, name, [name], once)
  })
  gateway = await startGateway({ 'all.yaml': apiKey('key', KEY) + models.join('') })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

interface Message extends Record<string, unknown> {
  type: string
  response?: { output: { content?: { text: string }[] }[] }
}

/** All messages of one turn. */
async function turn(model: string): Promise<Message[]> {
  const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
  const client = await connect(url, { headers: { authorization: `Bearer ${KEY}` } })
  client.send({ type: 'response.create', model, input: 'Hi', store: false })
  const messages = client.messages as Message[]
  const ends = ['response.completed', 'response.failed', 'error']
  await until(() => messages.some(({ type }) => ends.includes(type)), 'the end of the turn')
  return messages
}

const textOf = (messages: Message[]) =>
  messages
    .at(-1)
    ?.response?.output.flatMap(({ content }) => content?.map(({ text }) => text) ?? [])
    .join('')

describe.each(NAMES)('over %s', (model) => {
  const text = fixture(model, 'text')

  it('7.11 bytes of any framing become one message per event', async () => {
    const loose = `: note\r\n\r\n${text.replaceAll('\n', '\r\n')}`
    upstream.answer(sse(chunked(Buffer.from(loose), 3)))
    const messages = await turn(model)
    expect(messages.every(({ type }) => /^response\./.test(type))).toBe(true)
    expect(messages[0]?.type).toBe('response.created')
    expect(textOf(messages)).toBe('Hello, wörld 🌍!')
  })

  it('7.12 an error in place of an answer has a status', async () => {
    upstream.answer((_, res) => json(res, 200, { type: 'error', error: { message: 'Hidden', type: 'x' } }))
    const messages = await turn(model)
    expect(messages).toMatchObject([{ type: 'error', status: 502, error: { code: 'upstream_error' } }])
    expect(JSON.stringify(messages)).not.toContain('Hidden')
  })
})

describe('7.13 silence', () => {
  it('comments and non-objects are not messages', () => {
    const events = ': keep-alive\n\ndata: [DONE]\n\ndata: {"type":"response.created"}\n\n'
    expect(framesOf(Buffer.from(events), undefined)).toEqual([
      { text: '{"type":"response.created"}', error: false },
    ])
  })

  it('is filled with pings, which clients do not see as messages', async () => {
    const gate = Promise.withResolvers<void>()
    const { url } = await socketServer(
      async (call) => {
        const stream = call.client.stream(Buffer.from('data: {"type":"ping"}\n\n'))
        await gate.promise
        stream.end(Buffer.from('event: x\ndata: {"type":"response.completed"}\n\n'))
      },
      { pingMs: 5 },
    )
    const client = await connect(url)
    client.send({ type: 'response.create', model: 'm', input: 'Hi' })
    await vi.waitUntil(() => client.pings() > 0)
    gate.resolve()
    expect(await client.received(1)).toEqual([{ type: 'response.completed' }])
  })
})

describe('7.14 a client that leaves', () => {
  it('cancels the upstream call', async () => {
    upstream.calls.length = 0
    upstream.answer((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(fixture('chat', 'text').split('\n\n')[0] ?? '')
    })
    const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
    const client = await connect(url, { headers: { authorization: `Bearer ${KEY}` } })
    client.send({ type: 'response.create', model: 'chat', input: 'Hi' })
    await until(() => upstream.calls.length === 1, 'the call')
    client.ws.close()
    await until(() => upstream.calls[0]?.aborted === true, 'its end')
  })

  it('and one that does not read makes its answer wait', async () => {
    const flowing: boolean[] = []
    const { url } = await socketServer(
      async (call) => {
        const stream = call.client.stream(Buffer.alloc(0))
        const big = Buffer.from(`data: {"type":"response.x","text":"${'x'.repeat(1_048_576)}"}\n\n`)
        const drained = Promise.withResolvers<void>()
        stream.onDrain(drained.resolve)
        for (let i = 0; i < 64 && flowing.at(-1) !== false; i++) flowing.push(stream.write(big))
        await drained.promise
        stream.end()
      },
      { highWaterBytes: 2 * 1_048_576 },
    )
    const client = await connect(url)
    client.ws.pause()
    client.send({ type: 'response.create', model: 'm', input: 'Hi' })
    await vi.waitUntil(() => flowing.at(-1) === false)
    client.ws.resume()
    expect(await client.received(flowing.length)).toHaveLength(flowing.length)
  })
})

it('7.3 events of parallel streams carry their own stream names', async () => {
  const { url } = await socketServer((call, body) =>
    answer(
      call,
      { type: 'response.created', of: body.input },
      { type: 'response.completed', of: body.input },
    ),
  )
  const client = await connect(url)
  for (const name of ['a', 'b']) client.send({ type: 'response.create', input: name, stream_id: name })
  client.send({ type: 'response.create', input: 'none' })
  const messages = await client.received(6)
  for (const { of, stream_id } of messages) expect(stream_id).toBe(of === 'none' ? undefined : of)
})
