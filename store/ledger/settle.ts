/**
 * Posts the real cost of a request and releases its hold. With the store's time; the script store/lua/ledger/settle.lua does
 * the same.
 */
import type { Nanos } from '../../contract/money.ts'
import { checkPeriods } from './budgets.ts'
import type { Settle, SettleReply } from './contract.ts'
import { compareEntries, timeOf } from './entry-log.ts'
import { checkCorrections, correct } from './meters.ts'
import { integer, natural } from './numbers.ts'
import { type Charge, charge, costText, entomb, release } from './postings.ts'
import type { AccountState } from './state.ts'

/** The hold is unknown, and its tombstone may be gone. Its entry may be older than the hold, by `setBackMs`. */
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
  const named = checkPeriods(command.budgets)
  const about = { ref: id, sub, note, postedAs, budgets: { ids: named.map((budget) => budget.id), named } }
  const { restoredTo } = state
  const isCounted =
    postedAs !== undefined && restoredTo !== undefined && compareEntries(postedAs, restoredTo) <= 0

  const live = state.live.get(id)
  if (live !== undefined) {
    if (live.sub !== sub) return { reply: 'CONFLICT' }
    const ofHold = { ...about, budgets: { ids: live.budgets, named } }
    release(state, id, live, nowMs)
    if (isCounted) return takeBack(state, ofHold, live.paid ?? 0, nowMs)
    const kind = live.paid === undefined ? 'settle' : 'late'
    const entry = charge(state, { ...ofHold, kind, amount: actual - (live.paid ?? 0) }, nowMs)
    entomb(state, { id, sub, actual, entry, reservedAt })
    correct(state, corrections, timeOf(entry))
    return { reply: kind === 'settle' ? 'OK' : 'LATE', entry }
  }
  const expired = state.expired.get(id)
  if (expired !== undefined) {
    if (expired.sub !== sub) return { reply: 'CONFLICT' }
    state.expired.delete(id)
    if (isCounted) return takeBack(state, about, expired.charged, nowMs)
    const entry = charge(state, { ...about, kind: 'late', amount: actual - expired.charged }, nowMs)
    entomb(state, { id, sub, actual, entry, reservedAt })
    correct(state, corrections, timeOf(entry))
    return { reply: 'LATE', entry }
  }
  const tombstone = state.tombstones.get(id, nowMs)
  if (tombstone !== undefined) {
    if (tombstone.cost !== costText(actual, sub)) return { reply: 'CONFLICT' }
    return { reply: 'DUP', entry: tombstone.entry }
  }
  if (isCounted) return { reply: 'DUP' }
  const { setBackMs } = state
  if (!proven && !state.tombstones.knowsAll(reservedAt - setBackMs, nowMs)) return { reply: 'OLD', setBackMs }
  const entry = charge(state, { ...about, kind: 'lost', amount: actual }, nowMs)
  entomb(state, { id, sub, actual, entry, reservedAt })
  return { reply: 'LOST', entry }
}

/** A restore has counted the cost of this request: takes back what its expiry charged once more. */
function takeBack(
  state: AccountState,
  about: Omit<Charge, 'kind' | 'amount'>,
  charged: Nanos,
  nowMs: number,
): SettleReply {
  if (charged > 0) charge(state, { ...about, kind: 'late', amount: 0 - charged }, nowMs)
  return { reply: 'DUP' }
}
