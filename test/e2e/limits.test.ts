/** Rate limits of keys and accounts, as clients meet them. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { connect, create } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { lineOf, logged } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const MINUTE = { requestsPerMinute: 2 }
const PAYS = { accountRef: { name: 'payer' } }
/** What the upstream reports for each answer: 7 tokens in, 3 out. */
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

/** Keys by name, each with limits of its own so that tests do not meet. */
const KEYS: Record<string, object> = {
  unmetered: { limits: MINUTE },
  metered: { limits: MINUTE, ...PAYS },
  headers: { limits: { requestsPerMinute: 10, requestsPerDay: 5, tokensPerMinute: 1_000_000 }, ...PAYS },
  models: { limits: { requestsPerMinute: 3, models: { 'large*': { requestsPerMinute: 1 } } } },
  tokens: { limits: { tokensPerMinute: 3_000 } },
  greedy: { limits: { tokensPerMinute: 100 } },
  running: { limits: { concurrentRequests: 2 }, ...PAYS },
  queued: {
    limits: { concurrentRequests: 1, onLimit: 'Queue', queue: { requests: 3, wait: '60s' } },
    ...PAYS,
  },
  impatient: { limits: { concurrentRequests: 1, onLimit: 'Queue', queue: { wait: '1s' } } },
  socket: { limits: MINUTE },
  sdk: { limits: { requestsPerMinute: 60, models: { small: { requestsPerMinute: 1 } } } },
  free: { limits: MINUTE },
  poor: { limits: MINUTE, accountRef: { name: 'poor' } },
  'team-a': { accountRef: { name: 'team' } },
  'team-b': { accountRef: { name: 'team' } },
  'sub-a': { accountRef: { name: 'sub' } },
  'parent-a': { accountRef: { name: 'parent' } },
  unlimited: { accountRef: { name: 'unlimited' }, limits: MINUTE },
}
const keyOf = (name: string) => `sk-limited-${name}-0123456789`

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream(chatAnswer({ usage: USAGE }))
  const accounts = [
    account('payer', '100'),
    account('poor', '0.000001'),
    account('unlimited', undefined, { enforcement: 'Unlimited' }),
    account('team', '100', { limits: MINUTE }),
    account('parent', '100', { limits: MINUTE }),
    account('sub', '100', { parent: { name: 'parent' }, limits: { requestsPerMinute: 100 } }),
  ]
  const models = ['small', 'large-1', 'large-2'].map((model) =>
    route(model, model, ['main'], { price: { input: '1', output: '1' } }),
  )
  gateway = await startGateway({
    'all.yaml': [
      ...accounts,
      ...Object.entries(KEYS).map(([name, spec]) => apiKey(name, keyOf(name), spec)),
      channel('main', upstream.baseURL),
      ...models,
      route('gratis', 'gratis', ['main'], { free: true }),
    ].join(''),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})
afterEach(() => upstream.answer(chatAnswer({ usage: USAGE })))

const ask = (key: string, model = 'small', more: object = {}): Promise<Answer> =>
  call(`${gateway.base}/v1/chat/completions`, {
    body: chatBody(model, { max_tokens: 100, ...more }),
    headers: jsonHeaders(keyOf(key)),
  })
const statusOf = async (...of: Parameters<typeof ask>) => (await ask(...of)).status

function expectLimited(answer: Answer, retryAfter: string | RegExp = /^\d+$/): void {
  expectError(answer, 429, 'rate_limit_exceeded', null, 'rate_limit_error')
  expect(answer.headers['retry-after']).toMatch(retryAfter)
}

describe('requests a minute', () => {
  test.each(['metered', 'unmetered', 'unlimited', 'free'])(
    '%s: as many as the limit at once, then 429',
    async (key) => {
      const model = key === 'free' ? 'gratis' : 'small'
      const before = upstream.calls.length
      expect([await statusOf(key, model), await statusOf(key, model)]).toEqual([200, 200])
      const refused = await ask(key, model)
      expectLimited(refused, /^(29|30)$/)
      expect(JSON.parse(refused.text).error.message).toBe('This API key is limited to 2 requests a minute.')
      expect(upstream.calls.length - before).toBe(2)
      expect((await lineOf(gateway, refused)).status).toBe(429)
      const { text } = await call(`${gateway.admin}/metrics`)
      expect(text).toMatch(/sluice_rate_limited_total\{of="key",limit="requests"\} \d/)
    },
  )

  test('of an account are shared by its keys', async () => {
    expect([await statusOf('team-a'), await statusOf('team-b')]).toEqual([200, 200])
    const refused = await ask('team-b')
    expectLimited(refused)
    expect(JSON.parse(refused.text).error.message).toContain('This account is limited')
  })

  test('of a parent are shared by its sub-accounts', async () => {
    expect([await statusOf('sub-a'), await statusOf('parent-a')]).toEqual([200, 200])
    expectLimited(await ask('sub-a'))
  })

  test('of a model count beside those of all models', async () => {
    expect(await statusOf('models', 'large-1')).toBe(200)
    const refused = await ask('models', 'large-2')
    expectLimited(refused)
    expect(JSON.parse(refused.text).error.message).toContain('for the model large*')
    // The refused one was not counted.
    expect([await statusOf('models'), await statusOf('models')]).toEqual([200, 200])
    expectLimited(await ask('models'))
  })

  test('a request without funds is 402, and is not counted', async () => {
    for (let i = 0; i < 3; i++) expect(await statusOf('poor')).toBe(402)
    expect(await statusOf('poor', 'gratis')).toBe(200)
    expect(await statusOf('poor', 'gratis')).toBe(200)
    expect(await statusOf('poor', 'gratis')).toBe(429)
  })

  test('turns of a WebSocket count', async () => {
    const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
    const client = await connect(url, { headers: { authorization: `Bearer ${keyOf('socket')}` } })
    const ends = () => client.messages.filter(({ type }) => type === 'response.completed' || type === 'error')
    for (let i = 1; i <= 3; i++) {
      client.send(create({ model: 'small', input: 'Hi' }))
      await until(() => ends().length === i, 'the end of a turn')
    }
    expect(ends().map(({ type }) => type)).toEqual(['response.completed', 'response.completed', 'error'])
    expect(ends().at(-1)).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded' } })
  })
})

describe('tokens a minute', () => {
  test('are admitted by the most that a request may use, and counted by what it used', async () => {
    // The prompt of 5 letters and 2,500 tokens of output nearly fill the minute; 10 were used.
    for (let i = 0; i < 3; i++) {
      const answer = await ask('tokens', 'small', { max_tokens: 2_500 })
      expect(answer.status).toBe(200)
      const { requestId } = await lineOf(gateway, answer)
      expect(requestId).toBeDefined()
    }
    const { headers } = await ask('tokens', 'small', { max_tokens: 1 })
    expect(Number(headers['x-ratelimit-remaining-tokens'])).toBeGreaterThan(2_900)
  })

  test('a request that may use more than the limit is served while nothing else was', async () => {
    const first = await ask('greedy', 'small', { max_tokens: 5_000 })
    expect(first.status).toBe(200)
    await lineOf(gateway, first)
    expectLimited(await ask('greedy', 'small', { max_tokens: 5_000 }))
    expect(await statusOf('greedy', 'small', { max_tokens: 10 })).toBe(200)
  })
})

test('requests at a time: a place is free again when an answer is over, whatever came of it', async () => {
  const gate = Promise.withResolvers<void>()
  upstream.answer(async (seen, res) => {
    await gate.promise
    await chatAnswer({ usage: USAGE })(seen, res)
  })
  const before = upstream.calls.length
  const running = [ask('running'), ask('running', 'small', { stream: true })]
  await until(() => upstream.calls.length === before + 2, 'the upstream calls')
  const refused = await ask('running')
  expectLimited(refused, /^1$/)
  expect(JSON.parse(refused.text).error.message).toContain('2 requests at a time')
  gate.resolve()
  for (const answer of await Promise.all(running)) {
    expect(answer.status).toBe(200)
    await lineOf(gateway, answer)
  }
  upstream.answer((_, res) => {
    res.writeHead(500).end()
  })
  const failed = await ask('running')
  expect(failed.status).toBe(502)
  await lineOf(gateway, failed)
  upstream.answer(chatAnswer({ usage: USAGE }))
  expect(await Promise.all([statusOf('running'), statusOf('running')])).toEqual([200, 200])
  expect(logged(gateway).length).toBeGreaterThan(0)
})

describe('requests at a time that wait', () => {
  /** An upstream that answers one call for each release. */
  function onePerRelease(): () => void {
    const gates: PromiseWithResolvers<void>[] = []
    let open = 0
    upstream.answer(async (seen, res) => {
      if (open > 0) {
        open--
      } else {
        const gate = Promise.withResolvers<void>()
        gates.push(gate)
        await gate.promise
      }
      await chatAnswer({ usage: USAGE })(seen, res)
    })
    return () => {
      const gate = gates.shift()
      if (gate === undefined) open++
      else gate.resolve()
    }
  }

  test('are served one after another; one beyond the queue is refused', async () => {
    const release = onePerRelease()
    const before = upstream.calls.length
    const answers: Answer[] = []
    const asked = async () => {
      answers.push(await ask('queued'))
    }
    const all = [asked()]
    await until(() => upstream.calls.length === before + 1, 'the first call')
    // One runs and three may wait.
    for (let n = 0; n < 4; n++) all.push(asked())
    await until(() => answers.length === 1, 'the refusal')
    expectLimited(answers[0] as Answer, /^1$/)
    for (let n = 1; n <= 4; n++) {
      expect(upstream.calls.length - before).toBeLessThanOrEqual(n)
      release()
      await until(() => answers.length === n + 1, `answer ${n}`)
    }
    await Promise.all(all)
    expect(answers.map(({ status }) => status)).toEqual([429, 200, 200, 200, 200])
  })

  test('are refused when their time is over, and leave with their client', async () => {
    const release = onePerRelease()
    const before = upstream.calls.length
    const first = ask('impatient')
    await until(() => upstream.calls.length === before + 1, 'the first call')
    expectLimited(await ask('impatient'), /^1$/)
    release()
    expect((await first).status).toBe(200)
    upstream.answer(chatAnswer({ usage: USAGE }))
    expect(await statusOf('impatient')).toBe(200)
  })
})

describe('headers', () => {
  test('show the tightest limit of each kind, on answers, streams and refusals', async () => {
    const answers = [await ask('headers'), await ask('headers', 'small', { stream: true })]
    for (const [i, { status, headers }] of answers.entries()) {
      expect(status).toBe(200)
      expect(headers).toMatchObject({
        'x-ratelimit-limit-requests': '5',
        'x-ratelimit-remaining-requests': String(4 - i),
        'x-ratelimit-limit-tokens': '1000000',
        'x-ratelimit-remaining-tokens': expect.stringMatching(/^99\d{4}$/),
        'x-ratelimit-reset-tokens': expect.stringMatching(/^\d+(ms|s)$/),
      })
      expect(headers['x-ratelimit-reset-requests']).toMatch(/^\d+h\d+m\d+s$/)
    }
  })

  test('have the names that the Anthropic SDK reads, for its clients', async () => {
    const { status, headers } = await call(`${gateway.base}/v1/messages`, {
      body: chatBody('small', { max_tokens: 10 }),
      headers: jsonHeaders(keyOf('headers')),
    })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'anthropic-ratelimit-requests-limit': '5',
      'anthropic-ratelimit-requests-remaining': '2',
      'anthropic-ratelimit-tokens-limit': '1000000',
    })
    expect(Date.parse(String(headers['anthropic-ratelimit-requests-reset']))).toBeGreaterThan(Date.now())
    expect(headers['x-ratelimit-limit-requests']).toBeUndefined()
  })
})

test('the official SDKs raise their RateLimitError', async () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const openai = new OpenAI({ apiKey: keyOf('sdk'), baseURL: `${gateway.base}/v1`, maxRetries: 0 })
  const anthropic = new Anthropic({ apiKey: keyOf('sdk'), baseURL: gateway.base, maxRetries: 0 })
  await openai.chat.completions.create({ model: 'small', messages })
  const refused = [
    openai.chat.completions.create({ model: 'small', messages }),
    anthropic.messages.create({ model: 'small', messages, max_tokens: 10 }),
  ]
  const errors = await Promise.all(refused.map((one) => one.catch((error: unknown) => error)))
  expect(errors[0]).toBeInstanceOf(OpenAI.RateLimitError)
  expect(errors[1]).toBeInstanceOf(Anthropic.RateLimitError)
})
