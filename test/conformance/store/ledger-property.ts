import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Ledger, LedgerEntry } from '../../../store/ledger/contract.ts'
import { LEASE_MS } from './fixtures.ts'
import { type Call, LedgerModel, type ModelAccount, perform, type Reply, sum } from './ledger-model.ts'
import { ACCOUNTS, type Granted, OVERDRAFT, type Round, rounds, SUB_OVERDRAFT, SUBS } from './ledger-steps.ts'
import type { CreateStore } from './suite.ts'

/** How often each reply was given, such as `settle LATE`. */
export type Tally = Map<string, number>

/**
 * The ledger answers random work as the model predicts, and its sums add up after every round. The calls of a round
 * are made at once; a store runs the calls of one client in their order.
 */
export function ledgerProperty(create: CreateStore, tally: Tally) {
  return fc.asyncProperty(rounds, async (work) => {
    const { store, advance, dispose } = await create()
    try {
      await run(store.ledger, advance, work, tally)
    } finally {
      await dispose()
    }
  })
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
    assert.deepEqual(replies.map(inOrder), expected.map(inOrder))
    batch.forEach((call, i) => {
      const reply = replies[i]
      if (reply === undefined) return
      const name = `${call.type} ${nameOf(reply)}`
      tally.set(name, (tally.get(name) ?? 0) + 1)
      if (call.type === 'reserve' && name === 'reserve OK') {
        const { account, sub, id } = call.command
        granted.push({ account, sub, id, reservedAt: now })
      }
    })
    calls.push(...batch)
    for (const account of model.accounts.values()) await checkAccount(ledger, account)
  }
  const wait = async (ms: number) => {
    if (ms > 0) await advance(ms)
    now += ms
  }

  for (const account of ACCOUNTS) await ledger.open(account)
  await make(
    ACCOUNTS.flatMap((account): Call[] => [
      { type: 'topup', command: { account, id: 'start', amount: 100 } },
      { type: 'topup', command: { account, sub: SUBS[0], id: 'allowance', amount: 60 } },
    ]),
  )
  for (const { waitMs, steps } of work) {
    await wait(waitMs)
    await make(steps.flatMap((step) => step({ calls, granted, now })))
  }

  // Only pending holds were waiting to expire; then nothing is held.
  const pending = [...model.accounts.values()].flatMap((a) => a.pending().map((hold) => `${a.id} ${hold.id}`))
  await wait(LEASE_MS)
  const reaped = await ledger.reap(undefined, 1_000)
  assert.deepEqual(reaped.map((r) => `${r.account} ${r.id}`).sort(), pending.sort())
  for (const account of ACCOUNTS) {
    const balance = await ledger.balance(account)
    const held = [balance?.held, ...Object.values(balance?.subs ?? {}).map((sub) => sub.held)]
    assert(
      held.every((amount) => amount === 0),
      `held after all leases passed: ${held}`,
    )
  }
}

/** Makes calls at once. A reap of all accounts is many commands, so the calls after it wait for it. */
async function performAll(ledger: Ledger, batch: readonly Call[]): Promise<Reply[]> {
  const replies: Promise<Reply>[] = []
  for (const call of batch) {
    const reply = perform(ledger, call)
    replies.push(reply)
    if (call.type === 'reap' && call.account === undefined) await reply
  }
  return Promise.all(replies)
}

async function checkAccount(ledger: Ledger, account: ModelAccount): Promise<void> {
  const balance = await ledger.balance(account.id)
  assert(balance !== undefined)
  const entries = await ledger.entries(account.id, undefined, 10_000)
  assert.deepEqual(
    entries.map(({ kind, ref, sub, delta }) => ({ kind, ref, sub, delta })),
    account.entries,
  )
  checkFunds(balance, account, undefined, entries)
  for (const sub of SUBS) checkFunds(balance.subs[sub] ?? { posted: 0, held: 0 }, account, sub, entries)
}

function checkFunds(
  { posted, held }: { posted: number; held: number },
  account: ModelAccount,
  sub: string | undefined,
  entries: readonly LedgerEntry[],
): void {
  // Every change of the balance has one entry; an allowance raises only its sub-account.
  const own = entries.filter((e) => (sub === undefined ? e.kind !== 'credit' || e.sub === '' : e.sub === sub))
  assert.equal(posted, sum(own.map((entry) => entry.delta)))
  assert.equal(held, account.held(sub))
  assert(held >= 0)
  // Only spending without a hold may overdraw, never two concurrent callers.
  const overdraft = sub === undefined ? OVERDRAFT[account.id] : SUB_OVERDRAFT
  const explained = (overdraft ?? 0) + (account.uncovered.get(sub ?? '') ?? 0)
  assert(posted - held + explained >= 0, `${posted} posted, ${held} held, ${explained} explained`)
  for (const value of [posted, held]) assert(Number.isSafeInteger(value) && !Object.is(value, -0))
}

/** The store's clock, read with a hold that is voided at once. */
async function storeTime(ledger: Ledger): Promise<number> {
  const account = 'clock'
  await ledger.open(account)
  const reply = await ledger.reserve({
    account,
    id: 'r',
    amount: 0,
    enforced: false,
    overdraft: 0,
    leaseMs: 1,
    about: { model: '', key: '' },
  })
  if (reply.reply !== 'OK') throw new Error(`reserve answered ${reply.reply}`)
  const note = { reason: 'usage' as const, model: '', channel: '', key: '', tokens: {} }
  await ledger.settle({ account, id: 'r', actual: 0, reservedAt: reply.reservedAt, note })
  return reply.reservedAt
}

/** Reaped holds in a fixed order: the order of accounts is not promised. */
function inOrder(reply: Reply): Reply {
  return Array.isArray(reply) ? reply.toSorted((a, b) => a.account.localeCompare(b.account)) : reply
}

function nameOf(reply: Reply): string {
  if (Array.isArray(reply)) return reply.length === 0 ? 'nothing' : 'some'
  return typeof reply === 'string' ? reply : reply.reply
}
