/** The ledger in Redis compared with the one in memory: the same work, also at the edge of the safe integers. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Balance, Ledger } from '../../../store/ledger/contract.ts'
import { EXPIRED_KEEP_MS } from '../../../store/ledger/expiry.ts'
import { KEEP_MS } from '../../../store/ledger/tombstones.ts'
import { remoteRuns } from '../../harness/property-runs.ts'
import { createEmbedded } from './embedded.ts'
import { ACCOUNT, hold, LEASE_MS, NOTE, reservation } from './fixtures.ts'
import { type Call, comparable, namesOf, perform } from './ledger-model.ts'
import { type RedisLedgers, startRedisLedgers } from './redis-ledger.ts'
import type { StoreUnderTest } from './under-test.ts'

// FC_RUNS raises this.
const numRuns = remoteRuns(100)
const MOST = Number.MAX_SAFE_INTEGER

let redis: RedisLedgers
beforeAll(async () => {
  redis = await startRedisLedgers()
})
afterAll(() => redis.stop())

/** A call on a store whose clock started at `start`, after `waitMs`. */
interface Step {
  waitMs: number
  call(start: number): Call
}

const account = fc.constantFrom('first', 'first', 'first', 'second', 'unknown')
const SUBS = ['s-1', '2']
const BUDGETS = ['k/day', 'k/month', 'other']
const sub = fc.constantFrom(undefined, undefined, ...SUBS)
const id = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5')
const amount = fc.oneof(
  fc.nat(20),
  fc.constantFrom(0, 1, 2 ** 52 - 1, 2 ** 52, 2 ** 52 + 1, MOST - 20, MOST - 1, MOST, 10 ** 15),
)
const waitMs = fc.constantFrom(
  0,
  0,
  0,
  0,
  1,
  999,
  LEASE_MS - 1,
  LEASE_MS,
  KEEP_MS - LEASE_MS,
  KEEP_MS,
  KEEP_MS + 1,
  2 * KEEP_MS,
  EXPIRED_KEEP_MS,
)
const leaseMs = fc.constantFrom(0, 1_000, LEASE_MS)
const limits = {
  enforced: fc.boolean(),
  overdraft: amount,
  subOverdraft: fc.option(amount, { nil: undefined }),
  leaseMs,
}
/** Of any length, an end before its beginning included: a caller may be wrong. */
const time = fc.nat(3 * KEEP_MS)
const budgets = fc.uniqueArray(
  fc.record({ id: fc.constantFrom('k/day', 'k/month'), most: amount, periods: fc.tuple(time, time, time) }),
  { maxLength: 2, selector: ({ id }) => id },
)
type Budgets = typeof budgets extends fc.Arbitrary<infer T> ? T : never
const budgetsFrom = (start: number, several: Budgets) =>
  several.map(({ periods: [a, b, c], ...rest }) => ({
    ...rest,
    periods: [start + a, start + b, start + c] as const,
  }))
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('', 'a|b', '-', '0'))
const note = fc.record({
  reason: fc.constantFrom(...(['usage', 'estimate', 'input_only', 'checkpoint', 'unserved'] as const)),
  model: text,
  channel: text,
  key: fc.constant(NOTE.key),
  endpoint: fc.constantFrom('', 'chat'),
  tier: fc.constantFrom('', 'priority'),
  price: fc.constantFrom('', 'p1'),
  tokens: fc.dictionary(fc.constantFrom('input', 'output', 'images'), fc.nat()),
  flags: fc.array(fc.constantFrom('usage_clamped', 'unpriced_kind'), { maxLength: 2 }),
})
const epoch = fc.constantFrom(1, 2, 2, 2)
const signed = fc.tuple(amount, fc.boolean()).map(([of, negative]) => (negative ? -of : of))

const topup = fc
  .record({ account, epoch, sub, id: fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6'), amount: signed })
  .map((command) => () => ({ type: 'topup' as const, command }))
const half = signed.map((of) => Math.trunc(of / 2))
const adjust = fc
  .record({
    account,
    epoch,
    id: fc.constantFrom('a1', 'a2', 'a3'),
    reason: fc.constantFrom('restore' as const, 'operator' as const),
    text: fc.option(text, { nil: undefined }),
    changes: fc.uniqueArray(fc.record({ sub, credited: half, spent: half }), {
      selector: (one) => one.sub,
      maxLength: 3,
    }),
    // A number at random is nearly always another one.
    ifEntries: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.nat(9) },
    ),
    restoredTo: fc.option(fc.nat(3 * KEEP_MS), { nil: undefined }),
    budgets: fc.array(
      fc.record({ id: fc.constantFrom('k/day', 'other'), spent: signed, until: time, after: time }),
      {
        maxLength: 2,
      },
    ),
  })
  .map(({ restoredTo, budgets, ...rest }) => (start: number) => ({
    type: 'adjust' as const,
    command: {
      ...rest,
      budgets: budgets.map(({ until, after, ...by }) => ({
        ...by,
        until: start + until,
        after: start + after,
      })),
      restoredTo: restoredTo === undefined ? undefined : `${start + restoredTo}-0`,
    },
  }))
const reserve = fc
  .record({ account, sub, id, amount, seen: amount, ...limits, budgets, note })
  .map(({ budgets, ...rest }) => (start: number) => ({
    type: 'reserve' as const,
    command: { ...rest, budgets: budgetsFrom(start, budgets) },
  }))
const renewal = fc.record({ sub, id, seen: amount, amount, ...limits, budgets, note, since: fc.nat(KEEP_MS) })
const renew = fc
  .record({ account, several: fc.array(renewal, { minLength: 1, maxLength: 3 }) })
  .map(({ account, several }) => (start: number) => ({
    type: 'renew' as const,
    account,
    renewals: several.map(({ since, budgets, ...rest }) => ({
      ...rest,
      reservedAt: start + since,
      budgets: budgetsFrom(start, budgets),
    })),
  }))
const settle = fc
  .record({
    account,
    sub,
    id,
    actual: amount,
    since: fc.integer({ min: -KEEP_MS, max: 3 * KEEP_MS }),
    postedAs: fc.option(fc.nat(3 * KEEP_MS), { nil: undefined }),
    budgets,
    note,
  })
  .map(({ since, postedAs, budgets, ...rest }) => (start: number) => ({
    type: 'settle' as const,
    command: {
      ...rest,
      budgets: budgetsFrom(start, budgets),
      reservedAt: start + since,
      postedAs: postedAs === undefined ? undefined : `${start + postedAs}-0`,
    },
  }))
const reap = fc
  .record({ account, max: fc.constantFrom(0, 1, 100) })
  .map((given) => () => ({ type: 'reap' as const, ...given }))

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    waitMs,
    call: fc.oneof(
      { weight: 3, arbitrary: topup },
      { weight: 2, arbitrary: adjust },
      { weight: 5, arbitrary: reserve },
      { weight: 3, arbitrary: renew },
      { weight: 4, arbitrary: settle },
      { weight: 1, arbitrary: reap },
    ),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

test('the same work gives the same replies, balances and entries in both', async () => {
  const names = new Set<string>()
  const property = fc.asyncProperty(steps, async (work) => {
    const [ours, reference] = [
      await done(await redis.create(), work),
      await done(await createEmbedded(), work),
    ]
    expect(ours).toStrictEqual(reference)
    for (const name of reference.names) names.add(name)
  })
  await fc.assert(property, { numRuns })
  // Work that achieves nothing would be the same in any two.
  expect([...names]).toEqual(
    expect.arrayContaining([
      'topup OK',
      'topup LIMIT',
      'adjust OK',
      'adjust LIMIT',
      'reserve OK',
      'reserve NOFUNDS of account',
      'reserve NOFUNDS of sub',
      'reserve NOFUNDS of budget',
      'reserve OVER',
      'renew OK',
      'renew AGAIN',
      'renew GONE',
      'settle OK',
      'settle LATE',
      'settle LOST',
      'settle DUP',
      'reap some',
    ]),
  )
}, 300_000)

/** The results of the work, with times counted from the store's first. */
async function done({ store: { ledger }, advance, dispose }: StoreUnderTest, work: readonly Step[]) {
  try {
    const start = await firstTime(ledger)
    for (const account of ['first', 'second']) await ledger.open({ account, epoch: 1, create: true })
    const replies: unknown[] = []
    const names: string[] = []
    for (const { waitMs, call } of work) {
      if (waitMs > 0) await advance(waitMs)
      const made = call(start)
      const reply = await perform(ledger, made)
      names.push(...namesOf(made, reply))
      replies.push(sinceStart(comparable(made, reply), start))
    }
    const accounts = await Promise.all(
      ['first', 'second', 'unknown'].map(async (name) => ({
        balance: withoutIds(await ledger.balance(name, { subs: SUBS, budgets: BUDGETS }), start),
        entries: (await ledger.entries(name, undefined, 1_000)).map(({ id: _, postedAs, ...entry }) => ({
          ...entry,
          repeated: postedAs !== undefined,
        })),
      })),
    )
    return { replies, names, accounts }
  } finally {
    await dispose()
  }
}

async function firstTime(ledger: Ledger): Promise<number> {
  await ledger.open({ account: ACCOUNT, epoch: 1, create: true })
  return hold(ledger, reservation('r', 0, { enforced: false, leaseMs: 0 }))
}

/** Without the ids of entries, which contain the time. */
function withoutIds(balance: Balance | undefined, start: number) {
  if (balance === undefined) return undefined
  const { lastEntry, restoredTo } = balance
  const budgets = Object.entries(balance.budgets).map(([id, { until, after, ...sums }]) => ({
    ...{ id, ...sums },
    until: until - start,
    after: after - start,
  }))
  return { ...balance, budgets, lastEntry: lastEntry !== undefined, restoredTo: restoredTo !== undefined }
}

function sinceStart(reply: unknown, start: number): unknown {
  const hasTime = typeof reply === 'object' && reply !== null && 'reservedAt' in reply
  return hasTime ? { ...reply, reservedAt: Number(reply.reservedAt) - start } : reply
}
