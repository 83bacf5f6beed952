/** Retries by the gateway on its channels, and by the clients' SDKs. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { anthropic, HELLO, openai, rejection } from '../harness/sdk.ts'
import { chatAnswer, json, type Script, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-retries-0123456789'
const NEVER = { ejection: { consecutiveFailures: 0 } }
const EJECTING = { ejection: { consecutiveFailures: 2, interval: '1s', maxInterval: '5m' } }

let gateway: RunningGateway
let a: ScriptedUpstream
let b: ScriptedUpstream

const then = (first: string, second: string) => [first, { name: second, priority: 1 }]

beforeAll(async () => {
  ;[a, b] = await Promise.all([startUpstream(), startUpstream()])
  gateway = await startGateway({
    'all.yaml': [
      apiKey('caller', KEY),
      channel('a', a.baseURL, NEVER),
      channel('b', b.baseURL, NEVER),
      route('lonely', 'lonely', ['a']),
      route('pair', 'pair', then('a', 'b')),
      route('once', 'once', then('a', 'b'), { retry: { attempts: 1 } }),
      route('two-models', 'two-models', [
        { name: 'a', model: 'first' },
        { name: 'a', model: 'second', priority: 1 },
      ]),
      // Their own channels, because a rate limit ejects them.
      ...['busy', 'busier'].flatMap((name) => [
        channel(`a-${name}`, a.baseURL, NEVER),
        channel(`b-${name}`, b.baseURL, NEVER),
        route(name, name, then(`a-${name}`, `b-${name}`), { retry: { attempts: name === 'busy' ? 1 : 3 } }),
      ]),
      ...['caller-fault', 'limited', 'left'].flatMap((name) => [
        channel(`a-${name}`, a.baseURL, EJECTING),
        route(name, name, then(`a-${name}`, 'b')),
      ]),
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

const send = (model: string, signal?: AbortSignal) =>
  call(`${gateway.base}/v1/chat/completions`, {
    body: chatBody(model),
    headers: jsonHeaders(KEY),
    ...(signal && { signal }),
  })
const fail =
  (status: number, headers: Record<string, string> = {}, error: object = {}): Script =>
  (_call, res) =>
    json(res, status, { error: { message: 'no', ...error } }, headers)
const counts = () => [a.calls.length, b.calls.length]

describe('a channel that would refuse a retry', () => {
  const cases: [string, Script][] = [
    ['credential', fail(401)],
    ['quota', fail(429, {}, { code: 'insufficient_quota' })],
    ['quota', fail(402)],
    ['region_blocked', fail(403, {}, { code: 'unsupported_country_region_territory' })],
    ['model_access', fail(403)],
    ['model_gone', fail(404)],
  ]

  it.each(cases)('is called once after %s, and x-should-retry is false', async (_class, script) => {
    a.answer(script)
    const answer = await send('lonely')
    expect(answer.status).toBe(502)
    expect(answer.headers['x-should-retry']).toBe('false')
    expect(a.calls.length).toBe(1)
  })

  it.each(cases)('leaves the other attempts to other channels after %s', async (_class, script) => {
    a.answer(script)
    b.answer(fail(500))
    const answer = await send('pair')
    expect(answer.status).toBe(502)
    expect(answer.headers['x-should-retry']).toBeUndefined()
    expect(counts()).toEqual([1, 2])
  })

  it('is tried with another model of the route, unless its credential was refused', async () => {
    a.answer(fail(404))
    expect((await send('two-models')).headers['x-should-retry']).toBe('false')
    expect(a.calls.map(({ body }) => JSON.parse(body.toString()).model)).toEqual(['first', 'second'])
    a.answer(fail(401))
    expect((await send('two-models')).headers['x-should-retry']).toBe('false')
    expect(a.calls.length).toBe(3)
  })

  it('does not forbid client retries if another channel was not tried', async () => {
    a.answer(fail(401))
    const answer = await send('once')
    expect([answer.status, answer.headers['x-should-retry']]).toEqual([502, undefined])
  })
})

describe('SDKs', () => {
  const LIMITED = fail(429, { 'retry-after': '1' })

  it('retry after Retry-After when every channel is rate-limited', async () => {
    a.answer(LIMITED)
    b.answer(fail(429, { 'retry-after': '30' }))
    const answers: Response[] = []
    const client = openai(gateway.base, KEY, {
      maxRetries: 1,
      fetch: async (url, init) => {
        const answer = await fetch(url, init)
        answers.push(answer)
        a.answer(chatAnswer())
        b.answer(chatAnswer())
        return answer
      },
    })
    const completion = await client.chat.completions.create({ model: 'busy', messages: HELLO })
    expect(completion.choices[0]?.message.content).toBe('Hello there')
    expect(answers.map(({ status }) => status)).toEqual([502, 200])
    expect(answers[0]?.headers.get('retry-after')).toBe('1')
  })

  it('get the shortest Retry-After of the channels', async () => {
    a.answer(fail(429, { 'retry-after': '20' }))
    b.answer(fail(429, { 'retry-after': '40' }))
    const answer = await send('busier')
    expect([answer.status, answer.headers['retry-after'], answer.headers['x-should-retry']]).toEqual([
      502,
      '20',
      undefined,
    ])
  })

  it.each([
    ['do not retry a model without a route', 'nowhere', 1],
    ['do not retry a refused credential', 'lonely', 1],
    ['retry a failing upstream', 'pair', 3],
  ])('%s', async (_name, model, requests) => {
    a.answer(model === 'lonely' ? fail(401) : fail(500))
    b.answer(fail(500))
    let sent = 0
    const counted: typeof fetch = (url, init) => {
      sent++
      return fetch(url, init)
    }
    const error = await rejection(
      openai(gateway.base, KEY, { fetch: counted, maxRetries: 2 }).chat.completions.create({
        model,
        messages: HELLO,
      }),
    )
    expect(error).toBeInstanceOf(OpenAI.InternalServerError)
    expect(sent).toBe(requests)
    sent = 0
    const client = anthropic(gateway.base, KEY).withOptions({ fetch: counted, maxRetries: 2 })
    const request = { model, max_tokens: 10, messages: [{ role: 'user' as const, content: 'Hello' }] }
    expect(await rejection(client.messages.create(request))).toBeInstanceOf(Anthropic.InternalServerError)
    expect(sent).toBe(requests)
  })
})

describe('an inconclusive probe is followed by another at once', () => {
  /** Ejects the channel and waits until it gets a probe. */
  async function probed(model: string, script: Script): Promise<void> {
    a.answer(fail(500))
    for (let i = 0; i < 2; i++) expect((await send(model)).status).toBe(200)
    expect(counts()).toEqual([2, 2])
    a.answer(script)
    await until(async () => {
      await send(model, AbortSignal.timeout(2_000)).catch(() => undefined)
      return a.calls.length === 3
    }, 'the probe')
    a.answer(chatAnswer())
  }

  it('a client error', async () => {
    await probed('caller-fault', fail(400))
    const others = b.calls.length
    expect((await send('caller-fault')).status).toBe(200)
    expect(counts()).toEqual([4, others])
  })

  it('a rate limit', async () => {
    await probed('limited', fail(429))
    const others = b.calls.length
    expect((await send('limited')).status).toBe(200)
    expect(counts()).toEqual([4, others])
  })

  it('a client that leaves', async () => {
    await probed('left', () => undefined)
    await until(() => a.calls[2]?.aborted === true, 'the probe to be aborted')
    const others = b.calls.length
    expect((await send('left')).status).toBe(200)
    expect(counts()).toEqual([4, others])
  })
})
