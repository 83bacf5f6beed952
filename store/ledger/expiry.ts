/** Holds whose leases have ended: their proxies have died, or have lost the store for long. */
import type { Reaped } from './contract.ts'
import { timeOf } from './entry-log.ts'
import { natural } from './numbers.ts'
import { charge, release } from './postings.ts'
import type { AccountState, LiveHold } from './state.ts'

/** How long an expired hold waits for its settle: longer than any outage that a proxy survives. */
export const EXPIRED_KEEP_MS = 24 * 3_600_000

/** No lease is longer. */
const MOST_LEASE_MS = 30_000

/** Expires at most `max` holds, and forgets as many expired ones whose time is over. */
export function reap(state: AccountState, max: number, nowMs: number): Reaped[] {
  natural('max', max)
  const reaped = expireDue(state, nowMs, max)
  const over = [...state.expired].filter(([, { until }]) => until <= nowMs)
  over.sort(([aId, a], [bId, b]) => a.until - b.until || (aId < bId ? -1 : 1))
  for (const [id] of over.slice(0, max)) state.expired.delete(id)
  return reaped
}

/** Expires holds whose lease has ended, the earliest first, and charges their cost so far. */
export function expireDue(state: AccountState, nowMs: number, max: number): Reaped[] {
  if (state.nextLeaseEnd === undefined || nowMs < state.nextLeaseEnd) return []
  const due = [...state.live].filter(([, { leaseEnd }]) => leaseEnd <= nowMs)
  due.sort(([aId, a], [bId, b]) => a.leaseEnd - b.leaseEnd || (aId < bId ? -1 : 1))
  const reaped = due.slice(0, max).map(([id, live]) => {
    const { sub, paid = 0, note, budgets } = live
    const seen = wasRestored(state, live) ? paid : live.seen
    release(state, id, live, nowMs)
    charge(
      state,
      { kind: 'expire', ref: id, sub, amount: seen - paid, note, budgets: { ids: budgets } },
      nowMs,
    )
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
