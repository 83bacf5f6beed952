/** Prices, balances and holds: charges and refusals, and that the log agrees with the balances. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bearer, chat, errorIn } from '../harness/chat-client.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, jsonHeaders } from '../harness/http.ts'
import { balanceOf, lineOf, logged, metric, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, documents, route } from '../harness/resources.ts'
import {
  chatAnswer,
  completion,
  json,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const UNMETERED = 'sk-money-of-an-unmetered-key'

/** Credits of each account, in dollars; its key is named after it. */
const CREDITS: Record<string, string[]> = {
  hundred: ['1.00'],
  rich: ['1000'],
  empty: [],
  unlimited: [],
  overdrawn: [],
  debited: ['0.03', '-0.02'],
  two: ['0.015'],
}
const SPECS: Record<string, object> = {
  unlimited: { enforcement: 'Unlimited' },
  overdrawn: { overdraft: '0.02' },
}
const keyOf = (name: string) => `sk-money-of-the-account-${name}`

const FLAT = { perRequest: '0.01' }
const PRICES: Record<string, object> = {
  flat: { price: FLAT },
  tokens: {
    price: { input: '2.50', cachedInput: '1.25', cacheWrite: '3.125', output: '10.00', perRequest: '0.001' },
  },
  tiny: { price: { input: '0.0001', output: '0.0001' } },
  unreported: { price: { input: '0.0001', output: '0.0001' } },
  tiers: { price: { ...FLAT, multipliers: { priority: '2', flex: '0.5' } } },
  free: { free: true },
  unpriced: { free: false },
}

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway({
    'all.yaml':
      channel('upstream', upstream.baseURL) +
      Object.entries(PRICES)
        .map(([name, spec]) => route(name, name, ['upstream'], { ...spec, retry: { attempts: 1 } }))
        .join('') +
      apiKey('unmetered', UNMETERED) +
      Object.entries(CREDITS)
        .map(
          ([name, amounts]) =>
            apiKey(name, keyOf(name), { accountRef: { name } }) +
            account(name, undefined, SPECS[name]) +
            documents(...amounts.map((amount, i) => credit(`${name}-${i}`, name, amount))),
        )
        .join(''),
  })
})

const credit = (name: string, accountName: string, amount: string) => ({
  apiVersion: 'sluice.dev/v1alpha1',
  kind: 'Credit',
  metadata: { name },
  spec: { accountRef: { name: accountName }, amount },
})

afterEach(() => upstream.answer(chatAnswer()))

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const ask = (who: string, model: string, more: object = {}) =>
  chat(gateway.base, bearer(who), chatBody(model, more))

/** Cost, in nano-dollars, hold and settle reason of one request of the rich account. */
async function costOf(model: string, more: object = {}) {
  const answer = await ask(keyOf('rich'), model, more)
  expect(answer.status).toBe(200)
  const { settled, reason, hold } = await lineOf(gateway, answer)
  return { cost: nanos(settled ?? 'none'), reason, hold: nanos(hold ?? 'none') }
}

const answersWith =
  (usage: object | null, more: object = {}, content = 'Hello there'): Script =>
  (_, res) =>
    json(res, 200, { ...completion('any', content, usage), ...more })

describe('1,000 concurrent requests with funds for 100', () => {
  it('serves exactly 100 and refuses 900', async () => {
    // No answer is sent before 900 are refused, so all served requests are in flight at once.
    const refusals = Promise.withResolvers<void>()
    const before = upstream.calls.length
    upstream.answer(async (received, res) => {
      await refusals.promise
      await chatAnswer()(received, res)
    })
    let refused = 0
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async () => {
        const answer = await ask(keyOf('hundred'), 'flat')
        if (answer.status !== 200 && ++refused === 900) refusals.resolve()
        return answer
      }),
    )
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(200), count(402)]).toEqual([100, 900])
    const codes = answers.filter(({ status }) => status === 402).map(({ text }) => errorIn(text).code)
    expect(new Set(codes)).toEqual(new Set(['insufficient_balance']))
    expect(upstream.calls.length - before).toBe(100)
    await until(
      async () => (await balanceOf(gateway, 'hundred')).held === 0,
      'all holds of the account to be settled',
    )
    expect(await balanceOf(gateway, 'hundred')).toEqual({ balance: 0, held: 0 })
  })
})

describe('prices', () => {
  it('prices cached, written and plain input separately, and adds the price per request', async () => {
    const details = { cached_tokens: 300, cache_write_tokens: 200 }
    upstream.answer(
      answersWith({ prompt_tokens: 1_000, completion_tokens: 50, prompt_tokens_details: details }),
    )
    // (500 × 2.50 + 300 × 1.25 + 200 × 3.125 + 50 × 10) / 1,000,000 + 0.001
    expect(await costOf('tokens')).toMatchObject({ cost: nanos('0.00375'), reason: 'usage' })
  })

  it('rounds up once per request', async () => {
    // Three tokens of 0.1 nano-dollars each.
    upstream.answer(answersWith({ prompt_tokens: 2, completion_tokens: 1 }))
    expect((await costOf('tiny')).cost).toBe(1)
    // 11 × 0.1 nano-dollars.
    upstream.answer(answersWith({ prompt_tokens: 10, completion_tokens: 1 }))
    expect((await costOf('tiny')).cost).toBe(2)
  })

  it('accepts an explicit usage of zero', async () => {
    upstream.answer(answersWith({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }))
    expect(await costOf('tiny')).toMatchObject({ cost: 0, reason: 'usage' })
  })

  it('estimates usage that an upstream does not report', async () => {
    upstream.answer(answersWith(null, {}, 'x'.repeat(4_000)))
    // 8 bytes of prompt and 4,000 of answer, four per token, at 0.1 nano-dollars, rounded up.
    const messages = [{ role: 'user', content: '12345678' }]
    expect(await costOf('unreported', { messages })).toMatchObject({ cost: 101, reason: 'estimate' })
  })

  it.each<[string, string | undefined, string | undefined, string, string]>([
    ['requested and served', 'priority', 'priority', '0.02', '0.02'],
    ['requested, served at the normal tier', 'priority', 'default', '0.01', '0.02'],
    ['served without a request', undefined, 'priority', '0.02', '0.01'],
    ['cheaper: the hold assumes the normal price', 'flex', 'flex', '0.005', '0.01'],
    ['cheaper, but not served', 'flex', 'default', '0.01', '0.01'],
    ['not reported: charged as requested', 'priority', undefined, '0.02', '0.02'],
    ['left to the upstream', 'auto', 'default', '0.01', '0.01'],
    ['named like a built-in of the language', 'constructor', 'toString', '0.01', '0.01'],
  ])('tier %s', async (_, requested, served, cost, hold) => {
    upstream.answer(answersWith({ prompt_tokens: 1, completion_tokens: 1 }, { service_tier: served }))
    const more = requested === undefined ? {} : { service_tier: requested }
    expect(await costOf('tiers', more)).toMatchObject({ cost: nanos(cost), hold: nanos(hold) })
  })

  it('refuses a costlier tier without a multiplier to paying accounts', async () => {
    for (const [model, tier] of [
      ['flat', 'priority'],
      ['tiers', 'fast'],
    ] as const) {
      const answer = await ask(keyOf('rich'), model, { service_tier: tier })
      expect([answer.status, errorIn(answer.text).param]).toEqual([400, 'service_tier'])
      expect((await ask(UNMETERED, model, { service_tier: tier })).status).toBe(200)
      expect((await ask(keyOf('unlimited'), model, { service_tier: tier })).status).toBe(200)
    }
  })

  it.each([500, 401, 400])('charges nothing for a %i of the upstream', async (status) => {
    const before = await balanceOf(gateway, 'rich')
    upstream.answer((_, res) => json(res, status, { error: { message: 'no', usage: { prompt_tokens: 9 } } }))
    const answer = await ask(keyOf('rich'), 'flat')
    expect(answer.status).toBe(status === 400 ? 400 : 502)
    expect((await lineOf(gateway, answer)).settled ?? '0').toBe('0')
    expect(await balanceOf(gateway, 'rich')).toEqual({ balance: before.balance, held: 0 })
  })
})

describe('who may spend', () => {
  const outcomes = async (who: string, model: string, times: number) => {
    const statuses: number[] = []
    for (let i = 0; i < times; i++) {
      const answer = await ask(who, model)
      statuses.push(answer.status)
      // The next request sees the balance after this one.
      await lineOf(gateway, answer)
    }
    return statuses
  }

  it('requires positive funds for a free model and charges nothing', async () => {
    const before = await balanceOf(gateway, 'rich')
    expect(await outcomes(keyOf('rich'), 'free', 2)).toEqual([200, 200])
    expect(await balanceOf(gateway, 'rich')).toEqual(before)
    expect(await outcomes(keyOf('empty'), 'free', 1)).toEqual([402])
  })

  it('spends an overdraft, and no more', async () => {
    expect(await outcomes(keyOf('overdrawn'), 'flat', 3)).toEqual([200, 200, 402])
    expect((await balanceOf(gateway, 'overdrawn')).balance).toBe(nanos('-0.02'))
  })

  it('debits a negative credit', async () => {
    expect(await outcomes(keyOf('debited'), 'flat', 2)).toEqual([200, 402])
    expect((await balanceOf(gateway, 'debited')).balance).toBe(0)
  })

  it('keeps a balance that does not cover the next request', async () => {
    expect(await outcomes(keyOf('two'), 'flat', 2)).toEqual([200, 402])
    expect((await balanceOf(gateway, 'two')).balance).toBe(nanos('0.005'))
    expect(await outcomes(keyOf('two'), 'free', 1)).toEqual([200])
  })

  it('charges an unlimited account and never refuses it', async () => {
    const before = await balanceOf(gateway, 'unlimited')
    expect(await outcomes(keyOf('unlimited'), 'flat', 3)).toEqual([200, 200, 200])
    expect((await balanceOf(gateway, 'unlimited')).balance).toBe(before.balance - nanos('0.03'))
  })

  it('neither serves nor lists a model without a price to paying accounts', async () => {
    const models = async (who: string) => {
      const { text } = await call(`${gateway.base}/v1/models`, { headers: jsonHeaders(who) })
      const list = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(JSON.parse(text))
      return list.data.map(({ id }) => id)
    }
    const one = (who: string): Promise<Answer> =>
      call(`${gateway.base}/v1/models/unpriced`, { headers: jsonHeaders(who) })
    const refused = await ask(keyOf('rich'), 'unpriced')
    expect([refused.status, errorIn(refused.text).code]).toEqual([502, 'upstream_error'])
    expect((await lineOf(gateway, refused)).outcome).toBe('unpriced')
    expect(await models(keyOf('rich'))).not.toContain('unpriced')
    expect((await one(keyOf('rich'))).status).toBe(404)
    for (const who of [UNMETERED, keyOf('unlimited')]) {
      expect((await ask(who, 'unpriced')).status).toBe(200)
      expect(await models(who)).toContain('unpriced')
      expect((await one(who)).status).toBe(200)
    }
  })
})

describe('balances', () => {
  it('equal the credits minus the settled amounts in the request log, for every account', async () => {
    await until(async () => (await metric(gateway, 'sluice_holds')) === 0, 'all holds to be settled')
    await until(async () => (await metric(gateway, 'sluice_requests_in_flight')) === 0, 'all requests to end')
    for (const [name, amounts] of Object.entries(CREDITS)) {
      const credited = amounts.reduce((sum, amount) => sum + nanos(amount), 0)
      const settled = logged(gateway)
        .filter((entry) => entry.account === name)
        .reduce((sum, entry) => sum + nanos(entry.settled ?? '0'), 0)
      expect({ name, ...(await balanceOf(gateway, name)) }).toEqual({
        name,
        balance: credited - settled,
        held: 0,
      })
    }
  })
})
