/** An account without money gets 402 from everything that takes a POST or a turn, except the relay, and no upstream is called. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENDPOINT_NAMES, ENDPOINTS, type EndpointName } from '../../contract/endpoints.ts'
import type { Ports } from '../../proxy/pipeline/ports.ts'
import { type AppParts, createApp } from '../../proxy/server/app.ts'
import { create, connect as openSocket } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { logged } from '../harness/ledger.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'
import { json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const RICH = 'sk-with-money-0123456789'
const POOR = {
  'no credit at all': 'sk-never-credited-0123456789',
  'a credit that was taken back': 'sk-taken-back-0123456789',
  'less than the request may cost': 'sk-nearly-empty-0123456789',
}
/** `free` has no price: an account without money is refused there too. */
const PRICES = { priced: { input: '1', output: '1', perRequest: '1' }, free: undefined }
type Price = keyof typeof PRICES

const conversation = { messages: [{ role: 'user', content: 'Hello' }] }
const image = () => new File([Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1')], 'a.png', { type: 'image/png' })

/** What each endpoint needs to accept a request. A new endpoint lacks an entry, so this file does not compile. */
const REQUESTS: Record<EndpointName, { kind: string; fields: object; upload?: true }> = {
  chat: { kind: 'text', fields: conversation },
  responses: { kind: 'text', fields: { input: 'Hello' } },
  compact: { kind: 'text', fields: { input: 'Hello' } },
  messages: { kind: 'text', fields: { ...conversation, max_tokens: 10 } },
  // Counting is free of charge, and refused nevertheless: it takes an upstream's time.
  count_tokens: { kind: 'text', fields: conversation },
  embeddings: { kind: 'vectors', fields: { input: 'Hello' } },
  images: { kind: 'image', fields: { prompt: 'A cat' } },
  image_edits: { kind: 'image', fields: { prompt: 'A cat' }, upload: true },
}
const STREAMED: readonly EndpointName[] = ['chat', 'responses', 'messages']

/** Paths of the router that take no POST, and how they answer one. All others must answer 402. */
const NO_POST: Record<string, number> = {
  '/v1/responses/:id': 404,
  '/v1/responses/:id/input_items': 405,
  '/v1/models': 405,
  '/v1/models/*model': 405,
  '/v1/usage': 405,
}

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream((_, res) =>
    json(res, 500, { error: { message: 'No', type: 'server_error' } }),
  )
  const { baseURL } = upstream
  const types = { text: 'messages', vectors: 'embeddings', image: 'images' }
  const models = Object.entries(types).flatMap(([kind, type]) => [
    channel(kind, type === 'messages' ? baseURL.replace(/\/v1$/, '') : baseURL, { type }),
    ...Object.entries(PRICES).map(([name, price]) =>
      route(`${kind}-${name}`, `${kind}-${name}`, [kind], {
        ...(price && { price }),
        retry: { attempts: 1 },
      }),
    ),
  ])
  const keys = Object.values(POOR).map((key, i) =>
    apiKey(`poor-${i}`, key, { accountRef: { name: `poor-${i}` } }),
  )
  gateway = await startGateway({
    'all.yaml': [
      ...models,
      ...keys,
      apiKey('rich', RICH, { accountRef: { name: 'rich' } }) + account('rich', '1000'),
      account('poor-0', undefined),
      account('poor-1', '5'),
      account('poor-2', '0.5'),
      documents({
        apiVersion: 'sluice.dev/v1alpha1',
        kind: 'Credit',
        metadata: { name: 'debit' },
        spec: { accountRef: { name: 'poor-1' }, amount: '-5' },
      }),
    ].join(''),
  })
  await until(() => isEmpty(POOR['a credit that was taken back']), 'the debit')
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

async function isEmpty(key: string): Promise<boolean> {
  const answer = await post('/v1/chat/completions', key, bodyOf('chat', 'free'))
  return answer.status === 402
}

function bodyOf(name: EndpointName, price: Price, more: object = {}): string | FormData {
  const { kind, fields, upload } = REQUESTS[name]
  const all = { model: `${kind}-${price}`, ...fields, ...more }
  if (upload !== true) return JSON.stringify(all)
  const form = new FormData()
  for (const [field, value] of Object.entries(all)) form.append(field, String(value))
  form.append('image', image())
  return form
}

async function post(path: string, key: string, body: string | FormData) {
  const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
  const headers = { authorization: `Bearer ${key}`, ...type }
  const answer = await fetch(`${gateway.base}${path}`, { method: 'POST', headers, body })
  return {
    status: answer.status,
    id: answer.headers.get('x-request-id'),
    body: (await answer.json()) as unknown,
  }
}

/** The error as the API of this endpoint writes it. */
function refusalOf(name: EndpointName): object {
  const message = expect.stringMatching(/balance|funds/i)
  if (!ENDPOINTS[name].path.startsWith('/v1/messages'))
    return { error: { message, type: 'insufficient_quota', param: null, code: 'insufficient_balance' } }
  return {
    type: 'error',
    error: { type: 'billing_error', message, code: 'insufficient_balance' },
    request_id: expect.any(String),
  }
}

/** The paths of the router, patterns included; the relay has the only regular expression. */
function routedPaths(): string[] {
  const bodies = { limits: { endpointBytes: new Map() } }
  const app = createApp({ ports: { bodies } as unknown as Ports } as AppParts)
  const paths = app.router.stack.flatMap(({ route }): unknown => route?.path ?? [])
  return [...new Set(paths.flat().filter((path) => typeof path === 'string'))]
}

const endpointAt = (path: string) => ENDPOINT_NAMES.find((name) => ENDPOINTS[name].path === path)

describe.each(Object.entries(POOR))('an account with %s', (_, key) => {
  const prices: Price[] = key === POOR['less than the request may cost'] ? ['priced'] : ['priced', 'free']
  // A count holds nothing, so any money is enough.
  const isRefused = (path: string) => prices.length === 2 || !path.endsWith(ENDPOINTS.count_tokens.path)
  const cases = routedPaths().filter(isRefused)

  test.each(cases)('is refused at POST %s', async (path) => {
    const pattern = path.replace(/^\/api/, '')
    const name = endpointAt(pattern) ?? 'chat'
    const calls = upstream.calls.length
    for (const price of prices)
      for (const more of STREAMED.includes(name) ? [{}, { stream: true }] : [{}]) {
        const url = path.replace(/:id|\*model/, 'one')
        const answer = await post(url, key, bodyOf(name, price, more))
        const status = NO_POST[pattern] ?? 402
        expect(answer.status).toBe(status)
        if (status === 402) expect(answer.body).toEqual(refusalOf(name))
        const line = await until(() => logged(gateway).find((l) => l.requestId === answer.id), 'the log')
        expect(line.settled ?? '0').toBe('0')
      }
    expect(upstream.calls.length).toBe(calls)
  })

  test.each(['/v1/responses', '/api/v1/responses'])(
    'is refused at each turn of a WebSocket at %s',
    async (path) => {
      const calls = upstream.calls.length
      const client = await openSocket(`${gateway.base.replace('http', 'ws')}${path}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const turns = prices.flatMap((price) => [{ price }, { price }])
      for (const [i, { price }] of turns.entries()) {
        client.send(create({ model: `text-${price}`, input: 'Hello' }))
        const message = (await client.received(i + 1))[i]
        expect(message).toMatchObject({ type: 'error', status: 402, ...refusalOf('responses') })
      }
      // A turn that only prepares costs nothing, and is refused like any other.
      if (prices.length === 2) {
        client.send(create({ model: 'text-free', input: 'Hello', generate: false }))
        expect((await client.received(turns.length + 1)).at(-1)).toMatchObject({ type: 'error', status: 402 })
      }
      expect(upstream.calls.length).toBe(calls)
    },
  )
})

/** Without this, a request that is refused for another reason would prove nothing. */
test.each(ENDPOINT_NAMES)('an account with money reaches the upstream through %s', async (name) => {
  for (const price of ['priced', 'free'] as const) {
    const calls = upstream.calls.length
    const { status } = await post(ENDPOINTS[name].path, RICH, bodyOf(name, price))
    // Counting falls back to an estimate.
    expect([status, upstream.calls.length]).toEqual([name === 'count_tokens' ? 200 : 502, calls + 1])
  }
})

test('the router serves every endpoint at both of its paths', () => {
  const paths = routedPaths()
  for (const name of ENDPOINT_NAMES)
    expect(paths).toEqual(expect.arrayContaining([ENDPOINTS[name].path, `/api${ENDPOINTS[name].path}`]))
})
