/** Extends the leases of holds, and enlarges holds. */
import { checkBudgets } from './budgets.ts'
import type { Renewal, RenewReply } from './contract.ts'
import { checkMeters, runningIds } from './meters.ts'
import { integer, natural } from './numbers.ts'
import { enlarge, hold } from './postings.ts'
import { checkOverdrafts, findShortfall, type Payer } from './shortfall.ts'
import type { AccountState, LiveHold } from './state.ts'

interface Checked extends Renewal {
  payer: Payer
  running: string[]
}

export function renew(state: AccountState, renewals: readonly Renewal[], nowMs: number): RenewReply[] {
  return renewals.map(check).map((renewal) => renewOne(state, renewal, nowMs))
}

function check(renewal: Renewal): Checked {
  const { sub, enforced } = renewal
  return {
    ...renewal,
    amount: natural('amount', renewal.amount),
    seen: natural('seen', renewal.seen),
    leaseMs: natural('leaseMs', renewal.leaseMs),
    reservedAt: integer('reservedAt', renewal.reservedAt),
    running: runningIds(checkMeters(renewal.meters)),
    payer: { sub, enforced, ...checkOverdrafts(renewal), budgets: checkBudgets(renewal.budgets) },
  }
}

function renewOne(state: AccountState, renewal: Checked, nowMs: number): RenewReply {
  const { id, sub, amount, seen, note, reservedAt, running, payer } = renewal
  const live = state.live.get(id)
  if (live !== undefined) return prolong(state, live, renewal, nowMs)
  const expired = state.expired.get(id)
  if (expired === undefined && state.tombstones.get(id, nowMs) !== undefined) return 'GONE'
  state.expired.delete(id)
  const [of, paid] = expired === undefined ? [sub, undefined] : [expired.sub, expired.charged]
  const wanted = {
    sub: of,
    requested: undefined,
    amount,
    seen: Math.max(seen, paid ?? 0),
    paid,
    leaseEnd: nowMs + renewal.leaseMs,
    reservedAt,
    running,
    budgets: payer.budgets.map((budget) => budget.id),
    note,
  }
  hold(state, id, wanted, { nowMs, budgets: payer.budgets })
  return 'AGAIN'
}

function prolong(
  state: AccountState,
  live: LiveHold,
  { amount, seen, note, leaseMs, payer }: Checked,
  nowMs: number,
): RenewReply {
  const extra = Math.max(0, amount - live.amount)
  const refused = extra > 0 && findShortfall(state, { ...payer, sub: live.sub }, extra, nowMs) !== undefined
  if (!refused) enlarge(state, live, extra, nowMs)
  if (seen >= live.seen) live.note = note
  live.seen = Math.max(live.seen, seen)
  live.leaseEnd = Math.max(live.leaseEnd, nowMs + leaseMs)
  return refused ? 'NOFUNDS' : 'OK'
}
