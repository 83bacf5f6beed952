/** The ends of a hold: renewed, settled, void, expired, settled late, lost, held again, forgotten. */
import { beforeEach, describe, expect, test } from 'vitest'
import { EXPIRED_KEEP_MS } from '../../../store/ledger/expiry.ts'
import { KEEP_MS } from '../../../store/ledger/tombstones.ts'
import {
  ACCOUNT,
  CHECKPOINT,
  fund,
  hold,
  LEASE_MS,
  NOTE,
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

export function holdCases(current: Current): void {
  const ledger = () => current().store.ledger
  const sums = (sub?: string) => sumsOf(ledger(), ACCOUNT, sub)
  /** Entries after the first credit. */
  const entries = async () =>
    (await ledger().entries(ACCOUNT, undefined, 100)).slice(1).map(({ id: _, ...entry }) => entry)
  const reap = (max = 10) => ledger().reap(ACCOUNT, max)
  const expire = async () => {
    await current().advance(LEASE_MS)
    return reap()
  }
  const over = { reply: 'OVER' }

  beforeEach(() => fund(ledger(), ACCOUNT, 100))

  test('a repeated settle is answered with the entry of the first', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    const first = await ledger().settle(settlement('r1', 25, at))
    expect(first).toEqual({ reply: 'OK', entry: expect.stringMatching(/^\d+-\d+$/) })
    expect(await ledger().settle(settlement('r1', 25, at))).toEqual({ ...first, reply: 'DUP' })
  })

  test('settle posts the real cost and frees the hold once', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await sums()).toEqual([100, 40])
    expect(await settle(ledger(), 'r1', 25, at)).toBe('OK')
    expect(await settle(ledger(), 'r1', 25, at)).toBe('DUP')
    expect(await settle(ledger(), 'r1', 26, at)).toBe('CONFLICT')
    expect(await settle(ledger(), 'r1', 25, at, { sub: SUB })).toBe('CONFLICT')
    expect(await sums()).toEqual([75, 0])
    expect(await entries()).toEqual([{ kind: 'settle', ref: 'r1', sub: '', delta: -25, note: NOTE }])
    expect(await renew(ledger(), 'r1', { seen: 99 })).toBe('GONE')
    // As after a reset: the first of two equal commands arrives last.
    expect(await ledger().reserve(reservation('r1', 40))).toEqual(over)
    expect(await sums()).toEqual([75, 0])
  })

  test('the reply to settle names the closing entry', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    const reply = await ledger().settle({ account: ACCOUNT, id: 'r1', actual: 5, reservedAt: at, note: NOTE })
    const last = (await ledger().entries(ACCOUNT, undefined, 10)).at(-1)
    expect(reply).toEqual({ reply: 'OK', entry: last?.id })
  })

  test('a cost above the hold is posted in full', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await settle(ledger(), 'r1', 140, at)).toBe('OK')
    expect(await sums()).toEqual([-40, 0])
  })

  test('a cost of zero frees the hold and leaves its entry', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    const note = { ...NOTE, reason: 'unserved' as const }
    expect(await settle(ledger(), 'r1', 0, at, { note })).toBe('OK')
    expect(await settle(ledger(), 'r1', 0, at, { note })).toBe('DUP')
    expect(await settle(ledger(), 'r1', 1, at)).toBe('CONFLICT')
    expect(await sums()).toEqual([100, 0])
    expect(await entries()).toEqual([{ kind: 'settle', ref: 'r1', sub: '', delta: 0, note }])
    expect(await renew(ledger(), 'r1')).toBe('GONE')
    expect(await ledger().reserve(reservation('r1', 40))).toEqual(over)
  })

  test('settle on another sub-account is CONFLICT and leaves the hold', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    expect(await settle(ledger(), 'r1', 40, at, { sub: SUB })).toBe('CONFLICT')
    expect(await sums()).toEqual([100, 40])
  })

  test('renew enlarges the hold if funds allow, and extends the lease even if not', async () => {
    await hold(ledger(), reservation('r1', 60))
    expect(await renew(ledger(), 'r1', { amount: 100 })).toBe('OK')
    expect(await sums()).toEqual([100, 100])
    // A repeated or smaller amount (as after an unclear failure) neither adds nor frees funds.
    expect(await renew(ledger(), 'r1', { amount: 100 })).toBe('OK')
    expect(await renew(ledger(), 'r1', { amount: 1 })).toBe('OK')
    expect(await sums()).toEqual([100, 100])
    await current().advance(LEASE_MS - 5_000)
    expect(await renew(ledger(), 'r1', { seen: 7, amount: 101 })).toBe('NOFUNDS')
    expect(await sums()).toEqual([100, 100])
    await current().advance(LEASE_MS - 5_000)
    expect(await reap()).toEqual([])
    await current().advance(10_000)
    expect(await reap()).toEqual([{ account: ACCOUNT, id: 'r1', charged: 7 }])
  })

  test('one command renews many holds, each as if it were alone', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    await hold(ledger(), reservation('r2', 40))
    await hold(ledger(), reservation('r3', 10))
    await settle(ledger(), 'r3', 1, at)
    const renewals = [
      renewal('r1', { amount: 55, seen: 3 }),
      renewal('r2', { amount: 50, seen: 4 }),
      renewal('r3'),
      renewal('r4', { amount: 5, seen: 5, reservedAt: at }),
    ]
    expect(await ledger().renew(ACCOUNT, renewals)).toEqual(['OK', 'NOFUNDS', 'GONE', 'AGAIN'])
    expect(await sums()).toEqual([99, 55 + 40 + 5])
    expect(await ledger().renew(ACCOUNT, [])).toEqual([])
    await current().advance(LEASE_MS)
    expect((await reap()).map(({ id, charged }) => [id, charged])).toEqual([
      ['r1', 3],
      ['r2', 4],
      ['r4', 5],
    ])
  })

  test('renew checks the sub-account too', async () => {
    await topup(ledger(), 'default/allow', 20, { sub: SUB })
    await hold(ledger(), reservation('r1', 20, { sub: SUB }))
    expect(await renew(ledger(), 'r1', { amount: 26, subOverdraft: 5 })).toBe('NOFUNDS')
    expect(await renew(ledger(), 'r1', { amount: 25, subOverdraft: 5 })).toBe('OK')
  })

  test('renew never shortens a lease', async () => {
    await hold(ledger(), reservation('r1', 10))
    await renew(ledger(), 'r1', { leaseMs: 60_000 })
    await renew(ledger(), 'r1', { leaseMs: 1_000 })
    await current().advance(50_000)
    expect(await reap()).toEqual([])
  })

  test('an expired hold is charged the seen cost, which never falls, with the note that came with it', async () => {
    await hold(ledger(), reservation('r1', 40, { sub: SUB, subOverdraft: 50, seen: 2 }))
    const note = { ...CHECKPOINT, channel: 'east', tokens: { output: 4 } }
    await renew(ledger(), 'r1', { seen: 12, note })
    await renew(ledger(), 'r1', { seen: 5 })
    expect(await expire()).toEqual([{ account: ACCOUNT, id: 'r1', charged: 12 }])
    expect(await reap()).toEqual([])
    expect([await sums(), await sums(SUB)]).toEqual([
      [88, 0],
      [-12, 0],
    ])
    expect(await entries()).toEqual([{ kind: 'expire', ref: 'r1', sub: SUB, delta: -12, note }])
    expect(await ledger().reserve(reservation('r1', 40, { sub: SUB, subOverdraft: 50 }))).toEqual(over)
  })

  test('a hold that was never renewed is charged what reserve named, zero included', async () => {
    await hold(ledger(), reservation('r1', 40, { seen: 6 }))
    await hold(ledger(), reservation('r2', 40))
    expect((await expire()).map(({ id, charged }) => [id, charged])).toEqual([
      ['r1', 6],
      ['r2', 0],
    ])
    expect(await sums()).toEqual([94, 0])
    expect((await entries()).map(({ kind, ref, delta }) => [kind, ref, delta])).toEqual([
      ['expire', 'r1', -6],
      ['expire', 'r2', 0],
    ])
  })

  test.each([
    ['more', 30, -18],
    ['less', 5, 7],
    ['nothing', 0, 12],
    ['exactly what', 12, 0],
  ])('a settle after expiry posts the difference: %s was seen', async (_what, actual, delta) => {
    const at = await hold(ledger(), reservation('r1', 40, { seen: 12 }))
    await expire()
    expect(await settle(ledger(), 'r1', actual, at, { sub: SUB })).toBe('CONFLICT')
    expect(await settle(ledger(), 'r1', actual, at)).toBe('LATE')
    expect(await settle(ledger(), 'r1', actual, at)).toBe('DUP')
    expect(await settle(ledger(), 'r1', actual + 1, at)).toBe('CONFLICT')
    expect(await sums()).toEqual([100 - actual, 0])
    expect((await entries()).slice(1)).toEqual([{ kind: 'late', ref: 'r1', sub: '', delta, note: NOTE }])
    expect(await ledger().reserve(reservation('r1', 40))).toEqual(over)
  })

  test('a hold past its lease can be renewed and settled until it is reaped', async () => {
    const at = await hold(ledger(), reservation('r1', 40))
    await current().advance(LEASE_MS + 1_000)
    expect(await renew(ledger(), 'r1')).toBe('OK')
    expect(await reap()).toEqual([])
    await current().advance(LEASE_MS + 1_000)
    expect(await settle(ledger(), 'r1', 10, at)).toBe('OK')
    expect(await sums()).toEqual([90, 0])
  })

  test('reserve expires due holds, at most twenty', async () => {
    for (let i = 0; i < 30; i++) await hold(ledger(), reservation(`r${i}`, 3))
    await current().advance(LEASE_MS)
    expect(await ledger().reserve(reservation('next', 71))).toMatchObject({ reply: 'NOFUNDS' })
    expect(await sums()).toEqual([100, 30])
    await hold(ledger(), reservation('next', 71))
    expect(await sums()).toEqual([100, 71])
  })

  test('reap expires the earliest first, at most as many as it may', async () => {
    await hold(ledger(), reservation('late', 1, { leaseMs: 3_000 }))
    await hold(ledger(), reservation('b', 1, { leaseMs: 1_000 }))
    await hold(ledger(), reservation('a', 1, { leaseMs: 1_000 }))
    await current().advance(2_000)
    expect(await reap(0)).toEqual([])
    expect((await reap(1)).map(({ id }) => id)).toEqual(['a'])
    expect((await reap(9)).map(({ id }) => id)).toEqual(['b'])
    await current().advance(1_000)
    expect((await reap(9)).map(({ id }) => id)).toEqual(['late'])
  })

  describe('a hold that was lost', () => {
    test('is held again by its renewal, whatever the funds', async () => {
      const at = await hold(ledger(), reservation('other', 90))
      const terms = { sub: SUB, amount: 40, seen: 7, reservedAt: at }
      expect(await renew(ledger(), 'r1', terms)).toBe('AGAIN')
      expect(await renew(ledger(), 'r1', terms)).toBe('OK')
      expect([await sums(), await sums(SUB)]).toEqual([
        [100, 130],
        [0, 40],
      ])
      expect(await settle(ledger(), 'r1', 9, at, { sub: SUB })).toBe('OK')
      expect(await sums()).toEqual([91, 90])
      expect(await entries()).toEqual([{ kind: 'settle', ref: 'r1', sub: SUB, delta: -9, note: NOTE }])
    })

    test('and is settled before any renewal is charged once', async () => {
      const at = await hold(ledger(), reservation('clock', 1))
      expect(await settle(ledger(), 'r1', 30, at, { sub: SUB })).toBe('LOST')
      expect(await settle(ledger(), 'r1', 30, at, { sub: SUB })).toBe('DUP')
      expect(await settle(ledger(), 'r1', 31, at, { sub: SUB })).toBe('CONFLICT')
      expect(await settle(ledger(), 'r1', 30, at)).toBe('CONFLICT')
      expect([await sums(), await sums(SUB)]).toEqual([
        [70, 1],
        [-30, 0],
      ])
      expect(await entries()).toEqual([{ kind: 'lost', ref: 'r1', sub: SUB, delta: -30, note: NOTE }])
      expect(await renew(ledger(), 'r1')).toBe('GONE')
      // The upstream must not be called for it again.
      expect(await ledger().reserve(reservation('r1', 40, { sub: SUB }))).toEqual(over)
    })
  })

  test('an expired hold is held again by its renewal, and its settle posts the difference', async () => {
    const at = await hold(ledger(), reservation('r1', 40, { seen: 12 }))
    await expire()
    expect(await renew(ledger(), 'r1', { amount: 50, seen: 20, reservedAt: at })).toBe('AGAIN')
    expect(await sums()).toEqual([88, 50])
    expect(await settle(ledger(), 'r1', 30, at)).toBe('LATE')
    expect(await settle(ledger(), 'r1', 30, at)).toBe('DUP')
    expect(await sums()).toEqual([70, 0])
    expect((await entries()).map(({ kind, delta }) => [kind, delta])).toEqual([
      ['expire', -12],
      ['late', -18],
    ])
  })

  test('a hold that expires twice is charged once', async () => {
    const at = await hold(ledger(), reservation('r1', 40, { seen: 12 }))
    await expire()
    expect(await renew(ledger(), 'r1', { amount: 40, seen: 5, reservedAt: at })).toBe('AGAIN')
    await renew(ledger(), 'r1', { amount: 40, seen: 15, reservedAt: at })
    expect(await expire()).toEqual([{ account: ACCOUNT, id: 'r1', charged: 3 }])
    expect(await sums()).toEqual([85, 0])
    expect(await settle(ledger(), 'r1', 10, at)).toBe('LATE')
    expect(await sums()).toEqual([90, 0])
  })

  describe('a settle that was repeated', () => {
    test('is DUP for a quarter of an hour at least, and then found in the entries', async () => {
      const at = await hold(ledger(), reservation('r1', 40))
      await settle(ledger(), 'r1', 25, at)
      for (let passed = 0; passed < 2 * KEEP_MS; passed += KEEP_MS / 3) {
        expect(await settle(ledger(), 'r1', 25, at)).toBe('DUP')
        await current().advance(KEEP_MS / 3)
      }
      expect(await settle(ledger(), 'r1', 25, at)).toBe('DUP')
      expect(await settle(ledger(), 'r1', 26, at)).toBe('CONFLICT')
      expect(await sums()).toEqual([75, 0])
    })

    test.each([1, 60, 3_600])('is charged once, although the clock was set back by %i s', async (seconds) => {
      await current().advance(KEEP_MS + seconds * 1_000)
      const at = await hold(ledger(), reservation('r1', 40))
      await current().advance(-seconds * 1_000)
      expect(await settle(ledger(), 'r1', 25, at)).toBe('OK')
      for (let passed = 0; passed < 2 * 3_600_000; passed += 200_000) {
        await current().advance(200_000)
        expect(await settle(ledger(), 'r1', 25, at)).toBe('DUP')
      }
      expect(await settle(ledger(), 'r1', 26, at)).toBe('CONFLICT')
      expect(await sums()).toEqual([75, 0])
    })

    test('after its entry was removed is STALE and posts nothing', async () => {
      const at = await hold(ledger(), reservation('r1', 40))
      await settle(ledger(), 'r1', 25, at)
      await current().advance(2 * KEEP_MS)
      const last = (await ledger().entries(ACCOUNT, undefined, 10)).at(-1)
      await ledger().trim(ACCOUNT, last?.id ?? '', 0)
      await ledger().trim(ACCOUNT, `${at + 1_000}-0`, 0)
      expect(await settle(ledger(), 'r1', 25, at)).toBe('STALE')
      expect(await sums()).toEqual([75, 0])
    })
  })

  test('a settle of a hold that was lost long ago is posted, because no entry has its id', async () => {
    const at = await hold(ledger(), reservation('other', 1))
    await settle(ledger(), 'other', 1, at)
    await current().advance(2 * KEEP_MS)
    expect(await settle(ledger(), 'r1', 30, at)).toBe('LOST')
    expect(await settle(ledger(), 'r1', 30, at)).toBe('DUP')
    expect(await sums()).toEqual([69, 0])
  })

  test('an expired hold waits a day for its settle', async () => {
    const at = await hold(ledger(), reservation('r1', 40, { seen: 12 }))
    await hold(ledger(), reservation('r2', 40, { seen: 12 }))
    await expire()
    await current().advance(EXPIRED_KEEP_MS - 1)
    await reap()
    expect(await settle(ledger(), 'r1', 25, at)).toBe('LATE')
    await current().advance(1)
    await reap()
    // Now only its entry is known, which another cost contradicts.
    expect(await settle(ledger(), 'r2', 25, at)).toBe('CONFLICT')
    expect(await sums()).toEqual([63, 0])
  })
}
