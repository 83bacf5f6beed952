import { beforeEach, describe, expect, it } from 'vitest'
import { objectId } from '../../contract/ids.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { EntryNote, Ledger } from '../../store/ledger/contract.ts'
import { Checkpoints } from '../books/checkpoints.ts'
import type { Marks } from '../books/mark.ts'
import type { Compiled, Recorded } from '../snapshot.ts'
import { CreditApplier } from './credits.ts'

const TEAM = objectId('default', 'team')
const NEW = objectId('default', 'new')
const NOW = 1_700_000_000_000
const EPOCH = 3

const account = (name: string): [string, AccountRecord] => {
  const id = objectId('default', name)
  const record = { version: 1 as const, id, namespace: 'default', name, disabled: false }
  return [id, { ...record, enforced: true, overdraft: 0 }]
}
const money = (
  ...credits: [id: string, amount: number][]
): Pick<Compiled, 'accounts' | 'credits' | 'keys'> => ({
  keys: new Map(),
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
    async open(command) {
      const reply = await fresh.open(command)
      if (reply === 'OK') opened.push(command.account)
      return reply
    },
  }
}

function applier(
  recorded?: Partial<Record<string, { credited: number; spent: number } | number>>,
  mayCreate?: () => Promise<boolean>,
) {
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
  const facade = new Proxy({} as Ledger, {
    get: (_, command: keyof Ledger) => ledger[command],
  })
  return new CreditApplier({ ledger: facade, log, now: () => NOW, recorded: words, mayCreate })
}

const spend = async (amount: number, sub?: string) => {
  const about = { model: 'm', channel: 'c', key: 'k', endpoint: 'chat', tier: '', price: '' }
  const note: EntryNote = { ...about, reason: 'usage', tokens: {}, flags: [] }
  const terms = { account: TEAM, sub, id: `r${amount}`, amount, seen: 0, enforced: true, overdraft: 0 }
  await ledger.reserve({ ...terms, leaseMs: 60_000, note })
  await ledger.settle({ account: TEAM, sub, id: terms.id, actual: amount, reservedAt: Date.now(), note })
}

const open = () => ledger.open({ account: TEAM, epoch: EPOCH, create: true })

describe('a ledger that was wiped', () => {
  it('gets no credit again: accounts that had credits stay closed, new ones open', async () => {
    const credits = applier()
    await credits.apply(money(['default/one', 7]), EPOCH)
    wipe()
    topups = []
    opened = []
    const applied = await credits.reassert(money(['default/one', 7]))
    expect([...applied.lost]).toEqual([TEAM])
    expect(opened).toEqual([NEW])
    expect(topups).toEqual([])
    await credits.apply(money(['default/one', 7], ['default/two', 5]), EPOCH)
    expect(await ledger.balance(TEAM)).toBeUndefined()
    expect(applied.funds.get(NEW)?.balance).toBe(0)
  })

  it.each([
    [{ 'default/team': { credited: 7, spent: 0 } }],
    [{ 'default/team': { credited: 0, spent: 3 } }],
    [{ 'default/one': NOW - 5 }],
  ])('is recognised by the recorded statuses: %o', async (recorded) => {
    const credits = applier(recorded)
    await credits.apply(money(['default/one', 7], ['default/two', 5]), EPOCH)
    const { lost } = await credits.reassert(money(['default/one', 7], ['default/two', 5]))
    expect([...lost]).toEqual([TEAM])
    expect(await ledger.balance(TEAM)).toBeUndefined()
  })

  it('refuses a new credit because the account is closed', async () => {
    const credits = applier({ 'default/team': { credited: 7, spent: 0 } })
    await credits.read(money(['default/two', 5]))
    const { applied } = await credits.apply(money(['default/two', 5]), EPOCH)
    expect(applied.results.get('default/two')).toEqual({ outcome: 'closed' })
    expect(topups).toEqual([])
    await open()
    await credits.read(money(['default/two', 5]))
    const restored = await credits.apply(money(['default/two', 5]), EPOCH)
    expect(restored.applied.results.get('default/two')).toEqual({ outcome: 'applied', appliedAt: NOW })
  })

  it('has an account again once it is restored', async () => {
    const credits = applier({ 'default/team': { credited: 7, spent: 2 } })
    expect((await credits.read(money())).lost.has(TEAM)).toBe(true)
    await open()
    await ledger.topup({ account: TEAM, epoch: EPOCH, id: 'restored', amount: 5 })
    const { lost, funds } = await credits.read(money())
    expect(lost.size).toBe(0)
    expect(funds.get(TEAM)).toEqual({ balance: 5, held: 0, credited: 5, spent: 0 })
  })

  it('opens an account that never had money', async () => {
    const credits = applier({ 'default/team': { credited: 0, spent: 0 } })
    await credits.apply(money(), EPOCH)
    wipe()
    const { lost } = await credits.reassert(money())
    expect(lost.size).toBe(0)
    expect((await ledger.balance(TEAM))?.posted).toBe(0)
  })
})

describe('a process that starts again', () => {
  it('makes no calls for recorded results, and reasserts them without a difference', async () => {
    await applier().apply(money(['default/one', 7]), EPOCH)
    topups = []
    opened = []
    const recorded = { 'default/team': { credited: 7, spent: 0 }, 'default/one': NOW - 5 }
    const credits = applier(recorded)
    const { applied } = await credits.apply(money(['default/one', 7]), EPOCH)
    expect(topups).toEqual([])
    expect(opened).toEqual([])
    expect(applied.results.get('default/one')).toEqual({ outcome: 'applied', appliedAt: NOW - 5 })
    const again = await credits.reassert(money(['default/one', 7]))
    expect(topups).toEqual(['default/one'])
    expect(again.results.get('default/one')).toEqual({ outcome: 'applied', appliedAt: NOW - 5 })
    expect(again.funds.get(TEAM)).toEqual({ balance: 7, held: 0, credited: 7, spent: 0 })
  })

  it.each([false, true])(
    'are applied once, wherever a leader died; the last command took effect: %s',
    async (took) => {
      const wanted = money(['default/one', 7], ['default/two', -2], ['default/three', 5])
      let died = true
      for (let lived = 0; died; lived++) {
        wipe()
        const alive = ledger
        died = false
        let calls = 0
        ledger = new Proxy(alive, {
          get:
            (_, name: Exclude<keyof Ledger, 'usage' | 'trimEveryMs'>) =>
            async (...args: never[]) => {
              const dies = calls++ >= lived
              died ||= dies
              const command: (...of: never[]) => unknown = alive[name]
              if (!dies) return command(...args)
              if (took && calls === lived + 1) await command(...args)
              throw new StoreUnavailable('killed')
            },
        })
        await applier().apply(wanted, EPOCH)
        ledger = alive
        const next = applier()
        await next.apply(wanted, EPOCH + 1)
        await next.reassert(wanted)
        expect(await ledger.balance(TEAM)).toMatchObject({ posted: 10, credited: 10, entries: 3 })
      }
    },
  )

  it('continues after a process that died between the ledger and the status', async () => {
    await applier().apply(money(['default/one', 7]), EPOCH)
    await spend(2)
    // Nothing was recorded, but the account exists in the ledger, and its credit is not applied twice.
    const credits = applier()
    await credits.apply(money(['default/one', 7]), EPOCH)
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
      (await credits.apply({ ...money(), credits: wanted }, EPOCH)).applied.results.get('default/one')
        ?.outcome
    expect(await outcome([first])).toBe('applied')
    await outcome(next)
    expect(await outcome([{ ...first, uid: 'new' }])).toBe('already')
    expect((await credits.read(money())).funds.get(TEAM)?.balance).toBe(7)
  })

  it('counts deleted credits, and a credit that was applied but not recorded', async () => {
    await applier().apply(money(['default/gone', 7], ['default/late', 10]), EPOCH)
    await spend(3)
    // Recorded before the second credit was applied.
    const credits = applier({ 'default/team': { credited: 7, spent: 3 } })
    await credits.apply(money(['default/late', 10], ['default/new', 1]), EPOCH)
    const { funds } = await credits.read(money(['default/late', 10], ['default/new', 1]))
    expect(funds.get(TEAM)).toEqual({ balance: 15, held: 0, credited: 18, spent: 3 })
  })
})

describe('the sums', () => {
  it('are those of the ledger, even if its reply to a credit was lost', async () => {
    const credits = applier()
    const { topup } = ledger
    ledger.topup = async (command) => {
      await topup(command)
      throw new StoreUnavailable('the reply was lost')
    }
    const wanted = money(['default/one', 10])
    expect((await credits.apply(wanted, EPOCH)).complete).toBe(false)
    ledger.topup = topup
    await spend(4)
    await credits.apply(wanted, EPOCH)
    const { funds, results } = await credits.read(wanted)
    expect(funds.get(TEAM)).toEqual({ balance: 6, held: 0, credited: 10, spent: 4 })
    expect(results.get('default/one')?.outcome).toBe('already')
  })

  it('show a debit as a smaller credit, not as spending', async () => {
    const credits = applier()
    const wanted = money(['default/one', 50], ['default/minus', -30])
    const { applied } = await credits.apply(wanted, EPOCH)
    expect(applied.funds.get(TEAM)).toEqual({ balance: 20, held: 0, credited: 20, spent: 0 })
  })
})

describe('a controller that was replaced', () => {
  const used = { 'default/team': { credited: 1, spent: 0 } }

  it.each([
    ['that it knows as new', undefined],
    ['that had money', used],
  ])('credits no account %s, and learns nothing wrong', async (_, recorded) => {
    await applier().apply(money(['default/first', 1]), EPOCH + 1)
    const replaced = applier(recorded)
    const wanted = { ...money(['default/one', 7]), accounts: new Map([account('team')]) }
    const { applied, complete } = await replaced.apply(wanted, EPOCH)
    expect([complete, applied.results.size, (await ledger.balance(TEAM))?.posted]).toEqual([false, 0, 1])
  })
})

describe('a store that may evict balances', () => {
  const wanted = money(['default/one', 7])

  it('gets no new account and no credit for it, until it keeps balances', async () => {
    let keeps = false
    const credits = applier(undefined, async () => keeps)
    const { applied, complete } = await credits.apply(wanted, EPOCH)
    expect([...applied.withheld].sort()).toEqual([TEAM, NEW].sort())
    expect(applied.results.get('default/one')).toEqual({ outcome: 'withheld' })
    expect([complete, opened, topups, [...applied.funds]]).toEqual([true, [], [], []])
    expect((await credits.reassert(wanted)).withheld.size).toBe(2)
    keeps = true
    const after = await credits.reassert(wanted)
    expect([after.withheld.size, opened.length, topups]).toEqual([0, 2, ['default/one']])
    expect(after.funds.get(TEAM)?.balance).toBe(7)
    expect(after.results.get('default/one')?.outcome).toBe('applied')
  })

  it.each([
    ['that this leader knows', { 'default/team': { credited: 7, spent: 0 } }],
    ['that no status knows yet', undefined],
  ])('keeps serving an open account %s, and applies its credits', async (_, recorded) => {
    await applier().apply(wanted, EPOCH)
    const credits = applier(recorded, async () => false)
    const more = money(['default/one', 7], ['default/two', 5])
    const { applied } = await credits.apply({ ...more, accounts: new Map([account('team')]) }, EPOCH + 1)
    expect([applied.withheld.size, applied.lost.size]).toEqual([0, 0])
    await credits.reassert(more)
    expect((await ledger.balance(TEAM))?.posted).toBe(12)
  })

  it('still calls a lost account lost', async () => {
    const credits = applier({ 'default/team': { credited: 7, spent: 0 } }, async () => false)
    await credits.apply(wanted, EPOCH)
    const { lost, withheld } = await credits.reassert(wanted)
    expect([[...lost], [...withheld]]).toEqual([[TEAM], [NEW]])
  })

  it('opens nothing while its settings are unknown, and is tried again', async () => {
    let away = true
    const credits = applier(undefined, async () => {
      if (away) throw new StoreUnavailable('away')
      return true
    })
    expect((await credits.apply(wanted, EPOCH)).complete).toBe(false)
    expect(opened).toEqual([])
    away = false
    expect((await credits.apply(wanted, EPOCH)).complete).toBe(true)
    expect((await ledger.balance(TEAM))?.posted).toBe(7)
  })
})

describe('the checkpoint', () => {
  const log = { info() {}, warn() {}, error() {} }
  const CREDIT = money(['default/first', 5])

  async function notedWith(reply: 'written' | 'stuck' | 'missing') {
    const store = { shards: 1, load: async () => ({ epoch: 0, shards: [{}] }), save: async () => {} }
    const checkpoints = new Checkpoints(store, log)
    await checkpoints.load()
    const shipped: (string | undefined)[] = []
    const ship = async (_: string, upTo?: string) => {
      shipped.push(upTo)
      return reply
    }
    const credits = new CreditApplier({ ledger, log, now: () => NOW, checkpoints, journal: { ship } })
    await credits.apply(CREDIT, EPOCH)
    const { lastEntry } = (await ledger.balance(TEAM)) ?? {}
    expect(shipped).toContain(lastEntry)
    return checkpoints.mark(TEAM)?.credited
  }

  it('counts what the journal has, and all when the journal is stuck', async () => {
    expect(await notedWith('written')).toBe(5)
    wipe()
    expect(await notedWith('stuck')).toBe(5)
  })

  it('counts nothing that the ledger lost before the journal had it', async () => {
    expect(await notedWith('missing')).toBe(0)
  })
})

describe('a mark names exactly the credits in its sums', () => {
  const log = { info() {}, warn() {}, error() {} }
  const FIRST = money(['default/first', 5])
  const BOTH = money(['default/first', 5], ['default/second', 3])
  const second = { id: 'default/second', account: TEAM, amount: 3 }
  let seconds: number
  beforeEach(() => {
    seconds = NOW / 1_000
    empty()
  })

  /** A ledger without an account, on a clock that goes on. */
  function empty(): void {
    ledger = createEmbeddedStore({ now: () => seconds++ * 1_000 }).ledger
  }

  async function leaderWith(
    marks: Marks,
    { recorded, ship }: { recorded?: Recorded; ship?: () => Promise<'written'> } = {},
  ) {
    const store = {
      shards: 1,
      load: async () => ({ epoch: 0, shards: [{ ...marks }] }),
      save: async () => {},
    }
    const checkpoints = new Checkpoints(store, log)
    await checkpoints.load()
    const facade = new Proxy({} as Ledger, { get: (_, command: keyof Ledger) => ledger[command] })
    const journal = ship && { ship }
    const options = { ledger: facade, log, now: () => NOW, checkpoints, recorded, journal }
    return { checkpoints, credits: new CreditApplier(options) }
  }

  const creditsOf = (checkpoints: Checkpoints) => Object.keys(checkpoints.mark(TEAM)?.credits ?? {}).sort()

  it('also those of a leader that died before it could save them: a loss gives none of them twice', async () => {
    const before = await leaderWith({})
    await before.credits.apply(FIRST, EPOCH)
    const saved = before.checkpoints.mark(TEAM)
    if (saved === undefined) throw new Error('no mark')
    await ledger.topup({ ...second, epoch: EPOCH })
    const recorded: Recorded = {
      account: () => ({ credited: 8, spent: 0 }),
      credit: () => ({ outcome: 'applied', appliedAt: NOW }),
    }
    const { checkpoints, credits } = await leaderWith({ [TEAM]: saved }, { recorded })
    await credits.apply(BOTH, EPOCH + 1)
    await credits.read(BOTH)
    expect(checkpoints.mark(TEAM)?.credited).toBe(8)
    expect(creditsOf(checkpoints)).toEqual(['default/first', 'default/second'])
    empty()
    credits.distrust()
    await credits.reassert(BOTH)
    expect(await ledger.balance(TEAM)).toMatchObject({ credited: 8, posted: 8 })
  })

  it('also one whose answer was lost', async () => {
    const { checkpoints, credits } = await leaderWith({})
    await credits.apply(FIRST, EPOCH)
    const whole = ledger
    ledger = {
      ...whole,
      async topup(command) {
        await whole.topup(command)
        throw new StoreUnavailable('connection lost')
      },
    }
    expect((await credits.apply(BOTH, EPOCH)).complete).toBe(false)
    await credits.read(BOTH)
    expect(checkpoints.mark(TEAM)?.credited).toBe(8)
    expect(creditsOf(checkpoints)).toEqual(['default/first', 'default/second'])
  })

  it('and none that was applied after the balance was read: a loss takes none of them away', async () => {
    let during = async () => {}
    const { checkpoints, credits } = await leaderWith(
      {},
      {
        async ship() {
          const work = during
          during = async () => {}
          await work()
          return 'written'
        },
      },
    )
    await credits.apply(FIRST, EPOCH)
    during = async () => void (await credits.apply(BOTH, EPOCH))
    await credits.read(FIRST)
    expect(checkpoints.mark(TEAM)?.credited).toBe(8)
    empty()
    credits.distrust()
    await credits.reassert(BOTH)
    expect(await ledger.balance(TEAM)).toMatchObject({ credited: 8, posted: 8 })
  })

  describe('also those of sub-accounts', () => {
    const SUB = objectId('default', 'sub')
    const [, record] = account('sub')
    const sub: [string, AccountRecord] = [SUB, { ...record, parent: { id: TEAM, overdraft: 0 } }]
    const allowance = { id: 'default/allowance', account: TEAM, sub: SUB, amount: 2 }
    const whole = {
      ...FIRST,
      accounts: new Map([account('team'), sub]),
      credits: [...FIRST.credits, allowance],
    }
    const sums = async () => (await ledger.balance(TEAM, { subs: [SUB] }))?.subs[SUB]

    async function loseAll({ credits }: { credits: CreditApplier }): Promise<void> {
      empty()
      credits.distrust()
      await credits.reassert(whole)
    }

    /** Applies what grows by `whole` as soon as an account is opened; calls `meanwhile` when the ledger has the allowance. */
    async function applyGrowing(
      { credits }: { credits: CreditApplier },
      accounts: [string, AccountRecord][],
      meanwhile = async () => {},
    ): Promise<void> {
      const growing = { ...FIRST, accounts: new Map(accounts) }
      const quiet = ledger
      ledger = {
        ...quiet,
        async open(command) {
          growing.accounts.set(...sub)
          growing.credits = whole.credits
          return quiet.open(command)
        },
        async topup(command) {
          const reply = await quiet.topup(command)
          if (command.sub !== undefined) await meanwhile()
          return reply
        },
      }
      await credits.apply(growing, EPOCH)
      ledger = quiet
      await credits.apply(whole, EPOCH)
    }

    it('that appear while their account is opened', async () => {
      const leader = await leaderWith({})
      await applyGrowing(leader, [account('team')])
      await loseAll(leader)
      expect(await sums()).toEqual({ posted: 2, held: 0, credited: 2 })
    })

    it('that appear while another account is opened, and this one is looked at', async () => {
      const leader = await leaderWith({})
      await leader.credits.apply(FIRST, EPOCH)
      await applyGrowing(leader, [account('team'), account('later')], async () => {
        await leader.credits.read(FIRST)
      })
      await loseAll(leader)
      expect(await sums()).toEqual({ posted: 2, held: 0, credited: 2 })
    })

    it.each(['the same leader', 'the next one'])(
      'that are deleted while a request of theirs runs, which %s sees',
      async (which) => {
        let leader = await leaderWith({})
        await leader.credits.apply(whole, EPOCH)
        const saved = leader.checkpoints.mark(TEAM)
        if (saved === undefined) throw new Error('no mark')
        if (which === 'the next one') leader = await leaderWith({ [TEAM]: saved })
        await leader.credits.apply(FIRST, EPOCH + 1)
        await spend(1, SUB)
        await leader.credits.read(FIRST)
        await loseAll(leader)
        expect(await sums()).toEqual({ posted: 1, held: 0, credited: 2 })
      },
    )

    it('that an earlier leader had, and that were deleted before it could save them', async () => {
      const before = await leaderWith({})
      await before.credits.apply(FIRST, EPOCH)
      const saved = before.checkpoints.mark(TEAM)
      if (saved === undefined) throw new Error('no mark')
      await ledger.topup({ ...allowance, epoch: EPOCH })
      await ledger.topup({ ...second, epoch: EPOCH })
      const { checkpoints, credits } = await leaderWith({ [TEAM]: saved })
      await credits.apply(BOTH, EPOCH + 1)
      await credits.read(BOTH)
      expect(creditsOf(checkpoints)).toEqual(['default/first', 'default/second'])
      // It is created again.
      await credits.apply({ ...whole, credits: [...BOTH.credits, allowance] }, EPOCH + 1)
      await loseAll({ credits })
      expect(await sums()).toEqual({ posted: 2, held: 0, credited: 2 })
    })
  })
})
