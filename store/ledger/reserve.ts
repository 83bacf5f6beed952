/** Holds money for a request, if there is enough and no limit is exceeded. */
import { checkBudgets, leftIn } from './budgets.ts'
import type { Meter, Reserve, ReserveReply } from './contract.ts'
import { expireDue } from './expiry.ts'
import { checkMeters, findFull, roomIn, runningIds, take } from './meters.ts'
import { natural } from './numbers.ts'
import { hold } from './postings.ts'
import { checkOverdrafts, findShortfall, freeFunds, type Payer } from './shortfall.ts'
import type { AccountState } from './state.ts'

/** How many due holds a reserve expires, at most. */
const EXPIRED_AT_ONCE = 20

export function reserve(state: AccountState, command: Reserve, nowMs: number): ReserveReply {
  const { id, sub, enforced, note } = command
  const amount = natural('amount', command.amount)
  const seen = natural('seen', command.seen)
  const leaseMs = natural('leaseMs', command.leaseMs)
  const meters = checkMeters(command.meters)
  const budgets = checkBudgets(command.budgets)
  const { overdraft, subOverdraft } = checkOverdrafts(command)
  const payer = { sub, enforced, overdraft, subOverdraft, budgets }
  if (state.closed) return { reply: 'NOACCT' }
  expireDue(state, nowMs, EXPIRED_AT_ONCE)

  const known = state.live.get(id)
  if (known !== undefined) {
    if (known.sub !== sub || (known.requested ?? amount) !== amount) return { reply: 'CONFLICT' }
    return held('DUP', known.reservedAt, { state, payer, meters, nowMs })
  }
  if (state.expired.has(id) || state.tombstones.recent(id, nowMs) !== undefined) return { reply: 'OVER' }
  const shortfall = findShortfall(state, payer, amount, nowMs)
  if (shortfall !== undefined) return { reply: 'NOFUNDS', ...shortfall }
  const full = findFull(state, meters, nowMs)
  if (full !== undefined) return { reply: 'LIMITED', ...full, room: roomIn(state, meters, nowMs) }

  take(state, meters, nowMs)
  const wanted = {
    sub,
    requested: amount,
    amount,
    seen,
    paid: undefined,
    leaseEnd: nowMs + leaseMs,
    reservedAt: nowMs,
    running: runningIds(meters),
    budgets: budgets.map((budget) => budget.id),
    note,
  }
  hold(state, id, wanted, { nowMs, budgets })
  return held('OK', nowMs, { state, payer, meters, nowMs })
}

interface After {
  state: AccountState
  payer: Payer
  meters: readonly Meter[]
  nowMs: number
}

/** There is a hold; tells what is left of the funds and the limits. */
function held(reply: 'OK' | 'DUP', reservedAt: number, after: After): ReserveReply {
  const { state, payer, meters, nowMs } = after
  const { sub, budgets } = payer
  const free = freeFunds(state, payer, nowMs)
  const { posted } = state.funds
  const spent = leftIn(state, budgets, nowMs).map((left) => left.spent)
  const room = roomIn(state, meters, nowMs)
  return sub === undefined
    ? { reply, reservedAt, free, posted, spent, room }
    : { reply, reservedAt, free, posted, subPosted: state.fundsOf(sub).posted, spent, room }
}
