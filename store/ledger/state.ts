/**
 * The state of one account, and the effects that change it. Every effect corresponds to one Redis command on one key of
 * the account, so that scripts can do the same.
 */
import type { Nanos } from '../../contract/money.ts'
import { Tail } from '../tail.ts'
import type { HoldState, LedgerEntry, Reserve } from './contract.ts'
import { Schedule } from './schedule.ts'

/** How many entries an account keeps, the newest ones. Balances do not depend on them. */
export const ENTRIES_KEPT = 10_000

export interface Funds {
  posted: Nanos
  held: Nanos
}

/** A reservation, from its hold to the end of its tombstone. */
export interface Hold {
  state: HoldState
  sub: string | undefined
  /** Amount passed to reserve; undefined when the hold was lost and only its settle is known. */
  requested: Nanos | undefined
  /** Amount held while pending: the countable part of `requested`, plus what renew added. */
  amount: Nanos
  /** Cost so far, from renew. */
  seen: Nanos
  /** Amount passed to settle. */
  actual: Nanos | undefined
  /** Store time in ms. */
  reservedAt: number
  /** Note for the entry of an expiry; undefined when the hold was lost. */
  about: Reserve['about'] | undefined
}

export interface Credited {
  sub: string | undefined
  amount: Nanos
}

export interface AccountState {
  readonly account: string
  readonly funds: Funds
  readonly subs: Map<string, Funds>
  /** Pending holds and tombstones, by request id. */
  readonly holds: Map<string, Hold>
  /** When the leases of pending holds end. */
  readonly leases: Schedule
  /** When tombstones are removed. */
  readonly tombstones: Schedule
  /** Applied credits by id, kept for ever so that none is applied twice. */
  readonly credits: Map<string, Credited>
  readonly entries: Tail<LedgerEntry>
}

export type Effect =
  /** HINCRBY on the balance of the sub-account, or of the account if `sub` is undefined. */
  | { type: 'add'; field: keyof Funds; sub: string | undefined; by: Nanos }
  /** HSET and HDEL on the holds. */
  | { type: 'put'; id: string; hold: Hold }
  | { type: 'remove'; id: string }
  /** ZADD and ZREM on the ends of leases or of tombstones. */
  | { type: 'schedule'; in: 'leases' | 'tombstones'; id: string; at: number }
  | { type: 'unschedule'; in: 'leases' | 'tombstones'; id: string }
  /** HSET on the applied credits. */
  | { type: 'credit'; id: string; credited: Credited }
  /** XADD; the store gives the id. */
  | { type: 'append'; entry: Omit<LedgerEntry, 'id'> }

export function emptyAccount(account: string): AccountState {
  return {
    account,
    funds: { posted: 0, held: 0 },
    subs: new Map(),
    holds: new Map(),
    leases: new Schedule(),
    tombstones: new Schedule(),
    credits: new Map(),
    entries: new Tail(ENTRIES_KEPT),
  }
}

/** Applies effects, in order. */
export function apply(state: AccountState, effects: readonly Effect[]): void {
  for (const effect of effects) perform(state, effect)
}

function perform(state: AccountState, effect: Effect): void {
  switch (effect.type) {
    case 'add':
      fundsOf(state, effect.sub)[effect.field] += effect.by
      return
    case 'put':
      state.holds.set(effect.id, effect.hold)
      return
    case 'remove':
      state.holds.delete(effect.id)
      return
    case 'schedule':
      state[effect.in].set(effect.id, effect.at)
      return
    case 'unschedule':
      state[effect.in].delete(effect.id)
      return
    case 'credit':
      state.credits.set(effect.id, effect.credited)
      return
    case 'append':
      state.entries.push(Object.freeze({ ...effect.entry, id: String(state.entries.last + 1) }))
  }
}

function fundsOf(state: AccountState, sub: string | undefined): Funds {
  if (sub === undefined) return state.funds
  const known = state.subs.get(sub)
  if (known !== undefined) return known
  const funds = { posted: 0, held: 0 }
  state.subs.set(sub, funds)
  return funds
}
