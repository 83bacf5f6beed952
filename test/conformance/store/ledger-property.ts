import assert from 'node:assert/strict'
import fc from 'fast-check'
import { expect } from 'vitest'
import { spentIn } from '../../../store/ledger/budgets.ts'
import type { BudgetSums, Ledger, Sums } from '../../../store/ledger/contract.ts'
import { LEASE_MS, reservation, settlement } from './fixtures.ts'
import {
  type Call,
  comparable,
  LedgerModel,
  type ModelAccount,
  namesOf,
  perform,
  type Reply,
} from './ledger-model.ts'
import {
  ACCOUNTS,
  BUDGETS,
  type Granted,
  OVERDRAFT,
  type Round,
  rounds,
  SUB_OVERDRAFT,
  SUBS,
} from './ledger-steps.ts'
import type { CreateStore } from './under-test.ts'

/** How often each reply was given, such as `settle LATE`. */
type Tally = Map<string, number>

/** With fewer runs, chance alone may miss a rare reply. */
const ENOUGH_TO_TELL = 300

/** Every reply that work can get. */
const REPLIES = [
  'open OK',
  'open DUP',
  'open FENCED',
  'open NOACCT',
  'topup OK',
  'topup DUP',
  'topup CONFLICT',
  'topup LIMIT',
  'topup FENCED',
  'topup NOACCT',
  'adjust OK',
  'adjust DUP',
  'adjust CHANGED',
  'adjust LIMIT',
  'adjust FENCED',
  'adjust NOACCT',
  'reserve OK',
  'reserve DUP',
  'reserve OVER',
  'reserve CONFLICT',
  'reserve NOFUNDS of account',
  'reserve NOFUNDS of sub',
  'reserve NOFUNDS of budget',
  'reserve LIMITED',
  'reserve NOACCT',
  'renew OK',
  'renew NOFUNDS',
  'renew AGAIN',
  'renew GONE',
  'renew NOACCT',
  'settle OK',
  'settle DUP',
  'settle CONFLICT',
  'settle LATE',
  'settle LOST',
  'settle STALE',
  'settle NOACCT',
  'reap some',
  'reap nothing',
  'trim',
]

/**
 * The ledger answers random work as the model predicts, and its sums add up after every round. The calls of a round
 * are made at once; a store runs the calls of one client in their order. A property that never gets a reply proves nothing
 * about it: with enough runs to tell, each was given at least once in fifty.
 */
export async function checkLedger(create: CreateStore, numRuns: number): Promise<void> {
  const tally: Tally = new Map()
  const property = fc.asyncProperty(rounds, async (work) => {
    const { store, advance, dispose } = await create()
    try {
      await run(store.ledger, advance, work, tally)
    } finally {
      await dispose()
    }
  })
  await fc.assert(property, { numRuns })
  if (numRuns < ENOUGH_TO_TELL) return
  const rare = REPLIES.filter((reply) => (tally.get(reply) ?? 0) < numRuns / 50)
  expect(rare).toEqual([])
}

async function run(
  ledger: Ledger,
  advance: (ms: number) => Promise<void>,
  work: readonly Round[],
  tally: Tally,
): Promise<void> {
  const model = new LedgerModel(ACCOUNTS)
  const calls: Call[] = []
  const granted: Granted[] = []
  let now = await storeTime(ledger)

  const make = async (batch: readonly Call[]) => {
    const replies = await performAll(ledger, batch)
    const expected = batch.map((call) => model.perform(call, now))
    assert.deepEqual(
      batch.map((call, i) => comparable(call, replies[i] as Reply)),
      expected,
    )
    batch.forEach((call, i) => {
      const names = namesOf(call, replies[i] as Reply)
      for (const name of names) tally.set(name, (tally.get(name) ?? 0) + 1)
      if (call.type === 'reserve' && names[0] === 'reserve OK') {
        const { account, sub, id, meters = [], budgets = [] } = call.command
        granted.push({ account, sub, id, reservedAt: now, meters, budgets })
      }
    })
    calls.push(...batch)
    for (const account of model.accounts.values()) await checkAccount(ledger, account, now)
  }
  const entryIds = (account: string) => model.accounts.get(account)?.entryIds() ?? []
  const wait = async (ms: number) => {
    if (ms > 0) await advance(ms)
    now += ms
  }

  await make(
    ACCOUNTS.map((account): Call => ({ type: 'open', command: { account, epoch: 4, create: true } })),
  )
  await make(
    ACCOUNTS.flatMap((account): Call[] => [
      { type: 'topup', command: { account, epoch: 4, id: 'start', amount: 100 } },
      { type: 'topup', command: { account, epoch: 4, sub: SUBS[0], id: 'allowance', amount: 60 } },
    ]),
  )
  for (const { waitMs, steps } of work) {
    await wait(waitMs)
    await make(steps.flatMap((step) => step({ calls, granted, now, entryIds })))
  }

  // Only live holds were waiting to expire; then nothing is held.
  await wait(LEASE_MS)
  await make(ACCOUNTS.map((account): Call => ({ type: 'reap', account, max: 1_000 })))
  for (const account of ACCOUNTS) {
    const balance = await ledger.balance(account, { subs: SUBS })
    const held = [balance?.held, ...Object.values(balance?.subs ?? {}).map((sub) => sub.held)]
    assert(
      held.every((amount) => amount === 0),
      `held after all leases passed: ${held}`,
    )
  }
}

/**
 * Makes calls at once. A settle whose id is unknown and old is more than one command, so the calls after it wait for it.
 */
async function performAll(ledger: Ledger, batch: readonly Call[]): Promise<Reply[]> {
  const replies: Promise<Reply>[] = []
  for (const call of batch) {
    const reply = perform(ledger, call)
    replies.push(reply)
    if (call.type === 'settle') await reply
  }
  return Promise.all(replies)
}

async function checkAccount(ledger: Ledger, account: ModelAccount, now: number): Promise<void> {
  const balance = await ledger.balance(account.id, { subs: SUBS, budgets: Object.keys(BUDGETS) })
  assert(balance !== undefined)
  const entries = await ledger.entries(account.id, undefined, 10_000)
  assert.deepEqual(
    entries.map(({ kind, ref, sub, delta, adjusted }) => ({
      kind,
      ref,
      sub,
      delta,
      ...(kind === 'credit' && { credited: delta }),
      ...(adjusted && { credited: adjusted.credited }),
    })),
    account.kept().map(({ at: _, ...entry }) => entry),
  )
  assert.deepEqual(
    entries.map(({ id }) => id),
    account.entryIds(),
  )
  assert.equal(balance.entries, account.entries.length)
  const { lastEntry, journaled, trimmedTo } = balance
  assert.deepEqual({ lastEntry, journaled, trimmedTo }, account.marks())
  assert.equal(balance.epoch, account.epoch)
  checkSums(balance, account, undefined)
  for (const sub of SUBS) checkSums(balance.subs[sub] ?? { posted: 0, held: 0, credited: 0 }, account, sub)
  for (const budget of Object.keys(BUDGETS)) {
    const sums: BudgetSums | undefined = balance.budgets[budget]
    assert.equal(spentIn(sums, now), account.spent(budget, now))
    assert.equal(sums?.held ?? 0, account.heldIn(budget))
  }
  checkClosings(account)
}

function checkSums({ posted, held, credited }: Sums, account: ModelAccount, sub: string | undefined): void {
  // Every change of the balance has one entry, as was compared above.
  assert.equal(posted, account.posted(sub))
  assert.equal(credited, account.credited(sub))
  assert.equal(held, account.held(sub))
  assert(held >= 0)
  // Only spending without a hold may overdraw, never two concurrent callers.
  const overdraft = sub === undefined ? OVERDRAFT[account.id] : SUB_OVERDRAFT
  const explained = (overdraft ?? 0) + (account.uncovered.get(sub ?? '') ?? 0)
  assert(posted - held + explained >= 0, `${posted} posted, ${held} held, ${explained} explained`)
  for (const value of [posted, held, credited]) assert(Number.isSafeInteger(value) && !Object.is(value, -0))
}

/** A hold that has ended has one closing entry; only where an expiry was too early there are more. */
function checkClosings(account: ModelAccount): void {
  for (const { id, state, paid } of account.holds) {
    const own = account.entries.filter((entry) => entry.ref === id)
    if (state === 'gone') assert(own.length > 0, `${id} was settled and has no entry`)
    if (state === 'live' && paid !== undefined) assert(own.some(({ kind }) => kind === 'expire'))
  }
}

/** The store's clock, read with a hold that is voided at once. */
async function storeTime(ledger: Ledger): Promise<number> {
  const account = 'clock'
  await ledger.open({ account, epoch: 1, create: true })
  const reply = await ledger.reserve(reservation('r', 0, { account, enforced: false, leaseMs: 1 }))
  if (reply.reply !== 'OK') throw new Error(`reserve answered ${reply.reply}`)
  await ledger.settle(settlement('r', 0, reply.reservedAt, { account }))
  return reply.reservedAt
}
