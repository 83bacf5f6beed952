/** Budgets, held and charged with holds. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Budget, Reserve } from '../../../store/ledger/contract.ts'
import {
  ACCOUNT,
  EPOCH,
  fund,
  hold,
  LEASE_MS,
  renew,
  reservation,
  SUB,
  settle,
  settlement,
  sumsOf,
  topup,
} from './fixtures.ts'
import type { Current } from './under-test.ts'

const DAY = 86_400_000

export function budgetCases(current: Current): void {
  const ledger = () => current().store.ledger
  let now = 0
  /** Renews every day, counted from the store's time at the beginning of the test. */
  const budget = (most: number, id = 'k/day'): Budget => ({
    id,
    most,
    periods: [now, now + DAY, now + 2 * DAY],
  })
  const reserve = async (id: string, amount: number, budgets: Budget[], rest: Partial<Reserve> = {}) =>
    ledger().reserve(reservation(id, amount, { budgets, ...rest }))
  const sums = async (id = 'k/day') => (await ledger().balance(ACCOUNT, { budgets: [id] }))?.budgets[id]
  const short = (reason: string, index = 0) => ({ reply: 'NOFUNDS', of: 'budget', budget: index, reason })

  beforeEach(async () => {
    await fund(ledger(), ACCOUNT, 1_000)
    now = await hold(ledger(), reservation('clock', 0))
    await settle(ledger(), 'clock', 0, now)
  })

  test('a budget is held and charged beside the balance', async () => {
    expect(await reserve('r1', 60, [budget(100)])).toMatchObject({
      ...{ reply: 'OK', free: 40, posted: 1_000, spent: [0] },
    })
    expect(await sums()).toEqual({ spent: 0, held: 60, until: now + DAY, after: now + 2 * DAY })
    expect(await reserve('r2', 41, [budget(100)])).toEqual(short('hold'))
    expect(await settle(ledger(), 'r1', 25, now)).toBe('OK')
    expect(await sums()).toMatchObject({ spent: 25, held: 0 })
    expect(await sumsOf(ledger())).toEqual([975, 0])
    expect(await settle(ledger(), 'r1', 25, now)).toBe('DUP')
    expect(await reserve('r2', 75, [budget(100)])).toMatchObject({ reply: 'OK', free: 0, spent: [25] })
    expect(await settle(ledger(), 'r2', 80, now)).toBe('OK')
    expect(await reserve('r3', 0, [budget(100)])).toEqual(short('empty'))
    expect(await sumsOf(ledger())).toEqual([895, 0])
  })

  test('an account that is not enforced is bounded by its budget alone', async () => {
    const unlimited = { enforced: false }
    expect(await reserve('r1', 5_000, [budget(6_000)], unlimited)).toMatchObject({ reply: 'OK', free: 1_000 })
    expect(await reserve('r2', 5_000, [budget(6_000)], unlimited)).toEqual(short('hold'))
    expect(await reserve('r3', 0, [], unlimited)).toMatchObject({ free: Number.MAX_SAFE_INTEGER })
  })

  test('an empty balance comes before a budget, and a used up budget before a shortfall', async () => {
    await topup(ledger(), 'default/allowance', 10, { sub: SUB })
    const used = budget(0, 'k/month')
    expect(await reserve('r1', 50, [budget(100), used], { sub: SUB })).toEqual(short('empty', 1))
    expect(await reserve('r1', 50, [budget(30)], { sub: SUB })).toMatchObject({ of: 'sub', reason: 'hold' })
    expect(await reserve('r1', 10, [budget(100), budget(5, 'k/month')], { sub: SUB })).toEqual(
      short('hold', 1),
    )
    await topup(ledger(), 'default/debit', -10, { sub: SUB })
    expect(await reserve('r1', 1, [used], { sub: SUB })).toMatchObject({ of: 'sub', reason: 'empty' })
    expect(await sumsOf(ledger(), ACCOUNT, SUB)).toEqual([0, 0])
  })

  test('a refused request holds nothing in any budget', async () => {
    expect(await reserve('r1', 50, [budget(100), budget(40, 'k/month')])).toEqual(short('hold', 1))
    expect(await sums()).toBeUndefined()
  })

  test('is enlarged with the hold, as far as it allows', async () => {
    await reserve('r1', 60, [budget(100)])
    expect(await renew(ledger(), 'r1', { amount: 90, budgets: [budget(100)] })).toBe('OK')
    expect(await sums()).toMatchObject({ held: 90 })
    expect(await renew(ledger(), 'r1', { amount: 101, budgets: [budget(100)] })).toBe('NOFUNDS')
    expect(await sums()).toMatchObject({ held: 90 })
    expect(await settle(ledger(), 'r1', 95, now)).toBe('OK')
    expect(await sums()).toMatchObject({ spent: 95, held: 0 })
  })

  describe('the period', () => {
    test('renews with the first command after its end, and what is held stays held', async () => {
      await reserve('r1', 30, [budget(100)], { leaseMs: 2 * DAY })
      await reserve('r2', 70, [budget(100)])
      expect(await settle(ledger(), 'r2', 70, now)).toBe('OK')
      await current().advance(DAY - 1_000)
      expect(await reserve('r3', 1, [budget(100)])).toEqual(short('hold'))
      await current().advance(1_000)
      expect(await reserve('r3', 70, [budget(100)])).toMatchObject({ reply: 'OK', free: 0, spent: [0] })
      expect(await sums()).toEqual({ spent: 0, held: 100, until: now + 2 * DAY, after: now + 3 * DAY })
      expect(await settle(ledger(), 'r1', 20, now)).toBe('OK')
      expect(await sums()).toMatchObject({ spent: 20, held: 70 })
    })

    test('renews with an expiry', async () => {
      await reserve('r1', 30, [budget(100)], { seen: 7 })
      await current().advance(DAY + LEASE_MS)
      expect(await ledger().reap(ACCOUNT, 10)).toMatchObject([{ id: 'r1', charged: 7 }])
      expect(await sums()).toEqual({ spent: 7, held: 0, until: now + 2 * DAY, after: now + 3 * DAY })
      expect(await ledger().settle(settlement('r1', 12, now, { budgets: [budget(100)] }))).toMatchObject({
        reply: 'LATE',
      })
      expect(await sums()).toMatchObject({ spent: 12, held: 0 })
    })

    test('is the one of the clock of the store', async () => {
      // A proxy whose clock is an hour ahead, just before the end; another an hour behind, just after.
      const ahead: Budget = { id: 'k/day', most: 100, periods: [now + DAY, now + 2 * DAY, now + 3 * DAY] }
      const at = await hold(ledger(), reservation('r1', 50, { budgets: [ahead] }))
      await settle(ledger(), 'r1', 50, at)
      expect(await sums()).toMatchObject({ spent: 50, until: now + DAY })
      expect(await reserve('r2', 51, [budget(100)])).toEqual(short('hold'))
      await current().advance(DAY)
      expect(await reserve('r2', 100, [budget(100)])).toMatchObject({ reply: 'OK', spent: [0] })
      expect(await sums()).toMatchObject({ until: now + 2 * DAY })
    })

    test('keeps what was spent when its borders move with the time zone', async () => {
      await reserve('r1', 50, [budget(100)])
      await settle(ledger(), 'r1', 50, now)
      const hours = 8 * 3_600_000
      const west: Budget = {
        id: 'k/day',
        most: 100,
        periods: [now - hours, now - hours + DAY, now - hours + 2 * DAY],
      }
      expect(await reserve('r2', 51, [west])).toEqual(short('hold'))
      expect(await reserve('r2', 50, [west])).toMatchObject({ reply: 'OK', spent: [50] })
      expect(await sums()).toMatchObject({ until: now - hours + DAY })
    })
  })

  test('a lost hold is charged to the budgets that its settle names, and one that is held again holds them', async () => {
    expect(await ledger().settle(settlement('lost', 40, now, { budgets: [budget(100)] }))).toMatchObject({
      reply: 'LOST',
    })
    expect(await sums()).toMatchObject({ spent: 40, held: 0 })
    expect(await renew(ledger(), 'again', { amount: 500, budgets: [budget(100)] })).toBe('AGAIN')
    expect(await sums()).toMatchObject({ spent: 40, held: 500 })
    await current().advance(LEASE_MS)
    await ledger().reap(ACCOUNT, 10)
    expect(await sums()).toMatchObject({ spent: 40, held: 0 })
  })

  test('a correction raises what was spent in a period that is not over', async () => {
    await reserve('r1', 50, [budget(100)])
    await settle(ledger(), 'r1', 10, now)
    const correct = (id: string, until: number) =>
      ledger().adjust({
        ...{ account: ACCOUNT, epoch: EPOCH, id, reason: 'restore', changes: [] },
        budgets: [{ id: 'k/day', spent: 15, until, after: until + DAY }],
      })
    expect(await correct('a1', now)).toBe('OK')
    expect(await sums()).toMatchObject({ spent: 10 })
    expect(await correct('a2', now + DAY)).toBe('OK')
    expect(await correct('a2', now + DAY)).toBe('DUP')
    expect(await sums()).toEqual({ spent: 25, held: 0, until: now + DAY, after: now + 2 * DAY })
  })

  test('a budget that was not used for a whole period is forgotten, others are not', async () => {
    await reserve('r1', 10, [budget(100)])
    await settle(ledger(), 'r1', 10, now)
    await current().advance(DAY)
    await reserve('r2', 10, [budget(100, 'k/week')])
    await settle(ledger(), 'r2', 10, now + DAY)
    await current().advance(DAY)
    await ledger().trim(ACCOUNT, undefined, 0)
    expect(await sums()).toBeUndefined()
    expect(await sums('k/week')).toMatchObject({ spent: 10 })
  })

  test('no command names a budget twice', async () => {
    await expect(reserve('r1', 1, [budget(1), budget(2)])).rejects.toThrow(RangeError)
    const twice = settlement('r1', 1, now, { budgets: [budget(1), budget(2)] })
    await expect(async () => ledger().settle(twice)).rejects.toThrow(RangeError)
    expect(await sumsOf(ledger())).toEqual([1_000, 0])
  })

  test.each<[string, Partial<Budget>]>([
    ['a negative amount', { most: -1 }],
    ['half a nano-dollar', { most: 0.5 }],
    ['half a millisecond', { periods: [0.5, 1, 2] }],
  ])('%s is no budget', async (_what, bad) => {
    await expect(reserve('r1', 1, [{ ...budget(1), ...bad }])).rejects.toThrow(RangeError)
    expect(await sumsOf(ledger())).toEqual([1_000, 0])
  })
}
