/** Rate limits, counted with holds. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Meter, Reserve } from '../../../store/ledger/contract.ts'
import {
  ACCOUNT,
  CHECKPOINT,
  fund,
  hold,
  LEASE_MS,
  renew,
  reservation,
  settle,
  settlement,
  sumsOf,
} from './fixtures.ts'
import type { Current } from './under-test.ts'

const MINUTE = 60_000

const requests = (most: number, id = 'k/rm'): Meter => ({ id, most, windowMs: MINUTE, takes: 1 })
const tokens = (most: number, takes: number): Meter => ({ id: 'k/tm', most, windowMs: MINUTE, takes })
const live = (most: number): Meter => ({ id: 'k/c', most, windowMs: 0, takes: 1 })

export function meterCases(current: Current): void {
  const ledger = () => current().store.ledger
  const reserve = async (id: string, meters: Meter[], rest: Partial<Reserve> = {}) =>
    ledger().reserve(reservation(id, 1, { meters, ...rest }))
  const room = (...left: number[]) => expect.objectContaining({ reply: 'OK', room: left })

  beforeEach(() => fund(ledger(), ACCOUNT, 1_000))

  describe('a meter over time', () => {
    test('admits its limit at once, and then one at a time', async () => {
      const meters = [requests(3)]
      for (const [i, left] of [2, 1, 0].entries()) expect(await reserve(`r${i}`, meters)).toEqual(room(left))
      const full = { reply: 'LIMITED', meter: 0, waitMs: 20_000, room: [0] }
      expect(await reserve('r3', meters)).toEqual(full)
      await current().advance(19_000)
      expect(await reserve('r3', meters)).toEqual({ ...full, waitMs: 1_000 })
      await current().advance(1_000)
      expect(await reserve('r3', meters)).toEqual(room(0))
      await current().advance(2 * MINUTE)
      expect(await reserve('r4', meters)).toEqual(room(2))
    })

    test.each([7, 60, 100, 333, 1_000])('admits a whole burst of %i, and no more', async (most) => {
      const meters = [requests(most)]
      const replies = await Promise.all(
        Array.from({ length: most + 3 }, (_, i) => reserve(`r${i}`, meters, { amount: 0 })),
      )
      expect(replies.filter(({ reply }) => reply === 'OK')).toHaveLength(most)
      expect(replies.filter(({ reply }) => reply === 'LIMITED')).toHaveLength(3)
    })

    test('keeps its level when the limit changes', async () => {
      expect(await reserve('r1', [requests(10)])).toEqual(room(9))
      expect(await reserve('r2', [requests(2)])).toEqual(room(0))
      expect(await reserve('r3', [requests(2)])).toMatchObject({ reply: 'LIMITED', waitMs: 30_000 })
      expect(await reserve('r3', [requests(10)])).toEqual(room(7))
    })

    test('keeps its level when the limit changes while a request runs', async () => {
      const at = await hold(ledger(), reservation('r1', 1, { meters: [tokens(100, 50)] }))
      const corrections = [{ id: 'k/tm', most: 200, windowMs: MINUTE, by: -10 }]
      await ledger().settle(settlement('r1', 1, at, { corrections }))
      expect(await reserve('r2', [tokens(200, 10)])).toEqual(room(150))
    })

    test('is shared by all requests that name it, and by no others', async () => {
      expect(await reserve('r1', [requests(1)])).toEqual(room(0))
      expect(await reserve('r2', [requests(1, 'other/rm')])).toEqual(room(0))
      expect(await reserve('r3', [requests(1, 'other/rm')])).toMatchObject({ reply: 'LIMITED' })
    })

    test('admits more than its limit when it is empty, and nothing else until then', async () => {
      const bound = [tokens(100, 250)]
      expect(await reserve('r1', bound)).toEqual(room(0))
      // 150 above the limit, and 100 more for the same again.
      expect(await reserve('r2', bound)).toMatchObject({ reply: 'LIMITED', waitMs: 150_000 })
      expect(await reserve('r2', [tokens(100, 10)])).toMatchObject({ reply: 'LIMITED', waitMs: 96_000 })
      await current().advance(149_000)
      expect(await reserve('r2', bound)).toMatchObject({ reply: 'LIMITED', waitMs: 1_000 })
      await current().advance(1_000)
      expect(await reserve('r2', bound)).toEqual(room(0))
    })

    test('counts what a request took, once it is known', async () => {
      const at = await hold(ledger(), reservation('r1', 1, { meters: [tokens(100, 90)] }))
      const { takes: _, ...meter } = tokens(100, 90)
      const command = settlement('r1', 1, at, { corrections: [{ ...meter, by: -60 }] })
      expect((await ledger().settle(command)).reply).toBe('OK')
      expect((await ledger().settle(command)).reply).toBe('DUP')
      expect(await reserve('r2', [tokens(100, 0)])).toEqual(room(70))
      const more = await hold(ledger(), reservation('r3', 1, { meters: [tokens(100, 10)] }))
      await ledger().settle(settlement('r3', 1, more, { corrections: [{ ...meter, by: 40 }] }))
      expect(await reserve('r4', [tokens(100, 0)])).toEqual(room(20))
    })

    test('never falls below empty, nor is corrected by an unknown request', async () => {
      const { takes: _, ...meter } = tokens(100, 0)
      const at = await hold(ledger(), reservation('r1', 1, { meters: [tokens(100, 50)] }))
      await current().advance(MINUTE)
      await ledger().settle(settlement('r1', 1, at, { corrections: [{ ...meter, by: -50 }] }))
      expect(await reserve('r2', [tokens(100, 30)])).toEqual(room(70))
      await ledger().settle(settlement('unknown', 1, at, { corrections: [{ ...meter, by: -30 }] }))
      expect(await reserve('r3', [tokens(100, 0)])).toEqual(room(70))
    })

    test('is corrected by a settle after the lease', async () => {
      const { takes: _, ...meter } = tokens(100, 0)
      const at = await hold(ledger(), reservation('r1', 1, { meters: [tokens(10_000, 10_000)] }))
      await current().advance(LEASE_MS)
      await ledger().reap(ACCOUNT, 10)
      const late = settlement('r1', 1, at, { corrections: [{ ...meter, most: 10_000, by: -4_000 }] })
      expect((await ledger().settle(late)).reply).toBe('LATE')
      expect(await reserve('r2', [tokens(10_000, 0)])).toEqual(room(9_000))
    })
  })

  test('a meter that is empty is forgotten, and one that is not is kept', async () => {
    expect(await reserve('r1', [requests(60), tokens(10, 100)])).toEqual(room(59, 0))
    await current().advance(1_000)
    await ledger().trim(ACCOUNT, undefined, 3_600_000)
    expect(await reserve('r2', [requests(60), tokens(10, 1)])).toMatchObject({ reply: 'LIMITED', meter: 1 })
    expect(await reserve('r2', [requests(60)])).toEqual(room(59))
  })

  describe('a meter of live holds', () => {
    test('is freed by a settle', async () => {
      const at = await hold(ledger(), reservation('r1', 1, { meters: [live(2)] }))
      expect(await reserve('r2', [live(2)])).toEqual(room(0))
      const full = { reply: 'LIMITED', meter: 0, waitMs: 1_000, room: [0] }
      expect(await reserve('r3', [live(2)])).toEqual(full)
      expect(await settle(ledger(), 'r1', 1, at)).toBe('OK')
      expect(await settle(ledger(), 'r1', 1, at)).toBe('DUP')
      expect(await reserve('r3', [live(2)])).toEqual(room(0))
      expect(await reserve('r4', [live(2)])).toEqual(full)
    })

    test('is freed by the end of a lease, and counts a hold that is held again', async () => {
      const at = await hold(ledger(), reservation('r1', 1, { meters: [live(1)] }))
      await current().advance(LEASE_MS)
      expect(await reserve('r2', [live(1)])).toEqual(room(0))
      expect(await renew(ledger(), 'r1', { meters: [live(1)], reservedAt: at, note: CHECKPOINT })).toBe(
        'AGAIN',
      )
      expect(await reserve('r3', [live(3)])).toEqual(room(0))
      expect(await reserve('r4', [live(3)])).toMatchObject({ reply: 'LIMITED' })
      expect(await settle(ledger(), 'r1', 1, at)).toBe('LATE')
      expect(await reserve('r4', [live(3)])).toEqual(room(0))
    })

    test('counts a lost hold that is held again', async () => {
      expect(await renew(ledger(), 'lost', { meters: [live(1)] })).toBe('AGAIN')
      expect(await reserve('r1', [live(1)])).toMatchObject({ reply: 'LIMITED' })
    })

    test('stays right in a sub-account', async () => {
      const sub = { sub: 'ssssssssssssssssssss', enforced: false }
      const at = await hold(ledger(), reservation('r1', 1, { meters: [live(1)], ...sub }))
      expect(await reserve('r2', [live(1)], sub)).toMatchObject({ reply: 'LIMITED' })
      expect(await renew(ledger(), 'r1', { ...sub, meters: [live(1)], amount: 5 })).toBe('OK')
      expect(await settle(ledger(), 'r1', 1, at, { sub: sub.sub })).toBe('OK')
      expect(await sumsOf(ledger(), ACCOUNT, sub.sub)).toEqual([-1, 0])
      expect(await reserve('r2', [live(1)], sub)).toEqual(room(0))
    })
  })

  test('a request counts in all of its meters or in none, and a refused one holds nothing', async () => {
    const meters = [requests(10), tokens(100, 60), live(5)]
    expect(await reserve('r1', meters)).toEqual(room(9, 40, 4))
    expect(await reserve('r2', meters)).toMatchObject({ reply: 'LIMITED', meter: 1, room: [9, 40, 4] })
    expect(await sumsOf(ledger())).toEqual([1_000, 1])
    expect(await reserve('r2', [requests(10), live(5)], { amount: 5_000 })).toMatchObject({
      reply: 'NOFUNDS',
    })
    expect(await reserve('r2', [requests(10), tokens(100, 40), live(5)])).toEqual(room(8, 0, 3))
    expect(await sumsOf(ledger())).toEqual([1_000, 2])
  })

  test('the meter that is full for the longest time is named', async () => {
    const day: Meter = { id: 'k/rd', most: 2, windowMs: 24 * 60 * MINUTE, takes: 1 }
    const meters = [requests(2), day, live(2)]
    for (const id of ['r1', 'r2']) expect(await reserve(id, meters)).toMatchObject({ reply: 'OK' })
    expect(await reserve('r3', meters)).toEqual({
      ...{ reply: 'LIMITED', meter: 1, waitMs: 12 * 60 * MINUTE },
      room: [0, 0, 0],
    })
  })

  test('a repeated command takes no more room', async () => {
    expect(await reserve('r1', [requests(2), live(2)])).toEqual(room(1, 1))
    expect(await reserve('r1', [requests(2), live(2)])).toMatchObject({ reply: 'DUP', room: [1, 1] })
  })

  test.each<[string, Partial<Meter>]>([
    ['a limit of 0', { most: 0 }],
    ['half a limit', { most: 1.5 }],
    ['a negative window', { windowMs: -1 }],
    ['a negative request', { takes: -1 }],
  ])('%s is no meter', async (_what, bad) => {
    await expect(reserve('r1', [{ ...requests(1), ...bad }])).rejects.toThrow(RangeError)
    expect(await sumsOf(ledger())).toEqual([1_000, 0])
  })
}
