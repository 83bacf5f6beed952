import { beforeEach, describe, expect, it } from 'vitest'
import { objectId } from '../../contract/ids.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import type { Compiled, Recorded } from '../snapshot.ts'
import { CreditApplier } from './credits.ts'

const TEAM = objectId('default', 'team')
const NEW = objectId('default', 'new')
const NOW = 1_700_000_000_000

const account = (name: string): [string, AccountRecord] => {
  const id = objectId('default', name)
  const record = { version: 1 as const, id, namespace: 'default', name, disabled: false }
  return [id, { ...record, enforced: true, overdraft: 0 }]
}
const money = (...credits: [id: string, amount: number][]): Pick<Compiled, 'accounts' | 'credits'> => ({
  accounts: new Map([account('team'), account('new')]),
  credits: credits.map(([id, amount]) => ({ id, account: TEAM, amount })),
})

let ledger: Ledger
let topups: string[]
let opened: string[]

beforeEach(() => {
  topups = []
  opened = []
  wipe()
})

/** Replaces the ledger by an empty one. */
function wipe(): void {
  const fresh = createEmbeddedStore().ledger
  ledger = {
    ...fresh,
    async topup(command) {
      topups.push(command.id)
      return fresh.topup(command)
    },
    async open(id) {
      opened.push(id)
      return fresh.open(id)
    },
  }
}

function applier(recorded?: Partial<Record<string, { credited: number; spent: number } | number>>) {
  const log = { info() {}, warn() {}, error() {} }
  const words: Recorded = {
    account(name) {
      const found = recorded?.[name]
      return typeof found === 'object' ? found : undefined
    },
    credit(name) {
      const found = recorded?.[name]
      return typeof found === 'number' ? { outcome: 'applied', appliedAt: found } : undefined
    },
  }
  const facade: Ledger = {
    open: (id) => ledger.open(id),
    topup: (command) => ledger.topup(command),
    reserve: (command) => ledger.reserve(command),
    renew: (command) => ledger.renew(command),
    settle: (command) => ledger.settle(command),
    reap: (id, max) => ledger.reap(id, max),
    balance: (id) => ledger.balance(id),
    entries: (id, after, count) => ledger.entries(id, after, count),
  }
  return new CreditApplier({ ledger: facade, log, now: () => NOW, recorded: words })
}

const spend = async (amount: number) => {
  const note = { reason: 'usage' as const, model: 'm', channel: 'c', key: 'k', tokens: {} }
  const hold = { account: TEAM, id: `r${amount}`, amount, enforced: true, overdraft: 0, leaseMs: 60_000 }
  await ledger.reserve({ ...hold, about: { model: 'm', key: 'k' } })
  await ledger.settle({ account: TEAM, id: hold.id, actual: amount, reservedAt: Date.now(), note })
}

describe('a ledger that was wiped', () => {
  it('gets no credit again: accounts that had credits stay closed, new ones open', async () => {
    const credits = applier()
    await credits.apply(money(['default/one', 7]))
    wipe()
    topups = []
    opened = []
    const applied = await credits.reassert(money(['default/one', 7]))
    expect([...applied.lost]).toEqual([TEAM])
    expect(opened).toEqual([NEW])
    expect(topups).toEqual([])
    await credits.apply(money(['default/one', 7], ['default/two', 5]))
    expect(await ledger.balance(TEAM)).toBeUndefined()
    expect(applied.funds.get(NEW)?.balance).toBe(0)
  })

  it.each([
    [{ 'default/team': { credited: 7, spent: 0 } }],
    [{ 'default/team': { credited: 0, spent: 3 } }],
    [{ 'default/one': NOW - 5 }],
  ])('is recognised by the recorded statuses: %o', async (recorded) => {
    const credits = applier(recorded)
    await credits.apply(money(['default/one', 7], ['default/two', 5]))
    const { lost } = await credits.reassert(money(['default/one', 7], ['default/two', 5]))
    expect([...lost]).toEqual([TEAM])
    expect(await ledger.balance(TEAM)).toBeUndefined()
  })

  it('refuses a new credit because the account is closed', async () => {
    const credits = applier({ 'default/team': { credited: 7, spent: 0 } })
    await credits.verify(money(['default/two', 5]))
    const { applied } = await credits.apply(money(['default/two', 5]))
    expect(applied.results.get('default/two')).toEqual({ outcome: 'closed' })
    expect(topups).toEqual([])
    await ledger.open(TEAM)
    await credits.verify(money(['default/two', 5]))
    const restored = await credits.apply(money(['default/two', 5]))
    expect(restored.applied.results.get('default/two')).toEqual({ outcome: 'applied', appliedAt: NOW })
  })

  it('has an account again once it is restored', async () => {
    const credits = applier({ 'default/team': { credited: 7, spent: 2 } })
    expect((await credits.verify(money())).lost.has(TEAM)).toBe(true)
    await ledger.open(TEAM)
    await ledger.topup({ account: TEAM, id: 'restored', amount: 5 })
    const { lost, funds } = await credits.verify(money())
    expect(lost.size).toBe(0)
    expect(funds.get(TEAM)).toEqual({ balance: 5, held: 0, credited: 7, spent: 2 })
  })

  it('opens an account that never had money', async () => {
    const credits = applier({ 'default/team': { credited: 0, spent: 0 } })
    await credits.apply(money())
    wipe()
    const { lost } = await credits.reassert(money())
    expect(lost.size).toBe(0)
    expect((await ledger.balance(TEAM))?.posted).toBe(0)
  })
})

describe('a process that starts again', () => {
  it('makes no calls for recorded results, and reasserts them without a difference', async () => {
    await applier().apply(money(['default/one', 7]))
    topups = []
    opened = []
    const recorded = { 'default/team': { credited: 7, spent: 0 }, 'default/one': NOW - 5 }
    const credits = applier(recorded)
    const { applied } = await credits.apply(money(['default/one', 7]))
    expect(topups).toEqual([])
    expect(opened).toEqual([NEW])
    expect(applied.results.get('default/one')).toEqual({ outcome: 'applied', appliedAt: NOW - 5 })
    const again = await credits.reassert(money(['default/one', 7]))
    expect(topups).toEqual(['default/one'])
    expect(again.results.get('default/one')).toEqual({ outcome: 'applied', appliedAt: NOW - 5 })
    expect(again.funds.get(TEAM)).toEqual({ balance: 7, held: 0, credited: 7, spent: 0 })
  })

  it('continues after a process that died between the ledger and the status', async () => {
    await applier().apply(money(['default/one', 7]))
    await spend(2)
    // Nothing was recorded, but the account exists in the ledger, and its credit is not applied twice.
    const credits = applier()
    await credits.apply(money(['default/one', 7]))
    const { funds, lost } = await credits.reassert(money(['default/one', 7]))
    expect(lost.size).toBe(0)
    expect(funds.get(TEAM)?.balance).toBe(5)
    // The status must keep this, or a wiped ledger would get the credit again.
    expect(credits.applied(money(['default/one', 7])).results.get('default/one')).toEqual({
      outcome: 'already',
      appliedAt: NOW,
    })
  })

  it.each([
    ['under another uid', [{ id: 'default/one', account: TEAM, amount: 7, uid: 'new' }]],
    ['after it was gone', []],
  ])('reports that the ledger already has a re-created credit: %s', async (_, next) => {
    const credits = applier()
    const first = { id: 'default/one', account: TEAM, amount: 7, uid: 'old' }
    const outcome = async (wanted: Compiled['credits']) =>
      (await credits.apply({ ...money(), credits: wanted })).applied.results.get('default/one')?.outcome
    expect(await outcome([first])).toBe('applied')
    await outcome(next)
    expect(await outcome([{ ...first, uid: 'new' }])).toBe('already')
    expect((await credits.verify(money())).funds.get(TEAM)?.balance).toBe(7)
  })

  it('counts deleted credits, and a credit that was applied but not recorded', async () => {
    await applier().apply(money(['default/gone', 7], ['default/late', 10]))
    await spend(3)
    // Recorded before the second credit was applied.
    const credits = applier({ 'default/team': { credited: 7, spent: 3 } })
    await credits.apply(money(['default/late', 10], ['default/new', 1]))
    const { funds } = await credits.verify(money(['default/late', 10], ['default/new', 1]))
    expect(funds.get(TEAM)).toEqual({ balance: 15, held: 0, credited: 18, spent: 3 })
  })
})
