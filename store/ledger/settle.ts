/**
 * The ledger's commands on the state of one account, with the store's time. The scripts in store/lua/ledger do the same.
 *
 * Arguments that are not safe integers, or are negative where that makes no sense, throw RangeError before anything changes.
 */
import type { Nanos } from '../../contract/money.ts'
import type {
  EntryNote,
  LedgerEntry,
  Meter,
  Reaped,
  Renewal,
  RenewReply,
  Reserve,
  ReserveReply,
  Settle,
  SettleReply,
} from './contract.ts'
import { compareEntries, timeOf } from './entry-log.ts'
import {
  addRunning,
  checkCorrections,
  checkMeters,
  correct,
  findFull,
  roomIn,
  runningIds,
  take,
} from './meters.ts'
import { integer, natural } from './numbers.ts'
import type { AccountState, LiveHold } from './state.ts'
import { KEEP_MS } from './tombstones.ts'

/** How long an expired hold waits for its settle: longer than any outage that a proxy survives. */
export const EXPIRED_KEEP_MS = 24 * 3_600_000

/** No lease is longer. */
const MOST_LEASE_MS = 30_000

/** A clock that was set back by more is not allowed for. */
const MOST_SET_BACK_MS = 3_600_000

/** How many due holds a reserve expires, at most. */
export const EXPIRED_AT_ONCE = 20

export function reserve(state: AccountState, command: Reserve, nowMs: number): ReserveReply {
  const { id, sub, note } = command
  const amount = natural('amount', command.amount)
  const seen = natural('seen', command.seen)
  const leaseMs = natural('leaseMs', command.leaseMs)
  const [overdraft, subOverdraft] = overdrafts(command)
  const meters = checkMeters(command.meters)
  if (state.closed) return { reply: 'NOACCT' }
  expireDue(state, nowMs, EXPIRED_AT_ONCE)

  const known = state.live.get(id)
  if (known !== undefined) {
    if (known.sub !== sub || (known.requested ?? amount) !== amount) return { reply: 'CONFLICT' }
    return {
      reply: 'DUP',
      reservedAt: known.reservedAt,
      free: freeFunds(state, sub, overdraft, subOverdraft),
      room: roomIn(state, meters, nowMs),
    }
  }
  if (state.expired.has(id) || state.tombstones.recent(id, nowMs) !== undefined) return { reply: 'OVER' }
  const shortfall = command.enforced
    ? findShortfall(state, { sub, overdraft, subOverdraft }, amount)
    : undefined
  if (shortfall !== undefined) return { reply: 'NOFUNDS', ...shortfall }
  const full = findFull(state, meters, nowMs)
  if (full !== undefined) return { reply: 'LIMITED', ...full, room: roomIn(state, meters, nowMs) }

  take(state, meters, nowMs)
  const leaseEnd = nowMs + leaseMs
  hold(state, id, {
    sub,
    requested: amount,
    amount,
    seen,
    paid: undefined,
    leaseEnd,
    reservedAt: nowMs,
    running: runningIds(meters),
    note,
  })
  return {
    reply: 'OK',
    reservedAt: nowMs,
    free: freeFunds(state, sub, overdraft, subOverdraft),
    room: roomIn(state, meters, nowMs),
  }
}

export function renew(state: AccountState, renewals: readonly Renewal[], nowMs: number): RenewReply[] {
  const checked = renewals.map((renewal) => ({
    ...renewal,
    amount: natural('amount', renewal.amount),
    seen: natural('seen', renewal.seen),
    leaseMs: natural('leaseMs', renewal.leaseMs),
    meters: checkMeters(renewal.meters),
    reservedAt: integer('reservedAt', renewal.reservedAt),
    overdrafts: overdrafts(renewal),
  }))
  return checked.map((renewal) => renewOne(state, renewal, nowMs))
}

function renewOne(
  state: AccountState,
  renewal: Renewal & { overdrafts: [Nanos, Nanos]; meters: readonly Meter[] },
  nowMs: number,
): RenewReply {
  const { id, sub, amount, seen, note, reservedAt } = renewal
  const leaseEnd = nowMs + renewal.leaseMs
  const live = state.live.get(id)
  if (live !== undefined) return prolong(state, live, renewal, leaseEnd)
  const expired = state.expired.get(id)
  if (expired === undefined && state.tombstones.get(id, nowMs) !== undefined) return 'GONE'
  state.expired.delete(id)
  const [of, paid] = expired === undefined ? [sub, undefined] : [expired.sub, expired.charged]
  hold(state, id, {
    sub: of,
    requested: undefined,
    amount,
    seen: Math.max(seen, paid ?? 0),
    paid,
    leaseEnd,
    reservedAt,
    running: runningIds(renewal.meters),
    note,
  })
  return 'AGAIN'
}

function prolong(
  state: AccountState,
  live: LiveHold,
  {
    amount,
    seen,
    note,
    enforced,
    overdrafts: [overdraft, subOverdraft],
  }: Renewal & { overdrafts: [Nanos, Nanos] },
  leaseEnd: number,
): RenewReply {
  const { sub } = live
  const extra = Math.max(0, amount - live.amount)
  const limits = { sub, overdraft, subOverdraft }
  const refused = extra > 0 && enforced && findShortfall(state, limits, extra) !== undefined
  if (!refused) {
    const added = state.countableInBoth('held', sub, extra)
    state.addToBoth('held', sub, added)
    live.amount += added
  }
  if (seen >= live.seen) live.note = note
  live.seen = Math.max(live.seen, seen)
  live.leaseEnd = Math.max(live.leaseEnd, leaseEnd)
  return refused ? 'NOFUNDS' : 'OK'
}

/** The hold is unknown, and so old that its tombstone may be gone. Its entry may be older than the hold, by `setBackMs`. */
export interface OldSettle {
  reply: 'OLD'
  setBackMs: number
}

/** `proven`: no entry closes this id (see old-settle.ts). */
export function settle(
  state: AccountState,
  command: Settle,
  nowMs: number,
  proven = false,
): SettleReply | OldSettle {
  const actual = natural('actual', command.actual)
  const reservedAt = integer('reservedAt', command.reservedAt)
  const { id, sub, note, postedAs } = command
  const corrections = checkCorrections(command.corrections)
  const about = { ref: id, sub, note, postedAs }
  const { restoredTo } = state
  const isCounted =
    postedAs !== undefined && restoredTo !== undefined && compareEntries(postedAs, restoredTo) <= 0

  const live = state.live.get(id)
  if (live !== undefined) {
    if (live.sub !== sub) return { reply: 'CONFLICT' }
    if (isCounted) {
      release(state, id, live)
      return takeBack(state, about, live.paid ?? 0, nowMs)
    }
    const kind = live.paid === undefined ? 'settle' : 'late'
    release(state, id, live)
    correct(state, corrections, nowMs)
    const entry = charge(state, { ...about, kind, amount: actual - (live.paid ?? 0) }, nowMs)
    entomb(state, { id, sub, actual, entry, reservedAt })
    return { reply: kind === 'settle' ? 'OK' : 'LATE', entry }
  }
  const expired = state.expired.get(id)
  if (expired !== undefined) {
    if (expired.sub !== sub) return { reply: 'CONFLICT' }
    state.expired.delete(id)
    if (isCounted) return takeBack(state, about, expired.charged, nowMs)
    correct(state, corrections, nowMs)
    const entry = charge(state, { ...about, kind: 'late', amount: actual - expired.charged }, nowMs)
    entomb(state, { id, sub, actual, entry, reservedAt })
    return { reply: 'LATE', entry }
  }
  const tombstone = state.tombstones.get(id, nowMs)
  if (tombstone !== undefined) {
    if (tombstone.cost !== costText(actual, sub)) return { reply: 'CONFLICT' }
    return { reply: 'DUP', entry: tombstone.entry }
  }
  if (isCounted) return { reply: 'DUP' }
  const { setBackMs } = state
  if (!proven && nowMs - reservedAt > KEEP_MS - setBackMs) return { reply: 'OLD', setBackMs }
  const entry = charge(state, { ...about, kind: 'lost', amount: actual }, nowMs)
  entomb(state, { id, sub, actual, entry, reservedAt })
  return { reply: 'LOST', entry }
}

/** A restore has counted the cost of this request: takes back what its expiry charged once more. */
function takeBack(
  state: AccountState,
  about: { ref: string; sub: string | undefined; note: EntryNote; postedAs: string | undefined },
  charged: Nanos,
  nowMs: number,
): SettleReply {
  if (charged > 0) charge(state, { ...about, kind: 'late', amount: 0 - charged }, nowMs)
  return { reply: 'DUP' }
}

/** Expires at most `max` holds, and forgets as many expired ones whose time is over. */
export function reap(state: AccountState, max: number, nowMs: number): Reaped[] {
  natural('max', max)
  const reaped = expireDue(state, nowMs, max)
  const over = [...state.expired].filter(([, { until }]) => until <= nowMs)
  over.sort(([aId, a], [bId, b]) => a.until - b.until || (aId < bId ? -1 : 1))
  for (const [id] of over.slice(0, max)) state.expired.delete(id)
  return reaped
}

/** Takes a hold, as far as it is countable. */
function hold(state: AccountState, id: string, wanted: LiveHold): void {
  const amount = state.countableInBoth('held', wanted.sub, wanted.amount)
  state.addToBoth('held', wanted.sub, amount)
  state.live.set(id, { ...wanted, amount })
  addRunning(state, wanted.running, 1)
  state.nextLeaseEnd = Math.min(state.nextLeaseEnd ?? Infinity, wanted.leaseEnd)
}

function release(state: AccountState, id: string, live: LiveHold): void {
  state.addToBoth('held', live.sub, 0 - live.amount)
  state.live.delete(id)
  addRunning(state, live.running, -1)
}

/** Why funds are short, if they are. An empty balance comes before a shortfall that other settles may clear. */
function findShortfall(
  state: AccountState,
  { sub, overdraft, subOverdraft }: { sub: string | undefined; overdraft: Nanos; subOverdraft: Nanos },
  amount: Nanos,
): { of: 'account' | 'sub'; reason: 'empty' | 'hold' } | undefined {
  const check = (of: string | undefined, allowed: Nanos) => {
    const { posted, held } = state.fundsOf(of)
    return { empty: posted + allowed <= 0, hold: posted - held + allowed < amount }
  }
  const account = check(undefined, overdraft)
  const own = sub === undefined ? { empty: false, hold: false } : check(sub, subOverdraft)
  if (account.empty) return { of: 'account', reason: 'empty' }
  if (own.empty) return { of: 'sub', reason: 'empty' }
  if (account.hold) return { of: 'account', reason: 'hold' }
  if (own.hold) return { of: 'sub', reason: 'hold' }
  return undefined
}

function freeFunds(
  state: AccountState,
  sub: string | undefined,
  overdraft: Nanos,
  subOverdraft: Nanos,
): Nanos {
  const free = (of: string | undefined, allowed: Nanos) => {
    const { posted, held } = state.fundsOf(of)
    return safe(posted - held + allowed)
  }
  const own = free(undefined, overdraft)
  return sub === undefined ? own : Math.min(own, free(sub, subOverdraft))
}

/** Expires holds whose lease has ended, the earliest first, and charges their cost so far. */
function expireDue(state: AccountState, nowMs: number, max: number): Reaped[] {
  if (state.nextLeaseEnd === undefined || nowMs < state.nextLeaseEnd) return []
  const due = [...state.live].filter(([, { leaseEnd }]) => leaseEnd <= nowMs)
  due.sort(([aId, a], [bId, b]) => a.leaseEnd - b.leaseEnd || (aId < bId ? -1 : 1))
  const reaped = due.slice(0, max).map(([id, live]) => {
    const { sub, paid = 0, note } = live
    const seen = wasRestored(state, live) ? paid : live.seen
    release(state, id, live)
    charge(state, { kind: 'expire', ref: id, sub, amount: seen - paid, note }, nowMs)
    state.expired.set(id, { sub, charged: seen, until: Math.max(nowMs, live.reservedAt) + EXPIRED_KEEP_MS })
    return { account: state.account, id, charged: seen - paid }
  })
  const ends = [...state.live.values()].map(({ leaseEnd }) => leaseEnd)
  state.nextLeaseEnd = ends.length === 0 ? undefined : Math.min(...ends)
  return reaped
}

/**
 * Whether a hold came back with an older copy of the store, and no proxy has renewed it since. The restored sums count its
 * request, which is over.
 */
function wasRestored({ restoredTo }: AccountState, { leaseEnd }: LiveHold): boolean {
  return restoredTo !== undefined && leaseEnd <= timeOf(restoredTo) + MOST_LEASE_MS
}

/** Remembers a settled id, from the time of its entry on. */
function entomb(
  state: AccountState,
  closed: { id: string; sub: string | undefined; actual: Nanos; entry: string; reservedAt: number },
): void {
  const entryMs = timeOf(closed.entry)
  // Without this, the entry would be searched for where only later ones are. Bounded, because a caller may be wrong by hours.
  state.setBackMs = Math.max(state.setBackMs, Math.min(closed.reservedAt - entryMs, MOST_SET_BACK_MS))
  state.tombstones.add(closed.id, { cost: costText(closed.actual, closed.sub), entry: closed.entry }, entryMs)
}

function costText(actual: Nanos, sub: string | undefined): string {
  return sub === undefined ? String(actual) : `${actual}|${sub}`
}

/**
 * Charges the account and its sub-account, with one entry. A cost that would take a balance beyond the safe integers is posted
 * in part: a settle is never refused.
 */
function charge(
  state: AccountState,
  charged: {
    kind: LedgerEntry['kind']
    ref: string
    sub: string | undefined
    amount: Nanos
    note: EntryNote
    postedAs?: string | undefined
  },
  nowMs: number,
): string {
  const { kind, ref, sub, amount, note, postedAs } = charged
  const delta = state.countableInBoth('posted', sub, 0 - amount)
  state.addToBoth('posted', sub, delta)
  const entry = { kind, ref, sub: sub ?? '', delta, note, ...(postedAs !== undefined && { postedAs }) }
  return append(state, entry, nowMs)
}

export function append(state: AccountState, entry: Omit<LedgerEntry, 'id'>, nowMs: number): string {
  state.entries += 1
  return state.log.append(entry, nowMs)
}

function overdrafts(terms: Pick<Reserve, 'overdraft' | 'subOverdraft'>): [Nanos, Nanos] {
  return [natural('overdraft', terms.overdraft), natural('subOverdraft', terms.subOverdraft ?? 0)]
}

function safe(sum: number): number {
  return Math.min(Math.max(sum, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}
