/** Accounts, credits, funds and reservations; hold-cases.ts has the ends of holds. */
import { expect, test } from 'vitest'
import { ACCOUNT, fund, hold, NOTE, OTHER, renewal, reservation, SUB, settlement } from './fixtures.ts'
import type { Current } from './suite.ts'

export function ledgerCases(current: Current): void {
  const ledger = () => current().store.ledger

  test('an account opens once, at zero', async () => {
    expect(await ledger().balance(ACCOUNT)).toBeUndefined()
    expect([await ledger().open(ACCOUNT), await ledger().open(ACCOUNT)]).toEqual(['OK', 'DUP'])
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 0, held: 0, subs: {} })
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toEqual([])
  })

  test('every command reports an unknown account and does not open it', async () => {
    expect(await ledger().topup({ account: ACCOUNT, id: 'default/c1', amount: 5 })).toBe('NOACCT')
    expect(await ledger().reserve(reservation('r1', 5))).toEqual({ reply: 'NOACCT' })
    expect(await ledger().renew(renewal('r1'))).toBe('NOACCT')
    expect(await ledger().settle(settlement('r1', 5, 0))).toBe('NOACCT')
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toEqual([])
    expect(await ledger().balance(ACCOUNT)).toBeUndefined()
  })

  test('a credit counts once per id and may be negative', async () => {
    await ledger().open(ACCOUNT)
    const credit = { account: ACCOUNT, id: 'default/c1', amount: 100 }
    expect(await ledger().topup(credit)).toBe('OK')
    expect(await ledger().topup(credit)).toBe('DUP')
    expect(await ledger().topup({ ...credit, amount: 101 })).toBe('CONFLICT')
    expect(await ledger().topup({ ...credit, sub: SUB })).toBe('CONFLICT')
    expect(await ledger().topup({ account: ACCOUNT, id: 'default/c2', amount: -30 })).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 70, held: 0, subs: {} })
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toMatchObject([
      { kind: 'credit', ref: 'default/c1', sub: '', delta: 100 },
      { kind: 'credit', ref: 'default/c2', sub: '', delta: -30 },
    ])
  })

  test('a credit that would exceed the safe integers is LIMIT and changes nothing', async () => {
    const most = Number.MAX_SAFE_INTEGER
    await fund(ledger(), ACCOUNT, most - 10)
    const credit = { account: ACCOUNT, id: 'default/more', amount: 11 }
    expect(await ledger().topup(credit)).toBe('LIMIT')
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: most - 10, held: 0, subs: {} })
    expect(await ledger().entries(ACCOUNT, undefined, 10)).toHaveLength(1)
    const at = await hold(ledger(), reservation('r1', 1))
    expect(await ledger().settle(settlement('r1', 1, at))).toBe('OK')
    expect(await ledger().topup(credit)).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: most, held: 0, subs: {} })
  })

  test('a sum beyond the safe integers is clamped, and no settle is refused', async () => {
    const most = Number.MAX_SAFE_INTEGER
    await fund(ledger(), ACCOUNT, 5 - most)
    const at = await hold(ledger(), reservation('r1', most, { enforced: false }))
    const other = await hold(ledger(), reservation('r2', 8, { enforced: false }))
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 5 - most, held: most, subs: {} })
    expect(await ledger().settle(settlement('r2', 8, other))).toBe('OK')
    expect(await ledger().settle(settlement('r1', most, at))).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: -most, held: 0, subs: {} })
    expect((await ledger().entries(ACCOUNT, undefined, 10)).at(-1)).toMatchObject({ ref: 'r2', delta: -5 })
  })

  test('an allowance raises only its sub-account; spending lowers both', async () => {
    await fund(ledger(), ACCOUNT, 100)
    await ledger().topup({ account: ACCOUNT, sub: SUB, id: 'default/allow', amount: 40 })
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 100,
      held: 0,
      subs: { [SUB]: { posted: 40, held: 0 } },
    })
    const at = await hold(ledger(), reservation('r1', 25, { sub: SUB }))
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 100,
      held: 25,
      subs: { [SUB]: { posted: 40, held: 25 } },
    })
    expect(await ledger().settle(settlement('r1', 20, at, { sub: SUB }))).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 80,
      held: 0,
      subs: { [SUB]: { posted: 20, held: 0 } },
    })
    expect((await ledger().entries(ACCOUNT, undefined, 10)).at(-1)).toMatchObject({
      kind: 'settle',
      ref: 'r1',
      sub: SUB,
      delta: -20,
      note: NOTE,
    })
  })

  test('entries are paged from the last one read', async () => {
    await ledger().open(ACCOUNT)
    for (let i = 1; i <= 12; i++) await ledger().topup({ account: ACCOUNT, id: `default/c${i}`, amount: i })
    const first = await ledger().entries(ACCOUNT, undefined, 5)
    expect(first.map((entry) => entry.delta)).toEqual([1, 2, 3, 4, 5])
    const rest = await ledger().entries(ACCOUNT, first.at(-1)?.id, 100)
    expect(rest.map((entry) => entry.delta)).toEqual([6, 7, 8, 9, 10, 11, 12])
    expect(await ledger().entries(ACCOUNT, rest.at(-1)?.id, 100)).toEqual([])
  })

  test('a repeated reservation is DUP with the state of its hold; with other arguments it is CONFLICT', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 60))
    expect(await ledger().reserve(reservation('r1', 60))).toEqual({
      reply: 'DUP',
      reservedAt: at,
      state: 'P',
    })
    expect(await ledger().reserve(reservation('r1', 59))).toEqual({ reply: 'CONFLICT' })
    expect(await ledger().reserve(reservation('r1', 60, { sub: SUB }))).toEqual({ reply: 'CONFLICT' })
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 100, held: 60, subs: {} })
  })

  test('an enlarged hold is still DUP to its first reservation', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 60))
    expect(await ledger().renew(renewal('r1', { amount: 70 }))).toBe('OK')
    expect(await ledger().reserve(reservation('r1', 60))).toEqual({
      reply: 'DUP',
      reservedAt: at,
      state: 'P',
    })
  })

  test('NOFUNDS distinguishes an empty balance from one tied up in holds', async () => {
    await ledger().open(ACCOUNT)
    const empty = { reply: 'NOFUNDS', of: 'account', reason: 'empty' }
    expect(await ledger().reserve(reservation('r1', 1))).toEqual(empty)
    expect(await ledger().reserve(reservation('r2', 0))).toEqual(empty)
    await ledger().topup({ account: ACCOUNT, id: 'default/c1', amount: 10 })
    const short = { reply: 'NOFUNDS', of: 'account', reason: 'hold' }
    expect(await ledger().reserve(reservation('r3', 11))).toEqual(short)
    await hold(ledger(), reservation('r4', 10))
    expect(await ledger().reserve(reservation('r5', 1))).toEqual(short)
    await hold(ledger(), reservation('r6', 0))
  })

  test('a refused reservation leaves no record', async () => {
    await fund(ledger(), ACCOUNT, 10)
    expect(await ledger().reserve(reservation('r1', 11))).toMatchObject({ reply: 'NOFUNDS' })
    expect(await ledger().renew(renewal('r1'))).toBe('UNKNOWN')
    await hold(ledger(), reservation('r1', 9))
  })

  test('an overdraft counts as funds', async () => {
    await ledger().open(ACCOUNT)
    await hold(ledger(), reservation('r1', 50, { overdraft: 50 }))
    expect(await ledger().reserve(reservation('r2', 1, { overdraft: 50 }))).toEqual({
      reply: 'NOFUNDS',
      of: 'account',
      reason: 'hold',
    })
    await ledger().topup({ account: ACCOUNT, id: 'default/minus', amount: -50 })
    expect(await ledger().reserve(reservation('r2', 0, { overdraft: 50 }))).toEqual({
      reply: 'NOFUNDS',
      of: 'account',
      reason: 'empty',
    })
  })

  test('a sub-account is checked like its account, with its own overdraft', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const refused = (reason: string) => ({ reply: 'NOFUNDS', of: 'sub', reason })
    expect(await ledger().reserve(reservation('r1', 0, { sub: SUB }))).toEqual(refused('empty'))
    await ledger().topup({ account: ACCOUNT, sub: SUB, id: 'default/allow', amount: 10 })
    expect(await ledger().reserve(reservation('r1', 11, { sub: SUB }))).toEqual(refused('hold'))
    expect(await ledger().reserve(reservation('r1', 16, { sub: SUB, subOverdraft: 5 }))).toEqual(
      refused('hold'),
    )
    await hold(ledger(), reservation('r1', 15, { sub: SUB, subOverdraft: 5 }))
    // Allowance does not help if the account itself is short; the lasting shortfall is reported first.
    await ledger().topup({ account: ACCOUNT, sub: SUB, id: 'default/more', amount: 500 })
    expect(await ledger().reserve(reservation('r2', 86, { sub: SUB }))).toEqual({
      reply: 'NOFUNDS',
      of: 'account',
      reason: 'hold',
    })
    expect(await ledger().reserve(reservation('r2', 86, { sub: 'never-credited' }))).toEqual(refused('empty'))
  })

  test('an account that is not enforced is counted and never refused', async () => {
    await ledger().open(ACCOUNT)
    const at = await hold(ledger(), reservation('r1', 70, { enforced: false, sub: SUB }))
    expect(await ledger().renew(renewal('r1', { amount: 75, enforced: false }))).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 0,
      held: 75,
      subs: { [SUB]: { posted: 0, held: 75 } },
    })
    expect(await ledger().settle(settlement('r1', 60, at, { sub: SUB }))).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: -60,
      held: 0,
      subs: { [SUB]: { posted: -60, held: 0 } },
    })
  })

  test('1,000 parallel reservations of 7 on a balance of 100 admit exactly 14', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => ledger().reserve(reservation(`r${i}`, 7))),
    )
    expect(answers.filter((answer) => answer.reply === 'OK')).toHaveLength(14)
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 100, held: 98, subs: {} })
  })

  test('accounts and sub-accounts with the same ids are separate', async () => {
    await fund(ledger(), ACCOUNT, 100)
    await fund(ledger(), OTHER, 100)
    await ledger().topup({ account: ACCOUNT, sub: SUB, id: 'default/allow', amount: 50 })
    await ledger().topup({ account: ACCOUNT, sub: 'second', id: 'default/allow2', amount: 50 })
    const at = await hold(ledger(), reservation('r1', 40, { sub: SUB }))
    await hold(ledger(), reservation('r1', 30, { account: OTHER, sub: SUB, subOverdraft: 30 }))
    await ledger().settle(settlement('r1', 40, at, { sub: SUB }))
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 60,
      held: 0,
      subs: { [SUB]: { posted: 10, held: 0 }, second: { posted: 50, held: 0 } },
    })
    expect(await ledger().balance(OTHER)).toEqual({
      posted: 100,
      held: 30,
      subs: { [SUB]: { posted: 0, held: 30 } },
    })
    expect(await ledger().entries(OTHER, undefined, 10)).toHaveLength(1)
  })

  test.each([
    ['a fraction', 0.5],
    ['beyond the safe integers', 2 ** 53],
    ['not a number', Number.NaN],
  ])('an amount that is %s is refused with RangeError and changes nothing', async (_what, amount) => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 10))
    const before = await ledger().balance(ACCOUNT)
    const calls = [
      ledger().topup({ account: ACCOUNT, id: 'default/c9', amount }),
      ledger().reserve(reservation('r2', amount)),
      ledger().renew(renewal('r1', { seen: amount })),
      ledger().renew(renewal('r1', { amount })),
      ledger().settle(settlement('r1', amount, at)),
    ]
    for (const result of await Promise.allSettled(calls))
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(RangeError) })
    expect(await ledger().balance(ACCOUNT)).toEqual(before)
  })
}
