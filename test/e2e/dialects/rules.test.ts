/** What a client is told of a conversion, and what is asked of its requests, in each dialect. */
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

/** A plain request, for what an SDK would not send. */
const post = (
  client: DialectName,
  body: object,
  { prefix = '/v1', query = '', headers = {} }: { prefix?: string; query?: string; headers?: object } = {},
) =>
  call(`${world.gateway.base}${prefix}${PATHS[client]}${query}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
  })

/** Fields that no other dialect has a word for. */
const OWN: Record<DialectName, object> = {
  chat: { seed: 7, logit_bias: { 50256: -100 } },
  responses: { truncation: 'auto', max_tool_calls: 3 },
  messages: { top_k: 5, context_management: { edits: [] } },
}

describe.each(PAIRS.filter(({ client, upstream }) => client !== upstream))(
  'what cannot be said: $client over $upstream',
  ({ client, upstream }) => {
    const asked = (model: string) => {
      const params = question('Hello')
      return ask(world, client, model, { ...params, [client]: { ...params[client], ...OWN[client] } }, false)
    }

    it('is dropped and told', async () => {
      expect((await asked(upstream)).text).toBe('Fine')
      expect(world.dropped().toSorted()).toEqual(Object.keys(OWN[client]).toSorted())
      for (const field of Object.keys(OWN[client])) expect(world.sent()).not.toHaveProperty(field)
    })

    it('is refused by a route that rejects, before the upstream is asked', async () => {
      const before = world.upstream.calls.length
      const error = await rejection(asked(`strict-${upstream}`))
      expect(error).toMatchObject({ status: 400 })
      const { param } = (error as { error: { param?: string; error?: { param: string } } }).error.error ?? {
        param: (error as { param: string }).param,
      }
      expect(Object.keys(OWN[client])).toContain(param)
      expect(world.upstream.calls.length).toBe(before)
    })

    it('a route that rejects serves what can be said', async () => {
      expect((await ask(world, client, `strict-${upstream}`, question('Hello'), false)).text).toBe('Fine')
      expect(world.headers().get('x-sluice-dropped')).toBeNull()
    })
  },
)

describe.each(DIALECTS)('between equal dialects: %s', (client) => {
  it('nothing is lost, whatever a route says', async () => {
    const params = question('Hello')
    const body = { ...params, [client]: { ...params[client], ...OWN[client] } }
    await ask(world, client, `strict-${client}`, body, false)
    expect(world.sent()).toEqual({ ...body[client], model: `strict-${client}` })
    expect(world.headers().get('x-sluice-dropped')).toBeNull()
  })
})

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  it('the upstream gets its name of the model, the client sees its own', async () => {
    const model = `named-${upstream}`
    const seen = await ask(world, client, model, question('Hello'), stream)
    expect(seen).toMatchObject({ model, text: 'Fine' })
    expect(world.sent().model).toBe('their-name')
    expect(world.headers().get('x-sluice-dropped')).toBeNull()
  })
})

describe('paths and headers', () => {
  it.each(PAIRS)('$client over $upstream below /api', async ({ client, upstream }) => {
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
  ])('messages with %j, and with a query', async (headers) => {
    for (const upstream of DIALECTS) {
      const body = { ...question('Hello').messages, model: upstream }
      expect((await post('messages', body, { headers, query: '?beta=true' })).status).toBe(200)
    }
    // A body of any version is right for an upstream that is asked by its own name of the version, or by the oldest.
    const sent = world.upstream.calls.at(-1)?.headers['anthropic-version']
    expect(sent).toBe(headers['anthropic-version'] ?? '2023-06-01')
  })

  it('an upstream of each type is asked at its path', async () => {
    for (const { client, upstream } of PAIRS) {
      await ask(world, client, upstream, question('Hello'), false)
      expect(world.upstream.calls.at(-1)?.path).toBe(`/v1${PATHS[upstream]}`)
    }
  })

  it('a client’s own headers do not reach an upstream of another dialect', async () => {
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

describe.each(DIALECTS)('a malformed request to %s', (upstream) => {
  it.each(MALFORMED)('from %s: %s as %j', async (client, param, fields) => {
    const before = world.upstream.calls.length
    const { status, text } = await post(client, { ...question('x')[client], model: upstream, ...fields })
    const body = JSON.parse(text) as { type?: string; error: { type: string; param: string } }
    if (client === upstream && param.includes('[')) {
      // Bytes pass: only what every lane needs is checked.
      expect([200, 400]).toContain(status)
      return
    }
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ type: 'invalid_request_error', param })
    expect(body.type).toBe(client === 'messages' ? 'error' : undefined)
    expect(world.upstream.calls.length).toBe(before)
  })
})

it('a stream that the upstream answers as JSON, and JSON that it streams', async () => {
  for (const { client, upstream } of PAIRS) {
    world.upstream.answer((asked, res) => {
      const body = JSON.parse(asked.body.toString()) as { stream?: boolean }
      const other = { ...asked, body: Buffer.from(JSON.stringify({ ...body, stream: body.stream !== true })) }
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
