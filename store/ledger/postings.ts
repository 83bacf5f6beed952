/** What the commands on holds have in common: to take and release a hold, and to charge what is due for it. */
import type { Nanos } from '../../contract/money.ts'
import { chargeTo, holdIn } from './budgets.ts'
import type { EntryNote, LedgerEntry, Periods } from './contract.ts'
import { timeOf } from './entry-log.ts'
import { addRunning } from './meters.ts'
import type { AccountState, LiveHold } from './state.ts'

/** A clock that was set back by more is not allowed for. */
const MOST_SET_BACK_MS = 3_600_000

/** Takes a hold, as far as it is countable. `budgets`: periods of those that count it. */
export function hold(
  state: AccountState,
  id: string,
  wanted: LiveHold,
  { nowMs, budgets }: { nowMs: number; budgets: readonly Periods[] },
): void {
  const amount = state.countableInBoth('held', wanted.sub, wanted.amount)
  state.addToBoth('held', wanted.sub, amount)
  state.live.set(id, { ...wanted, amount })
  addRunning(state, wanted.running, 1)
  holdIn(state, wanted.budgets, amount, nowMs, budgets)
  state.nextLeaseEnd = Math.min(state.nextLeaseEnd ?? Infinity, wanted.leaseEnd)
}

/** Raises the amount of a live hold, as far as it is countable. */
export function enlarge(state: AccountState, live: LiveHold, extra: Nanos, nowMs: number): void {
  const added = state.countableInBoth('held', live.sub, extra)
  state.addToBoth('held', live.sub, added)
  if (added > 0) holdIn(state, live.budgets, added, nowMs)
  live.amount += added
}

export function release(state: AccountState, id: string, live: LiveHold, nowMs: number): void {
  state.addToBoth('held', live.sub, 0 - live.amount)
  state.live.delete(id)
  addRunning(state, live.running, -1)
  holdIn(state, live.budgets, 0 - live.amount, nowMs)
}

/** A cost that is due, or (below 0) that is taken back. */
export interface Charge {
  kind: LedgerEntry['kind']
  ref: string
  sub: string | undefined
  amount: Nanos
  note: EntryNote
  postedAs?: string | undefined
  /** Ids of the budgets to charge, and periods of those that the command names. */
  budgets: { ids: readonly string[]; named?: readonly Periods[] | undefined }
}

/**
 * Charges the account, its sub-account and the budgets, with one entry. A cost that would take a balance beyond the safe
 * integers is posted in part: a settle is never refused.
 */
export function charge(state: AccountState, charged: Charge, nowMs: number): string {
  const { kind, ref, sub, amount, note, postedAs, budgets } = charged
  const delta = state.countableInBoth('posted', sub, 0 - amount)
  state.addToBoth('posted', sub, delta)
  chargeTo(state, budgets.ids, 0 - delta, nowMs, budgets.named)
  const entry = { kind, ref, sub: sub ?? '', delta, note }
  return append(state, postedAs === undefined ? entry : { ...entry, postedAs }, nowMs)
}

export function append(state: AccountState, entry: Omit<LedgerEntry, 'id'>, nowMs: number): string {
  state.entries += 1
  return state.log.append(entry, nowMs)
}

/** Remembers a settled id, from the time of its entry on. */
export function entomb(
  state: AccountState,
  closed: { id: string; sub: string | undefined; actual: Nanos; entry: string; reservedAt: number },
): void {
  const entryMs = timeOf(closed.entry)
  // Without this, the entry would be searched for where only later ones are. Bounded, because a caller may be wrong by hours.
  state.setBackMs = Math.max(state.setBackMs, Math.min(closed.reservedAt - entryMs, MOST_SET_BACK_MS))
  state.tombstones.add(closed.id, { cost: costText(closed.actual, closed.sub), entry: closed.entry }, entryMs)
}

export function costText(actual: Nanos, sub: string | undefined): string {
  return sub === undefined ? String(actual) : `${actual}|${sub}`
}
