/** Which channel gets a request, and the request that the upstream receives. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, documents, route } from '../harness/resources.ts'
import { chatAnswer, json, type Script, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-routing-test'
const SECRET = 'upstream-secret-1'
const NEVER = { ejection: { consecutiveFailures: 0 } }

let gateway: RunningGateway
let a: ScriptedUpstream
let b: ScriptedUpstream

const secret = documents({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'upstream' },
  stringData: { key: SECRET },
})

/** Channels a-<suffix> and b-<suffix> on the two upstreams. */
const pair = (suffix: string, spec: object = NEVER, specB: object = spec) =>
  channel(`a-${suffix}`, a.baseURL, spec) + channel(`b-${suffix}`, b.baseURL, specB)
const aThenB = (suffix: string) => [`a-${suffix}`, { name: `b-${suffix}`, priority: 1 }]

beforeAll(async () => {
  ;[a, b] = await Promise.all([startUpstream(), startUpstream()])
  const auth = (scheme: string, more: object = {}) => ({
    secretRef: { name: 'upstream' },
    auth: { scheme, ...more },
  })
  gateway = await startGateway({
    'all.yaml': [
      secret,
      apiKey('caller', KEY),
      pair('plain'),
      route('priority', 'priority', [
        { name: 'b-plain', priority: 2 },
        { name: 'a-plain', priority: 1 },
      ]),
      route('weight', 'weight', [{ name: 'a-plain', weight: 3 }, 'b-plain']),
      route('zero', 'zero', [
        { name: 'a-plain', weight: 0 },
        { name: 'b-plain', priority: 5 },
      ]),
      route('zero-only', 'zero-only', [{ name: 'a-plain', weight: 0 }]),
      route('exact', 'wild-exact', [{ name: 'a-plain', model: 'from-exact' }]),
      route('wild', 'wild-*', ['b-plain']),
      route('wilder', 'wild-long-*', [{ name: 'a-plain', model: 'prefix/*:free' }]),
      route('everything', '*', [{ name: 'b-plain', model: 'any-*' }]),
      route('retry', 'retry', aThenB('plain')),
      route('retry-429', 'retry-429', aThenB('plain'), { retry: { classes: ['rate_limit'] } }),
      route('once', 'once', aThenB('plain'), { retry: { attempts: 1 } }),
      route('lonely', 'lonely', ['a-plain'], { retry: { attempts: 2 } }),
      channel('off', a.baseURL, { disabled: true }),
      route('half-off', 'half-off', ['off', { name: 'b-plain', priority: 1 }]),
      route('all-off', 'all-off', ['off']),
      pair('limited', { ...NEVER, maxConcurrentRequests: 1 }, NEVER),
      route('limited', 'limited', aThenB('limited')),
      route('limited-only', 'limited-only', ['a-limited']),
      channel('bearer', a.baseURL, auth('Bearer')),
      channel('x-api-key', a.baseURL, auth('XApiKey')),
      channel('header', a.baseURL, auth('Header', { header: 'X-Goog-Key' })),
      channel('none', a.baseURL, auth('None')),
      channel('default', `${a.baseURL.slice(0, -3)}`, {
        secretRef: { name: 'upstream' },
        headers: { 'X-Org': 'one', 'User-Agent': 'mine' },
        query: { 'api-version': '1 2', k: 'ü' },
      }),
      ...['bearer', 'x-api-key', 'header', 'none', 'default'].map((name) =>
        route(`auth-${name}`, `auth-${name}`, [name]),
      ),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([a?.close(), b?.close()])
})

beforeEach(() => {
  for (const upstream of [a, b]) {
    upstream.calls.length = 0
    upstream.answer(chatAnswer())
  }
})

const send = (model: string, headers: Record<string, string> = {}): Promise<Answer> =>
  call(`${gateway.base}/v1/chat/completions`, { body: chatBody(model), headers: jsonHeaders(KEY, headers) })
const fail = (status: number, headers: Record<string, string> = {}): Script => {
  return (_call, res) => json(res, status, { error: { message: 'This cannot be served.' } }, headers)
}
const modelAt = (upstream: ScriptedUpstream) =>
  JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '{}').model

describe('choice', () => {
  it('uses the lowest priority value, whatever the order', async () => {
    await Promise.all(Array.from({ length: 20 }, () => send('priority')))
    expect([a.calls.length, b.calls.length]).toEqual([20, 0])
  })

  it('divides by weight', async () => {
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 40 }, () => send('weight')))
    // 300 of 400 are expected; the standard deviation is below 9.
    expect(a.calls.length).toBeGreaterThan(255)
    expect(a.calls.length).toBeLessThan(345)
    expect(a.calls.length + b.calls.length).toBe(400)
  })

  it('never uses weight 0, even if it is the only channel or all others fail', async () => {
    await Promise.all(Array.from({ length: 20 }, () => send('zero')))
    expect([a.calls.length, b.calls.length]).toEqual([0, 20])
    expectError(await send('zero-only'), 502, 'upstream_error', 'model', 'server_error')
    b.answer(fail(500))
    expect((await send('zero')).status).toBe(502)
    expect(a.calls.length).toBe(0)
  })

  it('skips a disabled channel', async () => {
    expect((await send('half-off')).status).toBe(200)
    expectError(await send('all-off'), 502, 'upstream_error', 'model', 'server_error')
    expect(a.calls.length).toBe(0)
  })

  it.each([
    ['wild-exact', 'a', 'from-exact'],
    ['wild-x', 'b', 'x'],
    ['wild-exact-too', 'b', 'exact-too'],
    ['wild-long-x', 'a', 'prefix/x:free'],
    ['wild-long-a/$&/*', 'a', 'prefix/a/$&/*:free'],
    ['wild-long-', 'b', 'long-'],
    ['wild-', 'b', 'any-wild-'],
    ['WILD-x', 'b', 'any-WILD-x'],
    ['other', 'b', 'any-other'],
    ['"quoted" ü', 'b', 'any-"quoted" ü'],
  ])('matches %s: the exact name, else the longest wildcard', async (model, where, upstreamModel) => {
    expect((await send(model)).status).toBe(200)
    expect([a.calls.length, b.calls.length]).toEqual(where === 'a' ? [1, 0] : [0, 1])
    expect(modelAt(where === 'a' ? a : b)).toBe(upstreamModel)
  })
})

describe('a retry', () => {
  it.each([401, 402, 403, 404, 408, 429, 500, 502, 503, 529, 302, 204])(
    'after %d uses the other channel',
    async (status) => {
      a.answer(fail(status))
      expect((await send('retry')).status).toBe(200)
      expect([a.calls.length, b.calls.length]).toEqual([1, 1])
    },
  )

  it.each([400, 413, 422])('is not made after %d, which is the client’s fault', async (status) => {
    a.answer(fail(status))
    expectError(await send('retry'), status, status === 413 ? 'request_too_large' : 'invalid_request')
    expect([a.calls.length, b.calls.length]).toEqual([1, 0])
  })

  it('is immediate after a 429 with Retry-After, which ejects the channel', async () => {
    a.answer(fail(429, { 'retry-after': '1' }))
    const startedAt = performance.now()
    expect((await send('retry')).status).toBe(200)
    expect((await send('retry')).status).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(900)
    expect([a.calls.length, b.calls.length]).toEqual([1, 2])
    a.answer(chatAnswer())
    await until(
      async () => (await send('retry')).status === 200 && a.calls.length > 1,
      'the channel to be used again',
    )
    expect(performance.now() - startedAt).toBeGreaterThan(900)
  })

  it('uses the only channel again after Retry-After', async () => {
    let failures = 0
    a.answer((upstreamCall, res) => {
      if (failures++ > 0) return chatAnswer()(upstreamCall, res)
      return fail(429, { 'retry-after': '1' })(upstreamCall, res)
    })
    const startedAt = performance.now()
    expect((await send('lonely')).status).toBe(200)
    expect(performance.now() - startedAt).toBeGreaterThan(990)
    expect(a.calls.length).toBe(2)
  })

  it('is made only for the route’s classes and within its attempts', async () => {
    a.answer(fail(500))
    expect((await send('retry-429')).status).toBe(502)
    expect((await send('once')).status).toBe(502)
    expect(b.calls.length).toBe(0)
    expect((await send('lonely')).status).toBe(502)
    expect(a.calls.length).toBe(4)
    b.answer(fail(500))
    expect((await send('retry')).status).toBe(502)
    expect(a.calls.length + b.calls.length).toBe(4 + 3)
  })
})

describe('concurrency limits', () => {
  const held: (() => void)[] = []
  const hold: Script = async (upstreamCall, res) => {
    await new Promise<void>((resolve) => held.push(resolve))
    await chatAnswer()(upstreamCall, res)
  }
  afterEach(() => {
    for (const release of held.splice(0)) release()
  })

  it('fall over to the next channel, or refuse the request', async () => {
    a.answer(hold)
    const first = send('limited')
    await until(() => held.length === 1, 'the first request')
    await Promise.all([send('limited'), send('limited')])
    expect([a.calls.length, b.calls.length]).toEqual([1, 2])
    const refused = await send('limited-only')
    expectError(refused, 502, 'upstream_error', null, 'server_error')
    expect(refused.headers['retry-after']).toBe('1')
    held[0]?.()
    expect((await first).status).toBe(200)
    a.answer(chatAnswer())
    expect((await send('limited-only')).status).toBe(200)
  })
})

describe('the request that an upstream receives', () => {
  it.each<[string, Record<string, string>]>([
    ['bearer', { authorization: `Bearer ${SECRET}` }],
    ['x-api-key', { 'x-api-key': SECRET }],
    ['header', { 'x-goog-key': SECRET }],
    ['none', {}],
    ['default', { authorization: `Bearer ${SECRET}`, 'x-org': 'one', 'user-agent': 'mine' }],
  ])('%s: the credential in its header, and no client headers', async (name, expected) => {
    const answer = await send(`auth-${name}`, {
      cookie: 'session=1',
      'x-forwarded-for': '192.0.2.1',
      forwarded: 'for=192.0.2.1',
      'openai-organization': 'org-client',
      'openai-beta': 'x',
      'x-stainless-lang': 'js',
      'user-agent': 'client',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-request-id': 'from-the-client',
      'accept-language': 'de',
    })
    expect(answer.status).toBe(200)
    const { body, headers, method, path } = a.calls[0] ?? { body: '', headers: {}, method: '', path: '' }
    const { host: _host, connection: _connection, ...rest } = headers
    expect(rest).toEqual({
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-length': String(body.length),
      'content-type': 'application/json',
      'user-agent': 'sluice',
      ...expected,
    })
    expect(method).toBe('POST')
    const [pathname, query] = path.split('?')
    expect(pathname).toBe('/v1/chat/completions')
    const wanted = name === 'default' ? { 'api-version': '1 2', k: 'ü' } : {}
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual(wanted)
    expect(answer.headers['x-request-id']).not.toBe('from-the-client')
  })
})
