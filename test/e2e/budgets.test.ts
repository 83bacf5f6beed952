/** A budget refuses what is beyond it, whoever has it, until its period is over; warnings come before. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { type Answer, call, chatBody, jsonHeaders } from '../harness/http.ts'
import { balanceOf } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { HELLO, openai, rejection } from '../harness/sdk.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const keyOf = (name: string) => `sk-of-${name}-0123456789abcdef`
const monthly = (amount: string, more: object = {}) => ({ budget: { amount, ...more } })

/** A key each, by its name: its account, if any, and the budget of the key. */
const ACCOUNTS: Record<string, [dollars: string | undefined, spec: object]> = {
  capped: ['100', monthly('2')],
  unlimited: [undefined, { enforcement: 'Unlimited', ...monthly('2') }],
  company: ['100', {}],
  student: [undefined, { parent: { name: 'company' }, ...monthly('2') }],
  poor: ['1', {}],
  'poor-student': [undefined, { parent: { name: 'poor' }, ...monthly('5') }],
  'capped-company': ['100', monthly('1')],
  'capped-student': [undefined, { parent: { name: 'capped-company' }, ...monthly('5') }],
  rich: ['100', {}],
  low: ['10', { lowBalance: ['9.5', '8.5'] }],
}
const KEYS: Record<string, object> = {
  'key-of-rich': { accountRef: { name: 'rich' }, ...monthly('1') },
  'key-alone': monthly('1'),
  'key-unspent': monthly('1'),
  'key-of-sdks': monthly('1'),
  'key-by-model': { budget: { models: { 'm-d*': { amount: '1' } } } },
  'key-warned': { accountRef: { name: 'rich' }, ...monthly('4', { softLimit: [25, 50] }) },
}

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  const accounts = Object.entries(ACCOUNTS).map(
    ([name, [dollars, spec]]) =>
      account(name, dollars, spec) + apiKey(name, keyOf(name), { accountRef: { name } }),
  )
  const keys = Object.entries(KEYS).map(([name, spec]) => apiKey(name, keyOf(name), spec))
  const price = { perRequest: '1', input: '0', output: '0' }
  gateway = await startGateway({
    'all.yaml':
      accounts.join('') +
      keys.join('') +
      channel('main', upstream.baseURL) +
      route('m', 'm', ['main'], { price }) +
      route('m-dear', 'm-dear', ['main'], { price }) +
      route('unpriced', 'unpriced', ['main'], { free: false }),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const ask = (name: string, model = 'm', path = '/v1/chat/completions') =>
  call(`${gateway.base}${path}`, {
    body: chatBody(model, path.includes('messages') ? { max_tokens: 5 } : {}),
    headers: jsonHeaders(keyOf(name)),
  })

function expectRefused({ status, headers }: Answer): void {
  expect([status, headers['x-sluice-error']]).toEqual([402, 'insufficient_balance'])
}

describe('a budget of two dollars', () => {
  test.each(['capped', 'unlimited', 'student'])(
    'serves %s two requests, and refuses the third',
    async (name) => {
      for (let i = 0; i < 2; i++) expect((await ask(name)).status).toBe(200)
      const refused = await ask(name)
      expectRefused(refused)
      expect(refused.text).toMatch(/The budget of this account is used up until \d{4}-\d{2}-01T00:00:00.000Z/)
      expectRefused(await ask(name, 'm', '/v1/messages'))
      expectRefused(await ask(name, 'unknown'))
    },
  )

  test('is an allowance of a sub-account, which needs no Credit; the parent pays', async () => {
    expect(await balanceOf(gateway, 'company')).toEqual({ balance: 98e9, held: 0 })
    expect(await balanceOf(gateway, 'student')).toEqual({ balance: -2e9, held: 0 })
  })
})

test('an allowance beyond the money of the parent is refused', async () => {
  expect((await ask('poor-student')).status).toBe(200)
  expectRefused(await ask('poor-student'))
})

test('a cap of the parent bounds its sub-accounts', async () => {
  expect((await ask('capped-student')).status).toBe(200)
  expectRefused(await ask('capped-student'))
  expectRefused(await ask('capped-company'))
})

test.each(['key-of-rich', 'key-alone'])('a budget of a key bounds that key alone: %s', async (name) => {
  expect((await ask(name)).status).toBe(200)
  const refused = await ask(name)
  expectRefused(refused)
  expect(refused.text).toContain('The budget of this API key is used up')
  expect((await ask('rich')).status).toBe(200)
})

test('the official SDKs name the reason once, and do not try again', async () => {
  expect((await ask('key-of-sdks')).status).toBe(200)
  let calls = 0
  const counted: typeof fetch = (...args) => {
    calls += 1
    return fetch(...args)
  }
  const asOpenAI = openai(gateway.base, keyOf('key-of-sdks'), { fetch: counted })
  const error = await rejection(asOpenAI.chat.completions.create({ model: 'm', messages: HELLO }))
  expect(error).toBeInstanceOf(OpenAI.APIError)
  const message = expect.stringContaining('The budget of this API key is used up until')
  expect(error).toMatchObject({ status: 402, code: 'insufficient_balance', message })
  const asAnthropic = new Anthropic({
    ...{ baseURL: gateway.base, apiKey: keyOf('key-of-sdks'), fetch: counted },
  })
  const hello = [{ role: 'user' as const, content: 'Hello' }]
  const other = await rejection(asAnthropic.messages.create({ model: 'm', max_tokens: 5, messages: hello }))
  expect(other).toBeInstanceOf(Anthropic.APIError)
  expect(other).toMatchObject({ status: 402, error: { error: { message } } })
  expect(calls).toBe(2)
})

test('a budget for some models bounds those', async () => {
  expect((await ask('key-by-model', 'm-dear')).status).toBe(200)
  expect((await ask('key-by-model', 'm-dear')).text).toContain('for the model m-d* is used up')
  for (let i = 0; i < 3; i++) expect((await ask('key-by-model', 'm')).status).toBe(200)
})

test('who has a budget is not served a model without a price', async () => {
  // As a model that does not exist.
  expect((await ask('key-unspent', 'unpriced')).status).toBe(502)
  expect((await ask('key-by-model', 'unpriced')).status).toBe(200)
})

describe('x-sluice-balance-warning', () => {
  const warning = async (name: string) => (await ask(name)).headers['x-sluice-balance-warning']

  test('names the highest soft limit that the budget has reached', async () => {
    expect(await warning('key-warned')).toBeUndefined()
    expect(await warning('key-warned')).toMatch(/^key budget 25% spent until \d{4}-\d{2}-01T00:00:00.000Z$/)
    expect(await warning('key-warned')).toMatch(/^key budget 50% spent/)
  })

  test('names the lowest amount that the balance is below', async () => {
    const seen = [await warning('low'), await warning('low'), await warning('low')]
    expect(seen).toEqual([undefined, 'balance below 9.5', 'balance below 8.5'])
  })
})
