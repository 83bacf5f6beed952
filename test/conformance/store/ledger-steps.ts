/**
 * Random work on a ledger. Plain random arguments rarely repeat a call or settle an expired hold, so most steps
 * refer to earlier ones: the same call again, the same with another amount, the end of a hold.
 */
import fc from 'fast-check'
import type { Budget, Meter } from '../../../store/ledger/contract.ts'
import { EXPIRED_KEEP_MS } from '../../../store/ledger/expiry.ts'
import { KEEP_MS } from '../../../store/ledger/tombstones.ts'
import { CHECKPOINT, LEASE_MS, NOTE } from './fixtures.ts'
import { type Call, PERIOD_MS } from './ledger-model.ts'

export const ACCOUNTS = ['first', 'second'] as const
export const SUBS = ['s1', 's2'] as const
/** How far below zero each account and each sub-account may fall, in all commands. */
export const OVERDRAFT: Record<string, number> = { first: 0, second: 15 }
export const SUB_OVERDRAFT = 5
/** A credit that fits only a low balance; slightly more is still a valid amount. */
const NEARLY_ALL = Number.MAX_SAFE_INTEGER - 50
/** Terms of leaders: one that was replaced, and the current one. */
const EPOCHS = [3, 4]

/** A hold that a store granted. */
export interface Granted {
  account: string
  sub: string | undefined
  id: string
  reservedAt: number
  meters: readonly Meter[]
  budgets: readonly Budget[]
}

/** What steps can refer to. */
export interface Past {
  calls: readonly Call[]
  granted: readonly Granted[]
  /** The store's clock. */
  now: number
  /** The ids of an account's entries that were not removed, oldest first. */
  entryIds(account: string): readonly string[]
}

/** Turns a step into calls once its past is known; none if there is nothing to refer to. */
export type Step = (past: Past) => Call[]

/** Concurrent calls, or time that passes before them. */
export interface Round {
  waitMs: number
  steps: Step[]
}

const account = fc.constantFrom(...ACCOUNTS, ...ACCOUNTS, 'unknown')
const sub = fc.constantFrom(undefined, undefined, ...SUBS)
// Few ids, so that callers collide; both accounts use the same ones.
const id = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6')
const amount = fc.integer({ min: 0, max: 60 })
const enforced = fc.integer({ min: 0, max: 9 }).map((n) => n > 0)
const back = fc.nat(5)
const epoch = fc.constantFrom(3, 4, 4, 4, 4)
/** A leader that lost a reply sends its command again. */
const timesSent = fc.constantFrom(1, 1, 2)

const topup: fc.Arbitrary<Step> = fc
  .record({
    account,
    epoch,
    sub,
    id: fc.constantFrom('c1', 'c2', 'c3', 'c4'),
    amount: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: -40, max: 150 }) },
      { weight: 1, arbitrary: fc.constant(NEARLY_ALL) },
    ),
  })
  .map((command) => () => [{ type: 'topup', command }])

const adjust: fc.Arbitrary<Step> = fc
  .record({
    account,
    epoch,
    id: fc.constantFrom('a1', 'a2', 'a3', 'a4'),
    reason: fc.constant('operator' as const),
    changes: fc.uniqueArray(
      fc.record({
        sub,
        credited: fc.oneof(
          { weight: 4, arbitrary: fc.integer({ min: -20, max: 20 }) },
          { weight: 1, arbitrary: fc.constant(NEARLY_ALL) },
        ),
        spent: fc.integer({ min: -20, max: 20 }),
      }),
      { minLength: 1, maxLength: 2, selector: ({ sub }) => sub },
    ),
    ifEntries: fc.option(fc.nat(12), { nil: undefined, freq: 2 }),
  })
  .chain((command) => timesSent.map((times) => () => Array(times).fill({ type: 'adjust', command })))

const open: fc.Arbitrary<Step> = fc
  .record({
    account: fc.constantFrom(...ACCOUNTS, 'unknown'),
    epoch: fc.constantFrom(...EPOCHS),
    create: fc.constant(false),
  })
  .map((command) => () => [{ type: 'open', command }])

/** Limits that requests share: by requests, by tokens, by live holds. */
const meters = fc.record(
  {
    requests: fc.constant({ id: 'k/rm', most: 2, windowMs: 60_000, takes: 1 }),
    tokens: fc.nat(120).map((takes) => ({ id: 'k/tm', most: 80, windowMs: 45_000, takes })),
    live: fc.constant({ id: 'k/c', most: 1, windowMs: 0, takes: 1 }),
  },
  { requiredKeys: [] },
)
const limits = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: meters.map((some): Meter[] => Object.values(some)) },
)
/** Amounts that are spent now and then. */
export const BUDGETS: Record<string, number> = { 'k/month': 45, 'a/day/0f': 90 }
const budgetIds = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.subarray(Object.keys(BUDGETS)) },
)

/** As a proxy names them whose clock is wrong by less than a period. */
function budgetsAt(ids: readonly string[], now: number): Budget[] {
  const period = Math.floor(now / PERIOD_MS)
  const begins = [period * PERIOD_MS, (period + 1) * PERIOD_MS, (period + 2) * PERIOD_MS] as const
  return ids.map((id) => ({ id, most: BUDGETS[id] ?? 0, periods: begins }))
}

const reservation = fc
  .record({
    account,
    sub,
    id,
    amount,
    seen: fc.nat(5),
    enforced,
    leaseMs: fc.constantFrom(10_000, LEASE_MS),
    meters: limits,
    budgetIds,
    clockOffMs: fc.constantFrom(0, 0, 20_000, -20_000),
  })
  .map(({ budgetIds, clockOffMs, ...given }) => (now: number) => ({
    ...given,
    ...overdrafts(given.account),
    budgets: budgetsAt(budgetIds, now + clockOffMs),
    note: CHECKPOINT,
  }))

const reserve: fc.Arbitrary<Step> = reservation.map((at) => ({ now }) => [
  { type: 'reserve', command: at(now) },
])

const reap: fc.Arbitrary<Step> = fc
  .record({ account: fc.constantFrom(...ACCOUNTS), max: fc.constantFrom(0, 1, 2, 3, 100) })
  .map((given) => () => [{ type: 'reap', ...given }])

const extension = fc.record({
  seen: amount,
  amount: fc.constantFrom(0, 10, 60, 90, 150),
  enforced,
  leaseMs: fc.constant(LEASE_MS),
})

/** Renews some of the last holds, at most two of which are of one account. */
const renew: fc.Arbitrary<Step> = fc
  .array(fc.tuple(back, extension), { minLength: 1, maxLength: 3 })
  .map((several) => (past) => {
    const renewals = several.flatMap(([back, given]) => {
      const of = past.granted.at(-1 - back)
      if (of === undefined) return []
      const budgets = budgetsAt(
        of.budgets.map((budget) => budget.id),
        past.now,
      )
      return [{ ...of, ...given, ...overdrafts(of.account), budgets, note: CHECKPOINT }]
    })
    return [...Map.groupBy(renewals, (renewal) => renewal.account)].map(([account, own]) => ({
      type: 'renew',
      account,
      renewals: own.map(({ account: _, ...renewal }) => renewal),
    }))
  })

/** What a stream does at once; also a renewal of no hold or of another caller's. */
const reserveAndRenew: fc.Arbitrary<Step> = fc
  .tuple(reservation, extension)
  .map(([at, given]) => ({ now }) => {
    const command = at(now)
    const { account, ...terms } = { ...command, ...given }
    const renewal: Call = { type: 'renew', account, renewals: [{ ...terms, reservedAt: now }] }
    return [{ type: 'reserve', command }, renewal]
  })

const settle: fc.Arbitrary<Step> = fc
  .record({ back, actual: fc.oneof(fc.constant(0), amount, fc.constant(80)), used: fc.nat(150) })
  .map(({ back, actual, used }) => (past) => {
    const { meters = [], ...of } = past.granted.at(-1 - back) ?? {}
    if (!('id' in of)) return []
    const tokens = meters.filter(({ id }) => id === 'k/tm')
    const corrections = tokens.map(({ takes, ...meter }) => ({ ...meter, by: used - takes }))
    const budgets = budgetsAt(
      of.budgets.map((budget) => budget.id),
      past.now,
    )
    return [{ type: 'settle', command: { ...of, actual, corrections, budgets, note: NOTE } }]
  })

/** A settle of no hold or of another caller's. */
const settleBlindly: fc.Arbitrary<Step> = fc
  .record({
    account,
    sub,
    id,
    actual: amount,
    age: fc.constantFrom(0, 5_000, KEEP_MS, KEEP_MS + 1, 2 * KEEP_MS),
    budgetIds,
  })
  .map(({ age, budgetIds, ...given }) => ({ now }) => {
    const budgets = budgetsAt(budgetIds, now)
    return [{ type: 'settle', command: { ...given, reservedAt: now - age, budgets, note: NOTE } }]
  })

/** Without a journal, up to an entry that has left the store, or up to one of another account's. */
const trim: fc.Arbitrary<Step> = fc
  .record({
    account,
    of: fc.constantFrom(...ACCOUNTS),
    back: fc.option(back, { nil: undefined }),
    keepMs: fc.constantFrom(0, 1_000, LEASE_MS, KEEP_MS, EXPIRED_KEEP_MS),
  })
  .map(({ account, of, back, keepMs }) => ({ entryIds }) => {
    const upTo = back === undefined ? undefined : entryIds(of).at(-1 - back)
    return [{ type: 'trim', account, upTo, keepMs }]
  })

const repeat: fc.Arbitrary<Step> = back.map((back) => (past) => {
  const call = past.calls.at(-1 - back)
  return call === undefined ? [] : [call]
})

const contradict: fc.Arbitrary<Step> = back.map((back) => (past) => {
  const call = past.calls.at(-1 - back)
  switch (call?.type) {
    case 'topup':
      return [{ ...call, command: { ...call.command, amount: call.command.amount + 1 } }]
    case 'reserve':
      return [{ ...call, command: { ...call.command, amount: call.command.amount + 1 } }]
    case 'settle':
      return [{ ...call, command: { ...call.command, actual: call.command.actual + 1 } }]
    default:
      return []
  }
})

const step = fc.oneof(
  { weight: 2, arbitrary: topup },
  { weight: 2, arbitrary: adjust },
  { weight: 1, arbitrary: open },
  { weight: 3, arbitrary: reserve },
  { weight: 2, arbitrary: renew },
  { weight: 3, arbitrary: reserveAndRenew },
  { weight: 3, arbitrary: settle },
  { weight: 2, arbitrary: settleBlindly },
  { weight: 3, arbitrary: repeat },
  { weight: 2, arbitrary: contradict },
  { weight: 1, arbitrary: reap },
  { weight: 1, arbitrary: trim },
)

const work = fc.record({
  waitMs: fc.constantFrom(0, 0, 0, 1_000, 5_000, 10_000),
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
})
const everythingExpires = fc.record({
  waitMs: fc.constant(LEASE_MS),
  steps: fc
    .tuple(fc.oneof(settle, renew), settle)
    .map(([one, other]) => [
      () => ACCOUNTS.map((account) => ({ type: 'reap' as const, account, max: 100 })),
      one,
      other,
    ]),
})
const longPause = fc.record({
  waitMs: fc.constantFrom(60_000, KEEP_MS - LEASE_MS, KEEP_MS, KEEP_MS + 1, EXPIRED_KEEP_MS),
  steps: fc.array(fc.oneof(step, repeat, settle), { maxLength: 2 }),
})

export const rounds: fc.Arbitrary<Round[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: work },
    { weight: 2, arbitrary: everythingExpires },
    { weight: 1, arbitrary: longPause },
  ),
  { minLength: 1, maxLength: 50, size: 'max' },
)

function overdrafts(account: string) {
  return { overdraft: OVERDRAFT[account] ?? 0, subOverdraft: SUB_OVERDRAFT }
}
