import { describe, expect, it } from 'vitest'
import type { AccountRecord, KeyRecord, RouteRecord } from '../../contract/table/records.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { Balance } from '../../store/ledger/contract.ts'
import { RoutingTable } from '../table/routing.ts'
import { published, testChannel, testRoute, testTable } from '../table/testing.ts'
import { explain, type Known, type Question } from './explain.ts'

const NOW = 1_800_000_000_000
const NEWEST = 1_799_999_999_999
const HASH = 'a'.repeat(64)
const DOLLAR = 1_000_000_000
const PRICE = {
  ...{ input: DOLLAR, cachedInput: DOLLAR, cacheWrite: DOLLAR, cacheWriteLong: DOLLAR, output: 2 * DOLLAR },
  ...{ perRequest: 0, perImage: 0, multipliers: {} },
}
const ALICE: KeyRecord = {
  ...{ version: 1, id: 'alice-id', namespace: 'default', name: 'alice', preview: '...wxyz', disabled: false },
  ...{ models: [], allowedIPs: [], account: 'team-id' },
}
const TEAM: AccountRecord = {
  ...{
    version: 1,
    id: 'team-id',
    namespace: 'default',
    name: 'team',
    disabled: false,
    enforced: true,
    overdraft: 0,
  },
}
const CHANNELS = {
  main: testChannel('main'),
  spare: testChannel('spare'),
  other: testChannel('other', 'embeddings'),
}

interface Given {
  key?: Partial<KeyRecord>
  account?: Partial<AccountRecord> | null
  balance?: Partial<Balance>
  route?: Partial<RouteRecord>
  /** By channel: when its ejection ends. */
  resting?: Record<string, number>
  full?: string[]
  question?: Partial<Question>
  away?: boolean
}

function ask({ key, account, balance, route, resting = {}, full = [], question, away }: Given) {
  const routes = [testRoute('gpt', { free: false, price: PRICE, ...route })]
  const table = new RoutingTable(published(testTable(routes, CHANNELS)))
  const record = async <R>(found: R): Promise<R> => {
    if (away) throw new StoreUnavailable('away')
    return found
  }
  const known: Known = {
    follower: {
      table,
      applied: { epoch: 1, generation: NEWEST },
      key: (hash) => record(hash === HASH ? { ...ALICE, ...key } : undefined),
      account: (id) => record(id === TEAM.id && account !== null ? { ...TEAM, ...account } : undefined),
    },
    health: {
      ejectedUntil: (channel) => resting[channel] ?? 0,
      isFull: (channel) => full.includes(channel),
    },
  }
  const sums = {
    posted: 5 * DOLLAR,
    held: 0,
    credited: 5 * DOLLAR,
    subs: {},
    budgets: {},
    levels: {},
    ...balance,
  }
  const no = undefined
  const noEntries = { entries: 0, lastEntry: no, journaled: no, trimmedTo: no, countedTo: no, restoredTo: no }
  const ledger = { balance: async () => ({ ...sums, ...noEntries, epoch: 1 }) }
  const whole = { keyHash: HASH, model: 'gpt', endpoint: 'chat', inputTokens: 1_000_000, ...question }
  return explain(known, ledger, whole, NOW)
}

it('names the newest generation in force, even if it did not change the table', async () => {
  expect((await ask({})).generation).toBe(NEWEST)
})

describe('the expected refusal', () => {
  const cases: [string, Given, number, string, RegExp][] = [
    ['an endpoint that is not served', { question: { endpoint: 'toString' } }, 404, 'not_found', /toString/],
    ['an unknown key', { question: { keyHash: 'b'.repeat(64) } }, 401, 'unauthorized', /no such key/],
    ['a disabled key', { key: { disabled: true } }, 401, 'unauthorized', /disabled/],
    ['an expired key', { key: { expiresAt: NOW } }, 401, 'unauthorized', /expired/],
    ['a missing account', { account: null }, 503, 'store_unavailable', /does not exist/],
    ['a disabled account', { account: { disabled: true } }, 403, 'account_disabled', /team/],
    [
      'a model that the key may not use',
      { key: { models: ['claude-*'] } },
      403,
      'model_not_allowed',
      /spec\.models/,
    ],
    ['an empty balance', { balance: { posted: 0 } }, 402, 'insufficient_balance', /used up/],
    ['no route', { question: { model: 'nope' } }, 502, 'upstream_error', /no ModelRoute/],
    ['no price', { route: { price: undefined } }, 502, 'upstream_error', /no price/],
    [
      'funds below the hold',
      { balance: { held: 4_999_999_999 } },
      402,
      'insufficient_balance',
      /do not cover/,
    ],
    ['every channel full', { full: ['default/main'] }, 502, 'upstream_error', /capacity/],
    ['a store that is away', { away: true }, 503, 'store_unavailable', /the key/],
  ]
  it.each(cases)('%s', async (_, given, status, code, reason) => {
    expect((await ask(given)).refusal).toEqual({ status, code, reason: expect.stringMatching(reason) })
  })

  it('is the first one, in the order in which requests are checked', async () => {
    const worst = { disabled: true, models: ['other'] }
    expect((await ask({ key: worst, account: { disabled: true } })).refusal?.code).toBe('unauthorized')
    expect((await ask({ key: { models: ['x'] }, account: { disabled: true } })).refusal?.code).toBe(
      'account_disabled',
    )
    expect((await ask({ key: { models: ['x'] }, balance: { posted: 0 } })).refusal?.code).toBe(
      'model_not_allowed',
    )
    // A client without money must not learn which models are served.
    const poor = { balance: { posted: 0 }, question: { model: 'nope' } }
    expect((await ask(poor)).refusal?.code).toBe('insufficient_balance')
  })

  it('is absent if all is in order, or nothing is enforced', async () => {
    expect((await ask({})).refusal).toBeUndefined()
    expect(
      (await ask({ account: { enforced: false }, balance: { posted: -DOLLAR } })).refusal,
    ).toBeUndefined()
    const unmetered = await ask({ key: { account: undefined } })
    expect([unmetered.refusal, unmetered.funds, unmetered.hold]).toEqual([undefined, undefined, undefined])
  })
})

describe('money', () => {
  it('holds the prompt at the input price and the output limit at the output price', async () => {
    const { hold, funds } = await ask({ question: { maxOutputTokens: 500_000 }, balance: { held: DOLLAR } })
    expect(hold).toEqual({ amount: '2', inputTokens: 1_000_000, outputTokens: 500_000 })
    expect(funds).toEqual({ available: '4', balance: '5', held: '1', overdraft: '0', enforced: true })
  })

  it('takes the limit of the route when the request has none', async () => {
    expect((await ask({ route: { maxOutputTokens: 7 } })).hold?.outputTokens).toBe(7)
  })
})

describe('candidates', () => {
  const targets = (...list: [channel: string, priority: number, weight: number][]) => ({
    targets: list.map(([channel, priority, weight]) => ({ channel, priority, weight })),
  })
  const shown = async (given: Given) =>
    (await ask(given)).candidates.map(({ channel, share, state }) => `${channel} ${share} ${state}`)

  it('are sorted by priority, then by weight, with the chance to be first', async () => {
    const route = targets(['spare', 1, 5], ['main', 0, 1], ['extra', 0, 3])
    expect(await shown({ route })).toEqual(['main 100 ready', 'spare 0 ready'])
    expect(await shown({ route: targets(['main', 0, 1], ['spare', 0, 3]) })).toEqual([
      'spare 75 ready',
      'main 25 ready',
    ])
  })

  it('that are ejected come after the others, and full ones last', async () => {
    const until = performance.now() + 60_000
    const route = targets(['main', 0, 1], ['spare', 1, 1])
    expect(await shown({ route, resting: { 'default/main': until } })).toEqual([
      'spare 100 ready',
      'main 0 resting',
    ])
    expect(await shown({ route, full: ['default/main'] })).toEqual(['spare 100 ready', 'main 0 full'])
    const { candidates } = await ask({
      route,
      resting: { 'default/main': until, 'default/spare': until + 1 },
    })
    expect(candidates.map(({ channel, share }) => [channel, share])).toEqual([
      ['main', 100],
      ['spare', 0],
    ])
    expect(candidates[0]?.restsForMs).toBeGreaterThan(30_000)
  })

  it('that cannot serve have a reason', async () => {
    const { candidates, refusal } = await ask({ route: targets(['main', 0, 0], ['other', 0, 1]) })
    expect(candidates).toMatchObject([
      { channel: 'main', state: 'not_eligible', reason: 'its weight is 0' },
      {
        channel: 'other',
        state: 'not_eligible',
        reason: 'the endpoint does not reach embeddings channels',
      },
    ])
    expect(refusal?.reason).toMatch(/no channel of the route/)
  })

  it('contain the upstream’s name of the model', async () => {
    const route = { model: 'up/*', targets: [{ channel: 'main', model: 'v-*', priority: 0, weight: 1 }] }
    expect((await ask({ route, question: { model: 'up/large' } })).candidates[0]?.model).toBe('v-large')
  })
})

it('an address list results in a note, not in a refusal', async () => {
  const { refusal, notes } = await ask({ key: { allowedIPs: ['192.0.2.0/24'] } })
  expect(refusal).toBeUndefined()
  expect(notes).toEqual([expect.stringContaining('192.0.2.0/24')])
})
