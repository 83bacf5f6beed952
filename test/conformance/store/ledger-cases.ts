/** Accounts, credits, funds and reservations; hold-cases.ts has the ends of holds. */
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  EPOCH,
  fund,
  hold,
  LEASE_MS,
  NOTE,
  OTHER,
  open,
  renew,
  renewal,
  reservation,
  SUB,
  settle,
  settlement,
  sumsOf,
  topup,
} from './fixtures.ts'
import type { Current } from './under-test.ts'

const MOST = Number.MAX_SAFE_INTEGER

export function ledgerCases(current: Current): void {
  const ledger = () => current().store.ledger
  const sums = (sub?: string, account = ACCOUNT) => sumsOf(ledger(), account, sub)
  const lastEntry = async () => (await ledger().entries(ACCOUNT, undefined, 100)).at(-1)

  test('an account opens once, at zero', async () => {
    expect(await ledger().balance(ACCOUNT)).toBeUndefined()
    expect([await open(ledger()), await open(ledger())]).toEqual(['OK', 'DUP'])
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 0,
      held: 0,
      credited: 0,
      subs: {},
      budgets: {},
      levels: {},
      epoch: EPOCH,
      entries: 0,
      lastEntry: undefined,
      journaled: undefined,
      trimmedTo: undefined,
      countedTo: undefined,
      restoredTo: undefined,
    })
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toEqual([])
  })

  test('a closed account takes no holds until it is opened again; all else goes on', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 5))
    const of = { account: ACCOUNT, epoch: EPOCH, create: false }
    expect(await ledger().open({ ...of, closed: true })).toBe('DUP')
    expect(await ledger().reserve(reservation('r2', 5))).toEqual({ reply: 'NOACCT' })
    expect(await renew(ledger(), 'r1')).toBe('OK')
    expect(await settle(ledger(), 'r1', 3, at)).toBe('OK')
    expect(await topup(ledger(), 'default/more', 10)).toBe('OK')
    expect(await sums()).toEqual([107, 0])
    expect(await ledger().open({ ...of, epoch: EPOCH - 1 })).toBe('FENCED')
    expect(await ledger().reserve(reservation('r2', 5))).toEqual({ reply: 'NOACCT' })
    expect(await ledger().open(of)).toBe('DUP')
    expect(await ledger().reserve(reservation('r2', 5))).toMatchObject({ reply: 'OK' })
  })

  test('every command reports an unknown account and does not open it', async () => {
    expect(await ledger().open({ account: ACCOUNT, epoch: EPOCH, create: false })).toBe('NOACCT')
    expect(await topup(ledger(), 'default/c1', 5)).toBe('NOACCT')
    expect(
      await ledger().adjust({ account: ACCOUNT, epoch: 1, id: 'a', reason: 'operator', changes: [] }),
    ).toBe('NOACCT')
    expect(await ledger().reserve(reservation('r1', 5))).toEqual({ reply: 'NOACCT' })
    expect(await ledger().renew(ACCOUNT, [renewal('r1'), renewal('r2')])).toEqual(['NOACCT', 'NOACCT'])
    expect(await settle(ledger(), 'r1', 5, 0)).toBe('NOACCT')
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
    await ledger().trim(ACCOUNT, '1-0', 0)
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toEqual([])
    expect(await ledger().balance(ACCOUNT)).toBeUndefined()
  })

  test('a credit counts once per id and may be negative', async () => {
    await open(ledger())
    expect(await topup(ledger(), 'default/c1', 100)).toBe('OK')
    expect(await topup(ledger(), 'default/c1', 100)).toBe('DUP')
    expect(await topup(ledger(), 'default/c1', 101)).toBe('CONFLICT')
    expect(await topup(ledger(), 'default/c1', 100, { sub: SUB })).toBe('CONFLICT')
    expect(await topup(ledger(), 'default/c2', -30)).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 70, held: 0, credited: 70, entries: 2 })
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toEqual([
      { id: expect.any(String), kind: 'credit', ref: 'default/c1', sub: '', delta: 100 },
      { id: expect.any(String), kind: 'credit', ref: 'default/c2', sub: '', delta: -30 },
    ])
  })

  test('the entry of a credit is the last one of its account', async () => {
    await open(ledger())
    const reply = await ledger().topup({ account: ACCOUNT, epoch: EPOCH, id: 'default/c1', amount: 5 })
    const entry = reply.reply === 'OK' ? reply.entry : undefined
    expect([entry, entry]).toEqual([(await lastEntry())?.id, (await ledger().balance(ACCOUNT))?.lastEntry])
  })

  test('what was spent is what was credited and is no longer there', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 40))
    await settle(ledger(), 'r1', 25, at)
    await topup(ledger(), 'default/minus', -30)
    expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 45, credited: 70, entries: 3 })
  })

  test('a credit that would exceed the safe integers is LIMIT and changes nothing', async () => {
    await fund(ledger(), ACCOUNT, MOST - 10)
    expect(await topup(ledger(), 'default/more', 11)).toBe('LIMIT')
    expect(await ledger().balance(ACCOUNT)).toMatchObject({
      posted: MOST - 10,
      credited: MOST - 10,
      entries: 1,
    })
    expect(await topup(ledger(), 'default/less', -1)).toBe('OK')
    expect(await topup(ledger(), 'default/more', 11)).toBe('OK')
    expect(await sums()).toEqual([MOST, 0])
  })

  test('a sum beyond the safe integers is clamped, and no settle is refused', async () => {
    await fund(ledger(), ACCOUNT, 5 - MOST)
    const at = await hold(ledger(), reservation('r1', MOST, { enforced: false }))
    const other = await hold(ledger(), reservation('r2', 8, { enforced: false }))
    expect(await sums()).toEqual([5 - MOST, MOST])
    expect(await settle(ledger(), 'r2', 8, other)).toBe('OK')
    expect(await settle(ledger(), 'r1', MOST, at)).toBe('OK')
    expect(await sums()).toEqual([-MOST, 0])
    const entries = await ledger().entries(ACCOUNT, undefined, 10)
    expect(entries.map(({ ref, delta }) => [ref, delta]).slice(1)).toEqual([
      ['r2', -5],
      ['r1', 0],
    ])
  })

  test('an allowance raises only its sub-account; spending lowers both', async () => {
    await fund(ledger(), ACCOUNT, 100)
    await topup(ledger(), 'default/allow', 40, { sub: SUB })
    expect([await sums(), await sums(SUB)]).toEqual([
      [100, 0],
      [40, 0],
    ])
    const at = await hold(ledger(), reservation('r1', 25, { sub: SUB }))
    expect([await sums(), await sums(SUB)]).toEqual([
      [100, 25],
      [40, 25],
    ])
    expect(await settle(ledger(), 'r1', 20, at, { sub: SUB })).toBe('OK')
    expect(await ledger().balance(ACCOUNT, { subs: [SUB, 'unknown'] })).toMatchObject({
      posted: 80,
      held: 0,
      credited: 100,
      subs: { [SUB]: { posted: 20, held: 0, credited: 40 } },
    })
    expect(await lastEntry()).toMatchObject({ kind: 'settle', ref: 'r1', sub: SUB, delta: -20, note: NOTE })
  })

  test('entries are paged from the last one read', async () => {
    await open(ledger())
    for (let i = 1; i <= 12; i++) await topup(ledger(), `default/c${i}`, i)
    const first = await ledger().entries(ACCOUNT, undefined, 5)
    expect(first.map((entry) => entry.delta)).toEqual([1, 2, 3, 4, 5])
    const rest = await ledger().entries(ACCOUNT, first.at(-1)?.id, 100)
    expect(rest.map((entry) => entry.delta)).toEqual([6, 7, 8, 9, 10, 11, 12])
    expect(await ledger().entries(ACCOUNT, rest.at(-1)?.id, 100)).toEqual([])
    expect(await ledger().entries(ACCOUNT, undefined, 0)).toEqual([])
  })

  test('a repeated reservation is DUP; with other arguments it is CONFLICT', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 60))
    expect(await ledger().reserve(reservation('r1', 60))).toEqual({
      reply: 'DUP',
      reservedAt: at,
      ...{ free: 40, posted: 100, spent: [] },
      room: [],
    })
    expect(await ledger().reserve(reservation('r1', 59))).toEqual({ reply: 'CONFLICT' })
    expect(await ledger().reserve(reservation('r1', 60, { sub: SUB }))).toEqual({ reply: 'CONFLICT' })
    expect(await sums()).toEqual([100, 60])
  })

  test('a reservation reports the balances', async () => {
    await fund(ledger(), ACCOUNT, 100)
    await topup(ledger(), 'default/allow', 50, { sub: SUB })
    const at = await hold(ledger(), reservation('r1', 30, { sub: SUB }))
    await settle(ledger(), 'r1', 20, at, { sub: SUB })
    expect(await ledger().reserve(reservation('r2', 1))).toMatchObject({ posted: 80 })
    expect(await ledger().reserve(reservation('r3', 1, { sub: SUB }))).toMatchObject({
      ...{ posted: 80, subPosted: 30 },
    })
  })

  test('an enlarged hold is still DUP to its first reservation', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 60))
    expect(await renew(ledger(), 'r1', { amount: 70 })).toBe('OK')
    expect(await ledger().reserve(reservation('r1', 60))).toEqual({
      reply: 'DUP',
      reservedAt: at,
      ...{ free: 30, posted: 100, spent: [] },
      room: [],
    })
  })

  test('a reservation reports what is left, overdrafts included, where there is less', async () => {
    await fund(ledger(), ACCOUNT, 100)
    await topup(ledger(), 'default/allow', 50, { sub: SUB })
    const free = async (...of: Parameters<typeof reservation>) => {
      const reply = await ledger().reserve(reservation(...of))
      return 'free' in reply ? reply.free : reply.reply
    }
    expect(await free('r1', 30)).toBe(70)
    expect(await free('r2', 30, { overdraft: 5 })).toBe(45)
    expect(await free('r3', 10, { sub: SUB })).toBe(30)
    expect(await free('r4', 10, { sub: SUB, overdraft: 100, subOverdraft: 7 })).toBe(37)
    expect(await free('r5', 90, { enforced: false })).toBe(MOST)
    expect(await free('r6', 0, { overdraft: 200 })).toBe(130)
  })

  test('NOFUNDS distinguishes an empty balance from one tied up in holds', async () => {
    await open(ledger())
    const empty = { reply: 'NOFUNDS', of: 'account', reason: 'empty' }
    expect(await ledger().reserve(reservation('r1', 1))).toEqual(empty)
    expect(await ledger().reserve(reservation('r2', 0))).toEqual(empty)
    await topup(ledger(), 'default/c1', 10)
    const short = { reply: 'NOFUNDS', of: 'account', reason: 'hold' }
    expect(await ledger().reserve(reservation('r3', 11))).toEqual(short)
    await hold(ledger(), reservation('r4', 10))
    expect(await ledger().reserve(reservation('r5', 1))).toEqual(short)
    await hold(ledger(), reservation('r6', 0))
  })

  test('a refused reservation leaves no record', async () => {
    await fund(ledger(), ACCOUNT, 10)
    expect(await ledger().reserve(reservation('r1', 11))).toMatchObject({ reply: 'NOFUNDS' })
    await hold(ledger(), reservation('r1', 9))
    expect([await sums(), (await ledger().balance(ACCOUNT))?.entries]).toEqual([[10, 9], 1])
  })

  test('an overdraft counts as funds', async () => {
    await open(ledger())
    await hold(ledger(), reservation('r1', 50, { overdraft: 50 }))
    const refused = (reason: string) => ({ reply: 'NOFUNDS', of: 'account', reason })
    expect(await ledger().reserve(reservation('r2', 1, { overdraft: 50 }))).toEqual(refused('hold'))
    await topup(ledger(), 'default/minus', -50)
    expect(await ledger().reserve(reservation('r2', 0, { overdraft: 50 }))).toEqual(refused('empty'))
  })

  test('a sub-account is checked like its account, with its own overdraft', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const refused = (reason: string) => ({ reply: 'NOFUNDS', of: 'sub', reason })
    expect(await ledger().reserve(reservation('r1', 0, { sub: SUB }))).toEqual(refused('empty'))
    await topup(ledger(), 'default/allow', 10, { sub: SUB })
    const large = reservation('r1', 16, { sub: SUB, subOverdraft: 5 })
    expect(await ledger().reserve(reservation('r1', 11, { sub: SUB }))).toEqual(refused('hold'))
    expect(await ledger().reserve(large)).toEqual(refused('hold'))
    await hold(ledger(), reservation('r1', 15, { sub: SUB, subOverdraft: 5 }))
    // Allowance does not help if the account itself is short; the lasting shortfall is reported first.
    await topup(ledger(), 'default/more', 500, { sub: SUB })
    const short = { reply: 'NOFUNDS', of: 'account', reason: 'hold' }
    expect(await ledger().reserve(reservation('r2', 86, { sub: SUB }))).toEqual(short)
    expect(await ledger().reserve(reservation('r2', 86, { sub: 'never-credited' }))).toEqual(refused('empty'))
  })

  test('an account that is not enforced is counted and never refused', async () => {
    await open(ledger())
    const at = await hold(ledger(), reservation('r1', 70, { enforced: false, sub: SUB }))
    expect(await renew(ledger(), 'r1', { amount: 75, enforced: false })).toBe('OK')
    expect([await sums(), await sums(SUB)]).toEqual([
      [0, 75],
      [0, 75],
    ])
    expect(await settle(ledger(), 'r1', 60, at, { sub: SUB })).toBe('OK')
    expect([await sums(), await sums(SUB)]).toEqual([
      [-60, 0],
      [-60, 0],
    ])
  })

  test('1,000 parallel reservations of 7 on a balance of 100 admit exactly 14', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => ledger().reserve(reservation(`r${i}`, 7))),
    )
    expect(answers.filter((answer) => answer.reply === 'OK')).toHaveLength(14)
    expect(await sums()).toEqual([100, 98])
  })

  test('accounts and sub-accounts with the same ids are separate', async () => {
    await fund(ledger(), ACCOUNT, 100)
    await fund(ledger(), OTHER, 100)
    await topup(ledger(), 'default/allow', 50, { sub: SUB })
    await topup(ledger(), 'default/allow2', 50, { sub: 'second' })
    const at = await hold(ledger(), reservation('r1', 40, { sub: SUB }))
    await hold(ledger(), reservation('r1', 30, { account: OTHER, sub: SUB, subOverdraft: 30 }))
    await settle(ledger(), 'r1', 40, at, { sub: SUB })
    expect([await sums(), await sums(SUB), await sums('second')]).toEqual([
      [60, 0],
      [10, 0],
      [50, 0],
    ])
    expect([await sums(undefined, OTHER), await sums(SUB, OTHER)]).toEqual([
      [100, 30],
      [0, 30],
    ])
    expect(await ledger().entries(OTHER, undefined, 10)).toHaveLength(1)
  })

  describe('a leader of an earlier term', () => {
    test('opens, credits and corrects nothing', async () => {
      await ledger().open({ account: ACCOUNT, epoch: 5, create: true })
      const old = { account: ACCOUNT, epoch: 4, create: true }
      const changes = [{ credited: 1, spent: 0 }]
      expect(await ledger().open(old)).toBe('FENCED')
      expect(await ledger().topup({ ...old, id: 'default/c1', amount: 5 })).toEqual({ reply: 'FENCED' })
      expect(await ledger().adjust({ ...old, id: 'a1', reason: 'operator', changes })).toBe('FENCED')
      expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 0, epoch: 5, entries: 0 })
    })

    test('is one whose term began before that of a command that changed something', async () => {
      await fund(ledger(), ACCOUNT, 100)
      expect(await topup(ledger(), 'default/start', 100, { epoch: EPOCH + 9 })).toBe('DUP')
      expect(await topup(ledger(), 'default/c1', 5, { epoch: EPOCH + 1 })).toBe('OK')
      expect((await ledger().balance(ACCOUNT))?.epoch).toBe(EPOCH + 1)
      expect(await topup(ledger(), 'default/c2', 5)).toBe('FENCED')
      expect(await open(ledger())).toBe('FENCED')
    })
  })

  describe('a correction', () => {
    const correction = {
      account: ACCOUNT,
      epoch: EPOCH,
      id: 'a1',
      reason: 'operator' as const,
      text: 'a refund',
    }

    test('changes what was credited and spent, once, with an entry', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const command = { ...correction, changes: [{ credited: 10, spent: -5 }] }
      expect([await ledger().adjust(command), await ledger().adjust(command)]).toEqual(['OK', 'DUP'])
      expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 115, credited: 110, entries: 2 })
      expect(await lastEntry()).toEqual({
        id: expect.any(String),
        kind: 'adjust',
        ref: 'a1',
        sub: '',
        delta: 15,
        adjusted: { credited: 10, reason: 'operator', text: 'a refund' },
      })
    })

    test('of a sub-account leaves the account as it is', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const changes = [
        { sub: SUB, credited: 20, spent: 3 },
        { credited: 0, spent: 7 },
      ]
      expect(await ledger().adjust({ ...correction, changes })).toBe('OK')
      expect(await ledger().balance(ACCOUNT, { subs: [SUB] })).toMatchObject({
        posted: 93,
        credited: 100,
        subs: { [SUB]: { posted: 17, credited: 20 } },
      })
    })

    test('of thousands of sub-accounts is made whole', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const subs = Array.from({ length: 5_000 }, (_, n) => `sub${n}`)
      const changes = subs.map((sub, n) => ({ sub, credited: n + 3, spent: 2 }))
      const command = { ...correction, changes }
      expect([await ledger().adjust(command), await ledger().adjust(command)]).toEqual(['OK', 'DUP'])
      const expected = subs.map((sub, n) => [sub, { posted: n + 1, held: 0, credited: n + 3 }])
      expect(await ledger().balance(ACCOUNT, { subs })).toMatchObject({
        posted: 100,
        entries: 5_001,
        subs: Object.fromEntries(expected),
      })
    })

    test('with a last entry that is no entry id changes nothing', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const command = { ...correction, changes: [{ credited: 5, spent: 0 }] }
      await expect(ledger().adjust({ ...command, restoredTo: 'yesterday' })).rejects.toThrow(RangeError)
      expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 100, entries: 1 })
    })

    test('is not made if the account has changed since it was read', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const command = { ...correction, changes: [{ credited: 0, spent: 5 }] }
      expect(await ledger().adjust({ ...command, ifEntries: 0 })).toBe('CHANGED')
      expect(await ledger().adjust({ ...command, ifEntries: 1 })).toBe('OK')
      expect(await sums()).toEqual([95, 0])
    })

    test('beyond the safe integers changes nothing at all', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const changes = [
        { credited: 5, spent: 0 },
        { sub: SUB, credited: 0, spent: -MOST },
      ]
      await topup(ledger(), 'default/allow', 1, { sub: SUB })
      expect(await ledger().adjust({ ...correction, changes })).toBe('LIMIT')
      expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 100, credited: 100, entries: 2 })
    })

    test('that restores a checkpoint counts the settles up to its last entry', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const now = await hold(ledger(), reservation('clock', 1))
      const last = `${now}-5`
      const changes = [{ credited: 0, spent: 30 }]
      expect(await ledger().adjust({ ...correction, reason: 'restore', changes, restoredTo: last })).toBe(
        'OK',
      )
      const repeated = (id: string, postedAs: string) => settle(ledger(), id, 9, now, { postedAs })
      expect(await repeated('r1', `${now - 1}-9`)).toBe('DUP')
      expect(await repeated('r2', last)).toBe('DUP')
      expect(await sums()).toEqual([70, 1])
      expect(await repeated('r3', `${now}-6`)).toBe('LOST')
      expect(await repeated('r4', `${now + 1}-0`)).toBe('LOST')
      expect([await sums(), await lastEntry()]).toMatchObject([[52, 1], { postedAs: `${now + 1}-0` }])
    })
  })

  describe('a request that a restore has counted', () => {
    const changes = [{ credited: 0, spent: 30 }]
    const restored = async (now: number) => {
      const correction = { account: ACCOUNT, epoch: EPOCH, id: 'restore', reason: 'restore' as const }
      const command = { ...correction, changes, restoredTo: `${now}-0` }
      expect(await ledger().adjust(command)).toBe('OK')
    }
    const late = (id: string, now: number) => settle(ledger(), id, 9, now, { postedAs: `${now}-0` })

    test('is not charged again while its hold is pending', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const now = await hold(ledger(), reservation('r1', 20, { seen: 5 }))
      await restored(now)
      expect(await late('r1', now)).toBe('DUP')
      expect(await sums()).toEqual([70, 0])
    })

    test('gets back what its expiry charged', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const now = await hold(ledger(), reservation('r1', 20, { seen: 5 }))
      await current().advance(LEASE_MS)
      await ledger().reap(ACCOUNT, 10)
      expect(await sums()).toEqual([95, 0])
      await restored(now)
      expect(await late('r1', now)).toBe('DUP')
      expect([await sums(), await lastEntry()]).toMatchObject([[70, 0], { kind: 'late', delta: 5 }])
    })

    test('is not charged when its hold expires, unless a proxy has renewed it since', async () => {
      await fund(ledger(), ACCOUNT, 100)
      const now = await hold(ledger(), reservation('r1', 20, { seen: 5 }))
      const other = await hold(ledger(), reservation('r2', 20, { seen: 5 }))
      await restored(now)
      await current().advance(5_000)
      const { account: _, ...terms } = reservation('r2', 20, { seen: 7 })
      await ledger().renew(ACCOUNT, [{ ...terms, reservedAt: other }])
      await current().advance(LEASE_MS)
      await ledger().reap(ACCOUNT, 10)
      expect(await sums()).toEqual([63, 0])
    })
  })

  describe('accounts in use', () => {
    test('are listed in the order of their last use', async () => {
      for (const account of [ACCOUNT, OTHER]) await fund(ledger(), account, 100)
      const start = await hold(ledger(), reservation('r1', 1))
      await ledger().touch([ACCOUNT])
      await current().advance(1_000)
      await ledger().touch([OTHER])
      await hold(ledger(), reservation('r1', 1, { account: OTHER }))
      expect(await ledger().touched(start, 10)).toEqual([
        { account: ACCOUNT, at: start },
        { account: OTHER, at: start + 1_000 },
      ])
      expect(await ledger().touched(start, 1)).toEqual([{ account: ACCOUNT, at: start }])
      expect(await ledger().touched(start + 1, 10)).toEqual([{ account: OTHER, at: start + 1_000 }])
    })

    test('and all others are found by a walk', async () => {
      const names = Array.from({ length: 300 }, (_, i) => `account${i}`)
      for (const name of names) await open(ledger(), name)
      const found = new Set<string>()
      let cursor: string | undefined
      do {
        const page = await ledger().walk(cursor, 50)
        for (const account of page.accounts) found.add(account)
        cursor = page.next
      } while (cursor !== undefined)
      expect(names.filter((name) => !found.has(name))).toEqual([])
    })
  })

  describe('trim', () => {
    test('without a journal goes by age alone, and leaves the mark for a journal to begin with', async () => {
      await open(ledger())
      await topup(ledger(), 'default/c1', 1)
      await ledger().trim(ACCOUNT, undefined, 1_500)
      expect(await ledger().balance(ACCOUNT)).toMatchObject({ trimmedTo: undefined })
      await current().advance(1_000)
      await topup(ledger(), 'default/c2', 2)
      await current().advance(1_000)
      await ledger().trim(ACCOUNT, undefined, 1_500)
      expect((await ledger().entries(ACCOUNT, undefined, 10)).map(({ delta }) => delta)).toEqual([2])
      const { journaled, trimmedTo } = (await ledger().balance(ACCOUNT)) ?? {}
      expect([journaled, trimmedTo]).toEqual([undefined, expect.stringMatching(/^\d+-0$/)])
    })

    test('removes entries up to the mark of the journal that are old enough', async () => {
      await open(ledger())
      for (let i = 1; i <= 3; i++) {
        await topup(ledger(), `default/c${i}`, i)
        await current().advance(1_000)
      }
      const [first, second, third] = await ledger().entries(ACCOUNT, undefined, 10)
      await ledger().trim(ACCOUNT, first?.id ?? '', 60_000)
      expect(await ledger().entries(ACCOUNT, undefined, 10)).toHaveLength(3)
      await ledger().trim(ACCOUNT, third?.id ?? '', 1_500)
      expect((await ledger().entries(ACCOUNT, undefined, 10)).map(({ id }) => id)).toEqual([third?.id])
      expect(await ledger().balance(ACCOUNT)).toMatchObject({ journaled: third?.id, entries: 3, posted: 6 })
      // The mark and what was removed never go back.
      await ledger().trim(ACCOUNT, second?.id ?? '', 0)
      expect((await ledger().balance(ACCOUNT))?.journaled).toBe(third?.id)
    })
  })

  test.each([
    ['a fraction', 0.5],
    ['beyond the safe integers', 2 ** 53],
    ['not a number', Number.NaN],
  ])('an amount that is %s is refused with RangeError and changes nothing', async (_what, amount) => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 10))
    const before = await ledger().balance(ACCOUNT)
    const wrong = { account: ACCOUNT, epoch: EPOCH, id: 'a', reason: 'operator' as const }
    const calls = [
      async () => topup(ledger(), 'default/c9', amount),
      async () => ledger().adjust({ ...wrong, changes: [{ credited: amount, spent: 0 }] }),
      async () => ledger().adjust({ ...wrong, changes: [{ credited: 0, spent: amount }] }),
      async () => ledger().reserve(reservation('r2', amount)),
      async () => ledger().reserve(reservation('r2', 1, { seen: amount })),
      async () => ledger().renew(ACCOUNT, [renewal('r1', { seen: 5 }), renewal('r1', { seen: amount })]),
      async () => ledger().renew(ACCOUNT, [renewal('r1', { amount: 20 }), renewal('r1', { amount })]),
      async () => ledger().settle(settlement('r1', amount, at)),
    ]
    for (const result of await Promise.allSettled(calls.map((call) => call())))
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(RangeError) })
    expect(await ledger().balance(ACCOUNT)).toEqual(before)
  })
}
