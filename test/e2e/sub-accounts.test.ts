/** A sub-account spends its own allowance and its parent's money; either is enough to refuse a request. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { balanceOf, lineOf } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

/** A key of each account, by its name. */
const keyOf = (name: string) => `sk-of-${name}-0123456789abcdef`
const PRICE = { perRequest: '1', input: '0', output: '0' }

/** Accounts of a tree each, with the dollars of their Credits. */
const TREES: Record<string, [parent: string | undefined, dollars: string | undefined, spec?: object]> = {
  company: [undefined, '10'],
  team: ['company', '2'],
  'team-without-credit': ['company', undefined],
  'team-on-credit': ['company', undefined, { overdraft: '1' }],
  poor: [undefined, '1'],
  'rich-team': ['poor', '5'],
  closed: [undefined, '5', { disabled: true }],
  'closed-team': ['closed', '5'],
  unlimited: [undefined, undefined, { enforcement: 'Unlimited' }],
  'unlimited-team': ['unlimited', undefined],
}

let upstream: ScriptedUpstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  const accounts = Object.entries(TREES).map(([name, [parent, dollars, spec]]) => {
    const of = parent === undefined ? {} : { parent: { name: parent } }
    return account(name, dollars, { ...of, ...spec }) + apiKey(name, keyOf(name), { accountRef: { name } })
  })
  gateway = await startGateway({
    'all.yaml':
      accounts.join('') + channel('main', upstream.baseURL) + route('m', 'm', ['main'], { price: PRICE }),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const ask = (name: string) =>
  call(`${gateway.base}/v1/chat/completions`, { body: chatBody('m'), headers: jsonHeaders(keyOf(name)) })

async function settled(name: string): Promise<void> {
  const answer = await ask(name)
  expect(answer.status).toBe(200)
  expect((await lineOf(gateway, answer)).settled).toBe('1')
}

describe('an allowance', () => {
  test('and the parent’s money are both spent, by the same amount', async () => {
    await settled('team')
    expect(await balanceOf(gateway, 'company')).toEqual({ balance: 9e9, held: 0 })
    expect(await balanceOf(gateway, 'team')).toEqual({ balance: 1e9, held: 0 })
  })

  test('that is used up refuses, however rich the parent is', async () => {
    await settled('team')
    expectError(await ask('team'), 402, 'insufficient_balance', null, 'insufficient_quota')
    await settled('company')
  })

  test('that was never credited is empty; an overdraft is one', async () => {
    expectError(await ask('team-without-credit'), 402, 'insufficient_balance', null, 'insufficient_quota')
    await settled('team-on-credit')
    expectError(await ask('team-on-credit'), 402, 'insufficient_balance', null, 'insufficient_quota')
  })

  test('does not help when the parent’s money is used up', async () => {
    await settled('rich-team')
    expectError(await ask('rich-team'), 402, 'insufficient_balance', null, 'insufficient_quota')
    expectError(await ask('poor'), 402, 'insufficient_balance', null, 'insufficient_quota')
  })
})

test('a sub-account of a disabled account is disabled', async () => {
  expectError(await ask('closed-team'), 403, 'account_disabled')
})

test('a sub-account of an unlimited account is never refused, and both are counted', async () => {
  await settled('unlimited-team')
  for (const name of ['unlimited', 'unlimited-team'])
    expect(await balanceOf(gateway, name)).toEqual({ balance: -1e9, held: 0 })
})
