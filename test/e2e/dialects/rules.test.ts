/** The losses that clients see, and the rules that requests must satisfy, in each dialect. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from '../../harness/http.ts'
import { route } from '../../harness/resources.ts'
import { rejection } from '../../harness/sdk.ts'
import { CELLS, DIALECTS, type DialectName, PAIRS } from './scripted-answer.ts'
import { scripted } from './scripted-upstream.ts'
import { ask, KEY, question, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  const more = DIALECTS.map(
    (name) =>
      route(`strict-${name}`, `strict-${name}`, [name], { conversion: { unsupported: 'Reject' } }) +
      route(`named-${name}`, `named-${name}`, [{ name, model: 'their-name' }], { rewriteModel: true }),
  )
  world = await startWorld(more.join(''))
  world.upstream.answer(scripted({ text: 'Fine' }))
})
afterAll(() => world?.close())

const PATHS = { chat: '/chat/completions', responses: '/responses', messages: '/messages' }

/** Sends a request that an SDK would not send. */
const post = (
  client: DialectName,
  body: object,
  { prefix = '/v1', query = '', headers = {} }: { prefix?: string; query?: string; headers?: object } = {},
) =>
  call(`${world.gateway.base}${prefix}${PATHS[client]}${query}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
  })

/** Fields that no other dialect has. */
const OWN_FIELDS: Record<DialectName, object> = {
  chat: { seed: 7, logit_bias: { 50256: -100 } },
  responses: { truncation: 'auto', max_tool_calls: 3 },
  messages: { top_k: 5, context_management: { edits: [] } },
}

describe.each(PAIRS.filter(({ client, upstream }) => client !== upstream))(
  'fields without an equivalent: $client over $upstream',
  ({ client, upstream }) => {
    const send = (model: string) => {
      const params = question('Hello')
      return ask(
        world,
        client,
        model,
        { ...params, [client]: { ...params[client], ...OWN_FIELDS[client] } },
        false,
      )
    }

    it('are dropped and reported', async () => {
      expect((await send(upstream)).text).toBe('Fine')
      expect(world.dropped().toSorted()).toEqual(Object.keys(OWN_FIELDS[client]).toSorted())
      for (const field of Object.keys(OWN_FIELDS[client])) expect(world.sent()).not.toHaveProperty(field)
    })

    it('are refused by a strict route before any upstream call', async () => {
      const before = world.upstream.calls.length
      const error = await rejection(send(`strict-${upstream}`))
      expect(error).toMatchObject({ status: 400 })
      const { param } = (error as { error: { param?: string; error?: { param: string } } }).error.error ?? {
        param: (error as { param: string }).param,
      }
      expect(Object.keys(OWN_FIELDS[client])).toContain(param)
      expect(world.upstream.calls.length).toBe(before)
    })

    it('do not keep a strict route from serving other requests', async () => {
      expect((await ask(world, client, `strict-${upstream}`, question('Hello'), false)).text).toBe('Fine')
      expect(world.headers().get('x-sluice-dropped')).toBeNull()
    })
  },
)

describe.each(DIALECTS)('the same dialect on both sides: %s', (client) => {
  it('loses nothing, even on a strict route', async () => {
    const params = question('Hello')
    const body = { ...params, [client]: { ...params[client], ...OWN_FIELDS[client] } }
    await ask(world, client, `strict-${client}`, body, false)
    expect(world.sent()).toEqual({ ...body[client], model: `strict-${client}` })
    expect(world.headers().get('x-sluice-dropped')).toBeNull()
  })
})

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  it('sends the upstream’s model name and shows the client its own', async () => {
    const model = `named-${upstream}`
    const seen = await ask(world, client, model, question('Hello'), stream)
    expect(seen).toMatchObject({ model, text: 'Fine' })
    expect(world.sent().model).toBe('their-name')
    expect(world.headers().get('x-sluice-dropped')).toBeNull()
  })
})

describe('paths and headers', () => {
  it.each(PAIRS)('serves $client over $upstream under /api', async ({ client, upstream }) => {
    const body = { ...question('Hello')[client], model: upstream }
    const { status, text } = await post(client, body, { prefix: '/api/v1' })
    expect(status).toBe(200)
    expect(text).toContain('Fine')
  })

  it.each([
    {},
    { 'anthropic-version': '2023-06-01' },
    { 'anthropic-version': '2026-10-21' },
    { 'anthropic-version': 'x' },
  ])('serves messages with %j and with a query', async (headers) => {
    for (const upstream of DIALECTS) {
      const body = { ...question('Hello').messages, model: upstream }
      expect((await post('messages', body, { headers, query: '?beta=true' })).status).toBe(200)
    }
    // The client's version is forwarded; the default is the oldest one.
    const sent = world.upstream.calls.at(-1)?.headers['anthropic-version']
    expect(sent).toBe(headers['anthropic-version'] ?? '2023-06-01')
  })

  it('calls the upstream at the path of its dialect', async () => {
    for (const { client, upstream } of PAIRS) {
      await ask(world, client, upstream, question('Hello'), false)
      expect(world.upstream.calls.at(-1)?.path).toBe(`/v1${PATHS[upstream]}`)
    }
  })

  it('sends no dialect-specific client headers to an upstream of another dialect', async () => {
    await post(
      'messages',
      { ...question('Hello').messages, model: 'chat' },
      { headers: { 'anthropic-beta': 'a-1' } },
    )
    const { headers } = world.upstream.calls.at(-1) ?? {}
    expect(Object.keys(headers ?? {}).filter((name) => name.startsWith('anthropic'))).toEqual([])
  })
})

const MALFORMED: [DialectName, string, object][] = [
  ['chat', 'messages', { messages: undefined }],
  ['chat', 'messages', { messages: 'Hello' }],
  ['chat', 'messages[0].role', { messages: [{ role: 'wizard', content: 'x' }] }],
  ['responses', 'input', { input: undefined }],
  ['responses', 'input', { input: 5 }],
  ['messages', 'max_tokens', { max_tokens: undefined }],
  ['messages', 'max_tokens', { max_tokens: '100' }],
  ['messages', 'max_tokens', { max_tokens: 1.5 }],
  ['messages', 'messages', { messages: undefined }],
]

describe.each(DIALECTS)('refuses a malformed request to %s', (upstream) => {
  it.each(MALFORMED)('from %s: %s as %j', async (client, param, fields) => {
    const before = world.upstream.calls.length
    const { status, text } = await post(client, { ...question('x')[client], model: upstream, ...fields })
    const body = JSON.parse(text) as { type?: string; error: { type: string; param: string } }
    if (client === upstream && param.includes('[')) {
      // On the byte lane the gateway checks only what every lane needs.
      expect([200, 400]).toContain(status)
      return
    }
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ type: 'invalid_request_error', param })
    expect(body.type).toBe(client === 'messages' ? 'error' : undefined)
    expect(world.upstream.calls.length).toBe(before)
  })
})

it('converts JSON into a stream, and a stream into JSON, if the upstream answers in the wrong form', async () => {
  for (const { client, upstream } of PAIRS) {
    world.upstream.answer((call, res) => {
      const body = JSON.parse(call.body.toString()) as { stream?: boolean }
      const other = { ...call, body: Buffer.from(JSON.stringify({ ...body, stream: body.stream !== true })) }
      return scripted({ text: 'Fine all the same' })(other, res)
    })
    for (const stream of [false, true]) {
      const { text } = await ask(world, client, upstream, question('Hello'), stream)
      expect({ client, upstream, stream, text }).toEqual({
        client,
        upstream,
        stream,
        text: 'Fine all the same',
      })
    }
  }
  world.upstream.answer(scripted({ text: 'Fine' }))
})
