/** The ends of a hold: renewed, settled, void, expired, settled late, lost, forgotten. */
import { beforeEach, expect, test } from 'vitest'
import { KEEP_MS } from '../../../store/ledger/transition.ts'
import {
  ACCOUNT,
  fund,
  hold,
  LEASE_MS,
  NOTE,
  OTHER,
  renewal,
  reservation,
  SUB,
  settlement,
} from './fixtures.ts'
import type { Current } from './suite.ts'

export function holdCases(current: Current): void {
  const ledger = () => current().store.ledger
  const sums = async () => {
    const balance = await ledger().balance(ACCOUNT)
    return [balance?.posted, balance?.held]
  }
  /** Entries after the first credit. */
  const entries = async () =>
    (await ledger().entries(ACCOUNT, undefined, 100)).slice(1).map(({ id: _, ...entry }) => entry)

  beforeEach(() => fund(ledger(), ACCOUNT, 100))

  test('settle posts the real cost and frees the hold once', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await sums()).toEqual([100, 40])
    expect(await ledger().settle(settlement('r1', 25, at))).toBe('OK')
    expect(await ledger().settle(settlement('r1', 25, at))).toBe('DUP')
    expect(await ledger().settle(settlement('r1', 26, at))).toBe('CONFLICT')
    expect(await sums()).toEqual([75, 0])
    expect(await entries()).toEqual([{ kind: 'settle', ref: 'r1', sub: '', delta: -25, note: NOTE }])
    expect(await ledger().renew(renewal('r1', { seen: 99 }))).toBe('GONE')
    expect(await ledger().reserve(reservation('r1', 40))).toEqual({
      reply: 'DUP',
      reservedAt: at,
      state: 'S',
    })
    expect(await sums()).toEqual([75, 0])
  })

  test('a cost above the hold is posted in full', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await ledger().settle(settlement('r1', 140, at))).toBe('OK')
    expect(await sums()).toEqual([-40, 0])
  })

  test('a cost of zero voids the hold without an entry', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await ledger().settle(settlement('r1', 0, at))).toBe('OK')
    expect(await ledger().settle(settlement('r1', 0, at))).toBe('DUP')
    expect(await ledger().settle(settlement('r1', 1, at))).toBe('CONFLICT')
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 100, held: 0, subs: {} })
    expect(await entries()).toEqual([])
    expect(await ledger().renew(renewal('r1'))).toBe('GONE')
    expect(await ledger().reserve(reservation('r1', 40))).toMatchObject({ reply: 'DUP', state: 'V' })
  })

  test('settle on another sub-account is CONFLICT and leaves the hold', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await ledger().settle(settlement('r1', 40, at, { sub: SUB }))).toBe('CONFLICT')
    expect(await sums()).toEqual([100, 40])
  })

  test('renew enlarges the hold if funds allow, and extends the lease even if not', async () => {
    await hold(ledger(), reservation('r1', 60))
    expect(await ledger().renew(renewal('r1', { amount: 100 }))).toBe('OK')
    expect(await sums()).toEqual([100, 100])
    // A repeated or smaller amount (as after an unclear failure) neither adds nor frees funds.
    expect(await ledger().renew(renewal('r1', { amount: 100 }))).toBe('OK')
    expect(await ledger().renew(renewal('r1', { amount: 1 }))).toBe('OK')
    expect(await sums()).toEqual([100, 100])
    await current().advance(LEASE_MS - 5_000)
    expect(await ledger().renew(renewal('r1', { seen: 7, amount: 101 }))).toBe('NOFUNDS')
    expect(await sums()).toEqual([100, 100])
    await current().advance(LEASE_MS - 5_000)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
    await current().advance(10_000)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([{ account: ACCOUNT, id: 'r1', charged: 7 }])
  })

  test('renew checks the sub-account too', async () => {
    await ledger().topup({ account: ACCOUNT, sub: SUB, id: 'default/allow', amount: 20 })
    await hold(ledger(), reservation('r1', 20, { sub: SUB }))
    expect(await ledger().renew(renewal('r1', { amount: 26, subOverdraft: 5 }))).toBe('NOFUNDS')
    expect(await ledger().renew(renewal('r1', { amount: 25, subOverdraft: 5 }))).toBe('OK')
  })

  test('renew never shortens a lease', async () => {
    await hold(ledger(), reservation('r1', 10))
    await ledger().renew(renewal('r1', { leaseMs: 60_000 }))
    await ledger().renew(renewal('r1', { leaseMs: 1_000 }))
    await current().advance(50_000)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
  })

  test('an expired hold is charged the seen cost, which never falls', async () => {
    await hold(ledger(), reservation('r1', 40, { sub: SUB, subOverdraft: 50 }))
    await ledger().renew(renewal('r1', { seen: 12 }))
    await ledger().renew(renewal('r1', { seen: 5 }))
    await current().advance(LEASE_MS + 1_000)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([{ account: ACCOUNT, id: 'r1', charged: 12 }])
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 88,
      held: 0,
      subs: { [SUB]: { posted: -12, held: 0 } },
    })
    expect(await entries()).toMatchObject([
      {
        kind: 'expire',
        ref: 'r1',
        sub: SUB,
        delta: -12,
        note: { reason: 'checkpoint', model: NOTE.model, key: NOTE.key },
      },
    ])
    expect(await ledger().renew(renewal('r1'))).toBe('GONE')
    expect(await ledger().reserve(reservation('r1', 40, { sub: SUB, subOverdraft: 50 }))).toMatchObject({
      reply: 'DUP',
      state: 'E',
    })
  })

  test('a hold without a seen cost expires without an entry', async () => {
    await hold(ledger(), reservation('r1', 40))
    await current().advance(LEASE_MS + 1_000)
    expect(await ledger().reap(undefined, 10)).toEqual([{ account: ACCOUNT, id: 'r1', charged: 0 }])
    expect(await sums()).toEqual([100, 0])
    expect(await entries()).toEqual([])
  })

  test.each([
    ['more', 30, -18],
    ['less', 5, 7],
    ['nothing', 0, 12],
  ])('a settle after expiry posts the difference: %s than was seen', async (_what, actual, delta) => {
    const at = await hold(ledger(), reservation('r1', 40))
    await ledger().renew(renewal('r1', { seen: 12 }))
    await current().advance(LEASE_MS + 1_000)
    await ledger().reap(ACCOUNT, 10)
    expect(await ledger().settle(settlement('r1', actual, at))).toBe('LATE')
    expect(await ledger().settle(settlement('r1', actual, at))).toBe('DUP')
    expect(await ledger().settle(settlement('r1', actual + 1, at))).toBe('CONFLICT')
    expect(await sums()).toEqual([100 - actual, 0])
    expect((await entries()).slice(1)).toEqual([{ kind: 'late', ref: 'r1', sub: '', delta, note: NOTE }])
    expect(await ledger().reserve(reservation('r1', 40))).toMatchObject({ reply: 'DUP', state: 'L' })
  })

  test('a settle after expiry of exactly the seen cost adds no entry', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    await ledger().renew(renewal('r1', { seen: 12 }))
    await current().advance(LEASE_MS + 1_000)
    await ledger().reap(ACCOUNT, 10)
    expect(await ledger().settle(settlement('r1', 12, at))).toBe('LATE')
    expect(await sums()).toEqual([88, 0])
    expect(await entries()).toHaveLength(1)
  })

  test('a hold past its lease can be renewed and settled until it is reaped', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    await current().advance(LEASE_MS + 1_000)
    expect(await ledger().renew(renewal('r1'))).toBe('OK')
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
    await current().advance(LEASE_MS + 1_000)
    expect(await ledger().settle(settlement('r1', 9, at))).toBe('OK')
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([])
    expect(await sums()).toEqual([91, 0])
  })

  test('reserve first expires holds of its account past their lease, which frees their funds', async () => {
    await fund(ledger(), OTHER, 10)
    await hold(ledger(), reservation('r1', 100))
    await hold(ledger(), reservation('r1', 10, { account: OTHER }))
    await current().advance(LEASE_MS + 1_000)
    await hold(ledger(), reservation('r2', 100))
    expect(await sums()).toEqual([100, 100])
    expect((await ledger().balance(OTHER))?.held).toBe(10)
  })

  test('reserve expires at most 20 of them, earliest first', async () => {
    for (let i = 0; i < 25; i++) await hold(ledger(), reservation(`r${i}`, 4, { leaseMs: 1_000 + i }))
    await current().advance(2_000)
    expect(await ledger().reserve(reservation('x', 81))).toMatchObject({ reply: 'NOFUNDS' })
    expect(await sums()).toEqual([100, 20])
    expect((await ledger().reap(ACCOUNT, 10)).map(({ id }) => id)).toEqual([
      'r20',
      'r21',
      'r22',
      'r23',
      'r24',
    ])
  })

  test('reap expires at most the given number, for one account or all', async () => {
    await fund(ledger(), OTHER, 100)
    for (const account of [ACCOUNT, OTHER])
      for (const id of ['r1', 'r2', 'r3']) await hold(ledger(), reservation(id, 1, { account }))
    await current().advance(LEASE_MS + 1_000)
    expect(await ledger().reap(OTHER, 1)).toHaveLength(1)
    expect((await ledger().balance(OTHER))?.held).toBe(2)
    expect(await sums()).toEqual([100, 3])
    expect(await ledger().reap(undefined, 4)).toHaveLength(4)
    expect(await ledger().reap(undefined, 100)).toHaveLength(1)
    expect(await ledger().reap(undefined, 100)).toEqual([])
    expect(await sums()).toEqual([100, 0])
  })

  test('an unknown hold: renew reports it; settle posts a recent one as lost, once', async () => {
    const now = await hold(ledger(), reservation('clock', 1))
    expect(await ledger().renew(renewal('r1'))).toBe('UNKNOWN')
    expect(await ledger().settle(settlement('r1', 30, now, { sub: SUB }))).toBe('LOST')
    expect(await ledger().settle(settlement('r1', 30, now, { sub: SUB }))).toBe('DUP')
    expect(await ledger().settle(settlement('r1', 31, now, { sub: SUB }))).toBe('CONFLICT')
    expect(await ledger().settle(settlement('r1', 30, now))).toBe('CONFLICT')
    expect(await ledger().balance(ACCOUNT)).toEqual({
      posted: 70,
      held: 1,
      subs: { [SUB]: { posted: -30, held: 0 } },
    })
    expect(await entries()).toEqual([{ kind: 'lost', ref: 'r1', sub: SUB, delta: -30, note: NOTE }])
    expect(await ledger().renew(renewal('r1'))).toBe('GONE')
    // The upstream must not be called for it again.
    expect(await ledger().reserve(reservation('r1', 40, { sub: SUB }))).toMatchObject({
      reply: 'DUP',
      state: 'L',
    })
  })

  test('settle of an unknown id that is too old to judge posts nothing', async () => {
    const now = await hold(ledger(), reservation('clock', 1))
    expect(await ledger().settle(settlement('r1', 30, now - KEEP_MS - 1_000))).toBe('STALE')
    expect(await sums()).toEqual([100, 1])
    expect(await ledger().renew(renewal('r1'))).toBe('UNKNOWN')
  })

  test('the end of a hold is remembered for a while, then forgotten and never posted again', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    await ledger().settle(settlement('r1', 25, at))
    await current().advance(KEEP_MS - 1_000)
    expect(await ledger().settle(settlement('r1', 25, at))).toBe('DUP')
    await current().advance(2_000)
    expect(await ledger().settle(settlement('r1', 25, at))).toBe('STALE')
    expect(await sums()).toEqual([75, 0])
    expect(await ledger().reserve(reservation('r1', 41))).toMatchObject({ reply: 'OK' })
  })

  test('a late settle renews the tombstone', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    await current().advance(LEASE_MS + 1_000)
    await ledger().reap(ACCOUNT, 10)
    await current().advance(KEEP_MS - 1_000)
    expect(await ledger().settle(settlement('r1', 25, at))).toBe('LATE')
    await current().advance(KEEP_MS - 1_000)
    expect(await ledger().settle(settlement('r1', 25, at))).toBe('DUP')
    expect(await sums()).toEqual([75, 0])
  })
}
