import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { Budget, EntryNote, Ledger, Settle } from '../../store/ledger/contract.ts'
import { type Mark, markOf } from './mark.ts'
import { RestoreFailed, restoreAccount } from './restore.ts'

const ACCOUNT = 'a'
const SUBS = ['s', 't']
const LEASE_MS = 30_000
const NOTE: EntryNote = {
  ...{ model: 'm', channel: '', key: 'k', endpoint: 'chat', tier: '', price: '' },
  ...{ reason: 'usage', tokens: {}, flags: [], budgets: ['a/month'] },
}
/** All requests count in it. */
const BUDGET: Budget = { id: 'a/month', most: 1_000_000, periods: [0, 10_000_000_000, 20_000_000_000] }

/** What happens to the account, a second after the previous step. */
type Step =
  | { do: 'credit'; id: string; amount: number; sub?: string }
  | { do: 'reserve'; id: string; seen: number; sub?: string }
  | { do: 'settle'; id: string; actual: number; sub?: string }

/** A ledger that ran these steps, on a clock of its own. */
async function run(steps: readonly Step[]) {
  const clock = { now: 1_000_000 }
  const { ledger } = createEmbeddedStore({ now: () => clock.now })
  await ledger.open({ account: ACCOUNT, epoch: 1, create: true })
  const reservedAt = new Map<string, number>()
  const settles = new Map<string, Settle>()
  for (const step of steps) {
    clock.now += 1_000
    const { id, sub } = step
    if (step.do === 'credit') await ledger.topup({ account: ACCOUNT, epoch: 1, id, sub, amount: step.amount })
    else if (step.do === 'reserve') {
      await ledger.reserve(reservation(id, step.seen, sub))
      reservedAt.set(id, clock.now)
    } else {
      const settle = {
        account: ACCOUNT,
        sub,
        id,
        actual: step.actual,
        reservedAt: reservedAt.get(id) ?? 0,
        budgets: [BUDGET],
        note: NOTE,
      }
      const reply = await ledger.settle(settle)
      settles.set(id, 'entry' in reply ? { ...settle, postedAs: reply.entry } : settle)
    }
  }
  return { ledger, clock, reservedAt, settles }
}

function reservation(id: string, seen = 0, sub?: string) {
  const terms = { amount: 10, enforced: false, overdraft: 0, leaseMs: LEASE_MS }
  return { account: ACCOUNT, sub, id, seen, ...terms, budgets: [BUDGET], note: NOTE }
}

async function markAfter(steps: readonly Step[]): Promise<Mark> {
  const { ledger } = await run(steps)
  const credits = steps.flatMap((step) =>
    step.do === 'credit' ? [[step.id, { sub: step.sub, amount: step.amount }] as const] : [],
  )
  const balance = await ledger.balance(ACCOUNT, { subs: SUBS, budgets: [BUDGET.id] })
  if (balance === undefined) throw new Error('no account')
  return markOf(balance, Object.fromEntries(credits))
}

const sums = async (ledger: Ledger, sub?: string) => {
  const balance = await ledger.balance(ACCOUNT, { subs: SUBS })
  const own = sub === undefined ? balance : balance?.subs[sub]
  const { credited = 0, posted = 0, held = 0 } = own ?? {}
  return { credited, spent: credited - posted, held }
}

const spentOfBudget = async (ledger: Ledger) =>
  (await ledger.balance(ACCOUNT, { budgets: [BUDGET.id] }))?.budgets[BUDGET.id]

const HISTORY: Step[] = [
  { do: 'credit', id: 'default/c1', amount: 100 },
  { do: 'reserve', id: 'r1', seen: 1 },
  { do: 'settle', id: 'r1', actual: 7 },
  { do: 'credit', id: 'default/c2', amount: 50 },
  { do: 'reserve', id: 'r2', seen: 2 },
  { do: 'settle', id: 'r2', actual: 9 },
]

describe('an empty store', () => {
  test('gets credits and costs back, and its credits count as applied', async () => {
    const mark = await markAfter(HISTORY)
    const { ledger } = createEmbeddedStore()
    expect(await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark })).toBe('restored')
    expect(await sums(ledger)).toEqual({ credited: 150, spent: 16, held: 0 })
    const again = { account: ACCOUNT, epoch: 2, id: 'default/c1', amount: 100 }
    expect(await ledger.topup(again)).toEqual({ reply: 'DUP' })
  })

  test('gets budgets back, as far as their periods are not over', async () => {
    const mark = await markAfter(HISTORY)
    const restoredAt = async (now: number) => {
      const { ledger } = createEmbeddedStore({ now: () => now })
      await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark })
      return spentOfBudget(ledger)
    }
    const ends = { until: 10_000_000_000, after: 20_000_000_000 }
    expect(await restoredAt(9_999_999_000)).toEqual({ spent: 16, held: 0, ...ends })
    expect(await restoredAt(10_000_000_000)).toBeUndefined()
  })

  test('is not restored twice, wherever the first leader was interrupted', async () => {
    const mark = await markAfter(HISTORY)
    for (let calls = 0; calls < 12; calls++) {
      const { ledger } = createEmbeddedStore()
      let left = calls
      const dying = new Proxy(ledger, {
        get: (target, name: keyof Ledger) =>
          left-- > 0
            ? target[name]
            : () => {
                throw new Error('killed')
              },
      })
      await restoreAccount(dying, { account: ACCOUNT, epoch: 2, mark }).catch(() => undefined)
      await restoreAccount(ledger, { account: ACCOUNT, epoch: 3, mark })
      expect(await sums(ledger)).toEqual({ credited: 150, spent: 16, held: 0 })
    }
  })

  test('no request holds money until the account is opened again', async () => {
    const mark = await markAfter(HISTORY)
    const { ledger } = createEmbeddedStore()
    const replies: string[] = []
    const watched = new Proxy(ledger, {
      get(target, name: keyof Ledger) {
        const command = target[name] as (...args: unknown[]) => Promise<unknown>
        return async (...args: unknown[]) => {
          replies.push((await ledger.reserve({ ...reservation('x'), enforced: true })).reply)
          return command(...args)
        }
      },
    })
    await restoreAccount(watched, { account: ACCOUNT, epoch: 2, mark })
    expect(replies.length).toBeGreaterThan(5)
    expect(new Set(replies)).toEqual(new Set(['NOACCT']))
    await ledger.open({ account: ACCOUNT, epoch: 2, create: false })
    expect((await ledger.reserve(reservation('x'))).reply).toBe('OK')
  })

  test('an operator’s corrections come back', async () => {
    const { ledger } = await run(HISTORY)
    const changes = [{ credited: 20, spent: -3 }]
    await ledger.adjust({ account: ACCOUNT, epoch: 1, id: 'o', reason: 'operator', changes })
    const balance = await ledger.balance(ACCOUNT)
    const mark = markOf(balance ?? fail(), {
      'default/c1': { amount: 100 },
      'default/c2': { amount: 50 },
    })
    const empty = createEmbeddedStore().ledger
    await restoreAccount(empty, { account: ACCOUNT, epoch: 2, mark })
    expect(await sums(empty)).toEqual({ credited: 170, spent: 13, held: 0 })
  })
})

test('a leader whose checkpoint is older than the one that was restored takes nothing back', async () => {
  const { ledger: lost, clock, settles } = await run(HISTORY)
  const [older, newer] = [await markAfter(HISTORY.slice(0, 3)), await markAfter(HISTORY)]
  const { ledger } = createEmbeddedStore({ now: () => clock.now + 60_000 })
  expect(await lost.balance(ACCOUNT)).toBeDefined()
  await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark: newer })
  await restoreAccount(ledger, { account: ACCOUNT, epoch: 3, mark: older })
  expect(await sums(ledger)).toEqual({ credited: 150, spent: 16, held: 0 })
  for (const settle of settles.values()) expect(await ledger.settle(settle)).toMatchObject({ reply: 'DUP' })
  expect(await sums(ledger)).toEqual({ credited: 150, spent: 16, held: 0 })
})

test.each([
  ['the same checkpoint', HISTORY.length],
  ['an older one', 3],
])('no request is refused when another leader begins with %s', async (_what, steps) => {
  const { clock } = await run(HISTORY)
  const { ledger } = createEmbeddedStore({ now: () => clock.now + 60_000 })
  const mark = await markAfter(HISTORY)
  await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark })
  await ledger.open({ account: ACCOUNT, epoch: 2, create: false })
  const replies: string[] = []
  const watched = new Proxy(ledger, {
    get(target, name: keyof Ledger) {
      const command = target[name] as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        const reply = await command(...args)
        replies.push((await ledger.reserve(reservation(`after ${name} ${replies.length}`))).reply)
        return reply
      }
    },
  })
  const known = await markAfter(HISTORY.slice(0, steps))
  await restoreAccount(watched, { account: ACCOUNT, epoch: 3, mark: known })
  expect(replies.length).toBeGreaterThan(2)
  expect(new Set(replies)).toEqual(new Set(['OK']))
})

test('a store that has everything is left alone, also when it has more', async () => {
  const mark = await markAfter(HISTORY.slice(0, 3))
  const { ledger } = await run(HISTORY)
  const entries = (await ledger.balance(ACCOUNT))?.entries
  expect(await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark })).toBe('intact')
  expect((await ledger.balance(ACCOUNT))?.entries).toBe(entries)
})

test('a loss shows although new entries outnumber the lost ones', async () => {
  const mark = await markAfter(HISTORY)
  const { ledger, clock } = await run(HISTORY.slice(0, 3))
  clock.now += 60_000
  for (const id of ['n1', 'n2', 'n3', 'n4']) {
    await ledger.reserve(reservation(id))
    await ledger.settle({ account: ACCOUNT, id, actual: 1, reservedAt: clock.now, note: NOTE })
  }
  expect(await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark })).toBe('restored')
  expect(await sums(ledger)).toEqual({ credited: 150, spent: 20, held: 0 })
})

test('an older leader restores nothing', async () => {
  const mark = await markAfter(HISTORY)
  const { ledger } = createEmbeddedStore()
  await ledger.open({ account: ACCOUNT, epoch: 9, create: true })
  await ledger.topup({ account: ACCOUNT, epoch: 9, id: 'default/c9', amount: 1 })
  const restore = restoreAccount(ledger, { account: ACCOUNT, epoch: 8, mark })
  await expect(restore).rejects.toThrow(RestoreFailed)
})

/** Random histories of the account and its sub-accounts: credits, and requests that begin and end in any order. */
const history = fc
  .array(
    fc.tuple(
      fc.constantFrom('credit', 'begin', 'end'),
      fc.nat(50),
      fc.nat(9),
      fc.constantFrom(undefined, ...SUBS),
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map((plan) => {
    const steps: Step[] = []
    const open: { id: string; sub?: string }[] = []
    plan.forEach(([kind, amount, pick, sub], i) => {
      const of = sub === undefined ? {} : { sub }
      if (kind === 'credit') steps.push({ do: 'credit', id: `default/c${i}`, amount, ...of })
      else if (kind === 'begin') {
        open.push({ id: `r${i}`, ...of })
        steps.push({ do: 'reserve', id: `r${i}`, seen: amount % 5, ...of })
      } else {
        const [ended] = open.splice(pick % Math.max(1, open.length), 1)
        if (ended !== undefined) steps.push({ do: 'settle', ...ended, actual: amount })
      }
    })
    return steps
  })

test('an older copy ends with each credit and each cost once, whatever came between', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.nat(40),
      fc.nat(40),
      fc.boolean(),
      fc.array(fc.nat(40), { maxLength: 2 }),
      async (steps, a, b, early, restarts) => {
        const marked = Math.min(steps.length, Math.max(a, b))
        const copied = Math.min(marked, Math.min(a, b))
        const before = await run(steps)
        const mark = await markAfter(steps.slice(0, marked))
        const { ledger, clock } = await run(steps.slice(0, copied))
        clock.now = before.clock.now + 5_000

        const repeatSettles = async () => {
          for (const settle of before.settles.values()) await ledger.settle(settle)
        }
        /** By the first leader, and by later ones with checkpoints that are not newer. */
        const restore = async () => {
          await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark })
          for (const earlier of restarts) {
            const older = await markAfter(steps.slice(0, Math.min(marked, earlier)))
            await restoreAccount(ledger, { account: ACCOUNT, epoch: 2, mark: older })
          }
        }
        // Proxies repeat what the store may have lost, before the leader has seen the loss or after.
        if (early) await repeatSettles()
        await restore()
        if (!early) await repeatSettles()
        for (const step of steps)
          if (step.do === 'credit')
            await ledger.topup({
              account: ACCOUNT,
              epoch: 2,
              id: step.id,
              sub: step.sub,
              amount: step.amount,
            })
        // Requests in flight end as well.
        const ended: Step[] = []
        for (const step of steps) {
          const { id, sub } = step
          const reservedAt = before.reservedAt.get(id)
          if (step.do !== 'reserve' || reservedAt === undefined || before.settles.has(id)) continue
          await ledger.settle({
            ...{ account: ACCOUNT, sub, id, actual: 3, reservedAt, note: NOTE },
            budgets: [BUDGET],
          })
          ended.push({ do: 'settle', id, actual: 3, ...(sub !== undefined && { sub }) })
        }
        clock.now += 600_000
        await ledger.reap(ACCOUNT, 1_000)
        for (const part of [undefined, ...SUBS]) {
          let [credited, spent] = [0, 0]
          for (const step of [...steps, ...ended]) {
            if (step.do === 'credit' && step.sub === part) credited += step.amount
            if (step.do === 'settle' && (part === undefined || step.sub === part)) spent += step.actual
          }
          expect(await sums(ledger, part)).toEqual({ credited, spent, held: 0 })
          if (part === undefined && spent > 0)
            expect(await spentOfBudget(ledger)).toMatchObject({ spent, held: 0 })
        }
      },
    ),
    { numRuns: 300 },
  )
})

function fail(): never {
  throw new Error('no account')
}
