import { describe, expect, test } from 'vitest'
import type { Reserve, Settle } from './contract.ts'
import type { Outcome } from './draft.ts'
import { type AccountState, apply, emptyAccount } from './state.ts'
import { KEEP_MS, REAPED_AT_ONCE, reap, renew, reserve, settle, topup } from './transition.ts'

const START = 1_000_000
const LEASE_MS = 30_000

function funded(amount: number): AccountState {
  const state = emptyAccount('a')
  perform(state, topup(state, { account: 'a', id: 'default/start', amount }))
  return state
}

function perform<Reply>(state: AccountState, outcome: Outcome<Reply>): Reply {
  apply(state, outcome.effects)
  return outcome.reply
}

function reservation(id: string, amount: number, rest: Partial<Reserve> = {}): Reserve {
  const about = { model: 'm', key: 'k' }
  return { account: 'a', id, amount, enforced: true, overdraft: 0, leaseMs: LEASE_MS, about, ...rest }
}

function settlement(id: string, actual: number, reservedAt = START, rest: Partial<Settle> = {}): Settle {
  const note = { reason: 'usage' as const, model: 'm', channel: 'c', key: 'k', tokens: {} }
  return { account: 'a', id, actual, reservedAt, note, ...rest }
}

describe('a command', () => {
  test('does not change the state until its effects are applied', () => {
    const state = funded(100)
    perform(state, reserve(state, reservation('due', 10, { leaseMs: 1 }), START))
    perform(state, reserve(state, reservation('live', 10), START))
    perform(state, settle(state, settlement('live', 5), START))
    const before = structuredClone({ ...state, leases: [], tombstones: [], entries: state.entries.last })
    const later = START + KEEP_MS + 1
    topup(state, { account: 'a', id: 'default/c2', amount: 5 })
    reserve(state, reservation('r', 10), later)
    renew(state, { ...reservation('due', 11), seen: 5 }, later)
    settle(state, settlement('due', 9), later)
    reap(state, 10, later)
    expect({ ...state, leases: [], tombstones: [], entries: state.entries.last }).toEqual(before)
    expect(state.leases.due(later, 9)).toEqual(['due'])
    expect(state.tombstones.due(later, 9)).toEqual(['live'])
  })

  test('to reserve adds a hold, its amounts and its lease', () => {
    const state = funded(100)
    const { effects } = reserve(state, reservation('r', 40, { enforced: false, sub: 's' }), START)
    expect(effects.map((effect) => effect.type)).toEqual(['add', 'add', 'put', 'schedule'])
    const free = reserve(state, reservation('free', 0), START)
    expect(free.effects.map((effect) => effect.type)).toEqual(['put', 'schedule'])
  })

  test('that changes nothing has no effects', () => {
    const state = funded(100)
    perform(state, reserve(state, reservation('r', 40), START))
    perform(state, settle(state, settlement('r', 10), START))
    expect(reserve(state, reservation('r', 40), START).effects).toEqual([])
    expect(reserve(state, reservation('r2', 91), START).effects).toEqual([])
    expect(renew(state, { ...reservation('r', 41), seen: 1 }, START).effects).toEqual([])
    expect(settle(state, settlement('r', 10), START).effects).toEqual([])
    expect(settle(state, settlement('old', 10, START - KEEP_MS - 1), START).effects).toEqual([])
    expect(topup(state, { account: 'a', id: 'default/start', amount: 100 }).effects).toEqual([])
    expect(reap(state, 10, START).effects).toEqual([])
  })

  test.each([
    ['amount of reserve', (s: AccountState) => reserve(s, reservation('r', -1), START)],
    ['lease of reserve', (s: AccountState) => reserve(s, reservation('r', 1, { leaseMs: -1 }), START)],
    ['overdraft', (s: AccountState) => reserve(s, reservation('r', 1, { overdraft: -1 }), START)],
    [
      'overdraft of a sub-account',
      (s: AccountState) => reserve(s, reservation('r', 1, { sub: 's', subOverdraft: 0.1 }), START),
    ],
    ['seen', (s: AccountState) => renew(s, { ...reservation('r', 0), seen: -1 }, START)],
    ['hold', (s: AccountState) => renew(s, { ...reservation('r', -1), seen: 0 }, START)],
    ['actual', (s: AccountState) => settle(s, settlement('r', -1), START)],
    ['time of reservation', (s: AccountState) => settle(s, settlement('r', 1, 0.5), START)],
    ['number of leases to reap', (s: AccountState) => reap(s, -1, START)],
  ])('with a bad %s throws RangeError', (_what, command) => {
    expect(() => command(funded(100))).toThrow(RangeError)
  })

  test('never leaves -0', () => {
    const state = emptyAccount('a')
    perform(state, topup(state, { account: 'a', id: 'default/c', amount: -0 }))
    perform(state, reserve(state, reservation('r', -0, { enforced: false, sub: 's' }), START))
    perform(state, renew(state, { ...reservation('r', -0), seen: -0 }, START))
    expect(reap(state, 1, START + LEASE_MS).reply).toEqual([{ account: 'a', id: 'r', charged: 0 }])
    perform(state, settle(state, settlement('r', -0, START, { sub: 's' }), START))
    expect(state.funds).toEqual({ posted: 0, held: 0 })
    expect(state.holds.get('r')).toMatchObject({ requested: 0, amount: 0, seen: 0, actual: 0 })
    expect(state.credits.get('default/c')).toEqual({ sub: undefined, amount: 0 })
  })
})

describe('a sum beyond the safe integers', () => {
  const MAX = Number.MAX_SAFE_INTEGER

  test('is refused for a credit and changes nothing', () => {
    const state = funded(MAX - 10)
    expect(topup(state, { account: 'a', id: 'default/more', amount: 11 })).toEqual({
      reply: 'LIMIT',
      effects: [],
    })
    expect(topup(state, { account: 'a', id: 'default/more', amount: 10 }).reply).toBe('OK')
    expect(topup(state, { account: 'a', id: 'default/allow', sub: 's', amount: MAX }).reply).toBe('OK')
    const poor = funded(-MAX)
    expect(topup(poor, { account: 'a', id: 'default/less', amount: -1 }).reply).toBe('LIMIT')
  })

  test('is held in part, and the same part is released', () => {
    const state = emptyAccount('a')
    const free = { enforced: false, sub: 's' }
    perform(state, reserve(state, reservation('r1', MAX - 5, free), START))
    expect(perform(state, reserve(state, reservation('r2', 9, free), START)).reply).toBe('OK')
    expect(state.funds.held).toBe(MAX)
    expect(perform(state, reserve(state, reservation('r2', 9, free), START)).reply).toBe('DUP')
    expect(perform(state, renew(state, { ...reservation('r2', 20, free), seen: 1 }, START))).toBe('OK')
    expect(state.funds.held).toBe(MAX)
    perform(state, settle(state, settlement('r1', 0, START, { sub: 's' }), START))
    expect([state.funds.held, state.subs.get('s')?.held]).toEqual([5, 5])
    perform(state, reap(state, 9, START + LEASE_MS))
    expect([state.funds.held, state.subs.get('s')?.held]).toEqual([0, 0])
  })

  test('is charged in part, the same to account and sub-account', () => {
    const state = funded(7 - MAX)
    const free = { enforced: false, sub: 's' }
    for (const id of ['settled', 'expired']) perform(state, reserve(state, reservation(id, 1, free), START))
    perform(state, renew(state, { ...reservation('expired', 1, free), seen: 5 }, START))
    expect(perform(state, settle(state, settlement('settled', 4, START, { sub: 's' }), START))).toBe('OK')
    expect(perform(state, reap(state, 9, START + LEASE_MS))).toHaveLength(1)
    expect(perform(state, settle(state, settlement('expired', 50, START, { sub: 's' }), START))).toBe('LATE')
    expect(perform(state, settle(state, settlement('lost', MAX), START))).toBe('LOST')
    expect(state.funds).toEqual({ posted: -MAX, held: 0 })
    expect(state.subs.get('s')).toEqual({ posted: -7, held: 0 })
    const deltas = state.entries.after(1, 10).map(({ kind, delta }) => [kind, delta])
    expect(deltas).toEqual([
      ['settle', -4],
      ['expire', -3],
    ])
  })
})

describe('to the millisecond', () => {
  test('a lease ends when its time is reached', () => {
    const state = funded(100)
    perform(state, reserve(state, reservation('r', 40), START))
    expect(reap(state, 10, START + LEASE_MS - 1).reply).toEqual([])
    expect(reap(state, 10, START + LEASE_MS).reply).toHaveLength(1)
  })

  test('an unknown id is lost up to the keep time, and stale after it', () => {
    const state = funded(100)
    expect(settle(state, settlement('r', 1), START + KEEP_MS).reply).toBe('LOST')
    expect(settle(state, settlement('r', 1), START + KEEP_MS + 1).reply).toBe('STALE')
  })

  test('a hold that was settled immediately is never both forgotten and young', () => {
    const state = funded(100)
    perform(state, reserve(state, reservation('r', 40), START))
    perform(state, settle(state, settlement('r', 5), START))
    expect(perform(state, settle(state, settlement('r', 5), START + KEEP_MS))).toBe('DUP')
    expect(perform(state, settle(state, settlement('r', 5), START + KEEP_MS + 1))).toBe('STALE')
    expect(state.holds.size).toBe(0)
    expect(state.funds.posted).toBe(95)
  })

  test('neither is one that was settled after the clock was set back', () => {
    const state = funded(100)
    const ahead = START + 60_000
    perform(state, reserve(state, reservation('r', 40), ahead))
    perform(state, settle(state, settlement('r', 5, ahead), START))
    expect(perform(state, settle(state, settlement('lost', 5, ahead), START))).toBe('LOST')
    const repeat = (nowMs: number) =>
      ['r', 'lost'].map((id) => perform(state, settle(state, settlement(id, 5, ahead), nowMs)))
    expect(repeat(ahead + KEEP_MS)).toEqual(['DUP', 'DUP'])
    expect(repeat(ahead + KEEP_MS + 1)).toEqual(['STALE', 'STALE'])
    expect(state.funds.posted).toBe(90)
  })
})

test('100,000 holds are reserved, renewed, expired and forgotten in small steps', () => {
  const count = 100_000
  const state = funded(count)
  for (let i = 0; i < count; i++) perform(state, reserve(state, reservation(`r${i}`, 1), START + (i % 1_000)))
  for (let i = 0; i < count; i += 2)
    perform(state, renew(state, { ...reservation(`r${i}`, 1), seen: 1 }, START + 5_000))
  expect(state.funds).toEqual({ posted: count, held: count })

  const expired = START + 5_000 + LEASE_MS
  const { effects } = reserve(state, reservation('next', 1), expired)
  expect(effects.filter((effect) => effect.type === 'unschedule')).toHaveLength(REAPED_AT_ONCE)
  for (let i = 0; i < count; i += 1_000) perform(state, reap(state, 1_000, expired))
  expect(state.leases.size).toBe(0)
  expect(state.funds).toEqual({ posted: count / 2, held: 0 })
  expect(state.tombstones.size).toBe(count)

  for (let i = 0; i < count; i += 1_000) perform(state, reap(state, 1_000, expired + KEEP_MS + 1))
  expect(state.tombstones.size).toBe(0)
  expect(state.holds.size).toBe(0)
})
