/** An answer costs at most what the account has: upstreams get a limit on output tokens where the client set none. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { balanceOf, lineOf, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { completion, json, type Script, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const RICH = 'sk-rich-0123456789abcdef'
const POOR = 'sk-poor-0123456789abcdef'
const UNLIMITED = 'sk-unlimited-0123456789'
/** A micro-dollar for each output token; the prompt is free. */
const PRICE = { input: '0', output: '1' }
/** Buys 5,000 output tokens, of which 4,096 are held. */
const FUNDS = '0.005'

let upstream: ScriptedUpstream
let gateway: RunningGateway

/** Answers in any dialect, with as many tokens as the request allows, or as the model wants. */
const greedy =
  (wants: number): Script =>
  ({ path, body }, res) => {
    const { max_tokens, max_completion_tokens, max_output_tokens } = JSON.parse(body.toString())
    const output = Math.min(wants, max_tokens ?? max_completion_tokens ?? max_output_tokens ?? wants)
    if (path.endsWith('/chat/completions')) {
      const usage = { prompt_tokens: 1, completion_tokens: output, total_tokens: output + 1 }
      return json(res, 200, completion('m', 'word', usage))
    }
    const content = { text: 'word' }
    if (path.endsWith('/messages')) {
      const usage = { input_tokens: 1, output_tokens: output }
      const about = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' }
      return json(res, 200, { ...about, content: [{ type: 'text', ...content }], usage })
    }
    const part = { type: 'output_text', ...content, annotations: [] }
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] }
    const usage = { input_tokens: 1, output_tokens: output, total_tokens: output + 1 }
    const about = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed' }
    json(res, 200, { ...about, output: [item], usage })
  }

beforeAll(async () => {
  upstream = await startUpstream()
  const origin = upstream.baseURL.replace('/v1', '')
  gateway = await startGateway({
    'all.yaml':
      channel('plain', upstream.baseURL) +
      channel('openai', upstream.baseURL, { profile: 'openai' }) +
      channel('responses', upstream.baseURL, { type: 'responses' }) +
      channel('messages', origin, { type: 'messages', profile: 'anthropic' }) +
      ['plain', 'openai', 'responses', 'messages']
        .map((name) => route(name, name, [name], { price: PRICE, retry: { attempts: 1 } }))
        .join('') +
      route('held', 'held', ['plain'], { price: PRICE, outputLimit: 'Held', maxOutputTokens: 300 }) +
      route('none', 'none', ['plain'], { price: PRICE, outputLimit: 'None' }) +
      route('small', 'small', ['plain'], { price: PRICE, contextLength: 4_500 }) +
      apiKey('rich', RICH, { accountRef: { name: 'rich' } }) +
      account('rich', '100') +
      apiKey('poor', POOR, { accountRef: { name: 'poor' } }) +
      account('poor', FUNDS) +
      apiKey('unlimited', UNLIMITED, { accountRef: { name: 'unlimited' } }) +
      account('unlimited', FUNDS, { enforcement: 'Unlimited' }),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const sent = () => JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '{}')
const ask = (key: string, model: string, more: object = {}) =>
  call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(key), body: chatBody(model, more) })

/** Runs `work`, then gives the poor account back what it paid. */
async function refunded(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } finally {
    const { balance } = await balanceOf(gateway, 'poor')
    count++
    gateway.write(`refund-${count}.yaml`, credit(`refund-${count}`, (nanos(FUNDS) - balance) / 1e9))
    await until(async () => (await balanceOf(gateway, 'poor')).balance === nanos(FUNDS), 'the refund')
  }
}
let count = 0
const credit = (name: string, dollars: number) =>
  `---\n${JSON.stringify({
    apiVersion: 'sluice.dev/v1alpha1',
    kind: 'Credit',
    metadata: { name },
    spec: { accountRef: { name: 'poor' }, amount: dollars.toFixed(9) },
  })}\n`

test.each([
  ['plain', 'max_tokens'],
  ['openai', 'max_completion_tokens'],
  ['responses', 'max_output_tokens'],
  ['messages', 'max_tokens'],
])('an account with little money gets an answer that it can pay for: %s', async (model, field) => {
  upstream.answer(greedy(1_000_000))
  await refunded(async () => {
    const answer = await ask(POOR, model)
    expect(answer.status).toBe(200)
    expect(sent()[field]).toBe(5_000)
    expect(await lineOf(gateway, answer)).toMatchObject({ settled: FUNDS, outputLimit: 5_000 })
    expect((await balanceOf(gateway, 'poor')).balance).toBe(0)
  })
})

test('a stream has the same limit', async () => {
  upstream.answer(greedy(10))
  await refunded(async () => {
    const answer = await ask(POOR, 'plain', { stream: true })
    expect([answer.status, sent().max_tokens]).toEqual([200, 5_000])
  })
})

test('a limit of null is no limit', async () => {
  upstream.answer(greedy(10))
  await refunded(async () => {
    await ask(POOR, 'plain', { max_tokens: null })
    expect(
      upstream.calls
        .at(-1)
        ?.body.toString()
        .match(/max_tokens/g),
    ).toHaveLength(1)
    expect(sent().max_tokens).toBe(5_000)
  })
})

test.each([
  ['with money', RICH, 'plain', {}, undefined],
  ['without enforcement', UNLIMITED, 'plain', {}, undefined],
  ['with a limit of its own', POOR, 'plain', { max_tokens: 77 }, 77],
  ['on a route without limits', POOR, 'none', {}, undefined],
  ['that can pay for the whole context', POOR, 'small', {}, undefined],
  ['on a route that limits answers to the hold', RICH, 'held', {}, 300],
])('a client %s gets no other limit', async (_, key, model, more, limit) => {
  upstream.answer(greedy(10))
  await refunded(async () => {
    expect((await ask(key, model, more)).status).toBe(200)
    expect(sent().max_tokens).toBe(limit)
  })
})

test('an upstream that refuses the limit gets the request once more without it', async () => {
  upstream.answer((request, res) => {
    const { max_tokens } = JSON.parse(request.body.toString())
    if (max_tokens === undefined) return greedy(4_000)(request, res)
    const message = `max_tokens is too large: ${max_tokens}. This model supports at most 4096 completion tokens.`
    json(res, 400, {
      error: { message, type: 'invalid_request_error', param: 'max_tokens', code: 'invalid_value' },
    })
  })
  await refunded(async () => {
    const before = upstream.calls.length
    const answer = await ask(POOR, 'plain')
    expect([answer.status, upstream.calls.length - before]).toEqual([200, 2])
    expect(await lineOf(gateway, answer)).toMatchObject({ settled: '0.004' })
  })
})

test('a refusal for another reason is shown at once', async () => {
  upstream.answer((_, res) => {
    json(res, 400, {
      error: { message: 'temperature is wrong', param: 'temperature', code: 'invalid_value' },
    })
  })
  const before = upstream.calls.length
  const { status, text } = await ask(POOR, 'plain', { temperature: 1 })
  expect([status, upstream.calls.length - before]).toEqual([400, 1])
  expect(text).toContain('temperature')
})

test('requests at once can overspend no more than what the others held free', async () => {
  upstream.answer(greedy(1_000_000))
  await refunded(async () => {
    // Both hold 100 tokens and see what the other one left: 4,800 and 4,900 tokens beside the hold.
    gateway.write('both.yaml', route('both', 'both', ['plain'], { price: PRICE, maxOutputTokens: 100 }))
    await until(async () => (await ask(UNLIMITED, 'both', { max_tokens: 1 })).status === 200, 'the route')
    const waiting: (() => void)[] = []
    upstream.answer(async (request, res) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 2) for (const go of waiting) go()
      })
      await greedy(1_000_000)(request, res)
    })
    const answers = await Promise.all([ask(POOR, 'both'), ask(POOR, 'both')])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const { balance } = await balanceOf(gateway, 'poor')
    // Each spends at most its hold and all that was free: (n - 1) times the funds at n requests.
    expect(balance).toBeGreaterThanOrEqual(-nanos(FUNDS))
    expect(balance).toBeLessThan(0)
  })
})
