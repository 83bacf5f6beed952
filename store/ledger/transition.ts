/**
 * The ledger's commands as pure functions: state, command and store time in, reply and effects out. `apply` in state.ts
 * applies the effects.
 *
 * Arguments that are not safe integers, or are negative where that makes no sense, throw RangeError.
 */
import type { Nanos } from '../../contract/money.ts'
import type {
  EntryNote,
  LedgerEntry,
  Reaped,
  Renew,
  RenewReply,
  Reserve,
  ReserveReply,
  Settle,
  SettleReply,
  Topup,
  TopupReply,
} from './contract.ts'
import { Draft, type Outcome } from './draft.ts'
import type { AccountState, Funds, Hold } from './state.ts'

/** How long a tombstone is kept: longer than a lease, the longest request and the longest retry of a settle together. */
export const KEEP_MS = 15 * 60_000

/** How many due holds a reserve expires, and how many tombstones a command collects, at most. */
export const REAPED_AT_ONCE = 20

/** For a hold that expired, channel and tokens are not known. */
const CHECKPOINT: EntryNote = Object.freeze({
  reason: 'checkpoint',
  model: '',
  channel: '',
  key: '',
  tokens: Object.freeze({}),
})

export function topup(state: AccountState, command: Topup): Outcome<TopupReply> {
  const amount = integer('amount', command.amount)
  const { id, sub } = command
  const draft = new Draft(state)
  const known = state.credits.get(id)
  if (known !== undefined)
    return draft.answer(known.sub === sub && known.amount === amount ? 'DUP' : 'CONFLICT')
  if (draft.countable('posted', sub, amount) !== amount) return draft.answer('LIMIT')
  draft.credit(id, { sub, amount })
  // An allowance raises only the sub-account: it adds no money to the account.
  draft.add('posted', sub, amount)
  if (amount !== 0) draft.append({ kind: 'credit', ref: id, sub: sub ?? '', delta: amount })
  return draft.answer('OK')
}

export function reserve(state: AccountState, command: Reserve, nowMs: number): Outcome<ReserveReply> {
  const amount = natural('amount', command.amount)
  const leaseMs = natural('leaseMs', command.leaseMs)
  const draft = new Draft(state)
  expireDue(state, draft, nowMs, REAPED_AT_ONCE)
  collectDue(state, draft, nowMs, REAPED_AT_ONCE)

  const known = draft.hold(command.id)
  if (known !== undefined) {
    const same = known.sub === command.sub && (known.requested === undefined || known.requested === amount)
    if (!same) return draft.answer({ reply: 'CONFLICT' })
    return draft.answer({ reply: 'DUP', reservedAt: known.reservedAt, state: known.state })
  }
  const shortfall = command.enforced ? findShortfall(draft, command, amount) : undefined
  if (shortfall !== undefined) return draft.answer({ reply: 'NOFUNDS', ...shortfall })

  const { id, sub } = command
  const held = countable(draft, 'held', sub, amount)
  addHeld(draft, sub, held)
  draft.put(id, {
    state: 'P',
    sub,
    requested: amount,
    amount: held,
    seen: 0,
    actual: undefined,
    reservedAt: nowMs,
    about: Object.freeze({ ...command.about }),
  })
  draft.schedule('leases', id, nowMs + leaseMs)
  return draft.answer({ reply: 'OK', reservedAt: nowMs })
}

export function renew(state: AccountState, command: Renew, nowMs: number): Outcome<RenewReply> {
  const seen = natural('seen', command.seen)
  const amount = natural('amount', command.amount)
  const leaseMs = natural('leaseMs', command.leaseMs)
  const { id } = command
  const draft = new Draft(state)
  const hold = draft.hold(id)
  if (hold === undefined) return draft.answer('UNKNOWN')
  if (hold.state !== 'P') return draft.answer('GONE')

  const extra = Math.max(0, amount - hold.amount)
  const refused =
    extra > 0 && command.enforced && findShortfall(draft, { ...command, sub: hold.sub }, extra) !== undefined
  const added = refused ? 0 : countable(draft, 'held', hold.sub, extra)
  addHeld(draft, hold.sub, added)
  draft.put(id, { ...hold, amount: hold.amount + added, seen: Math.max(hold.seen, seen) })
  draft.schedule('leases', id, Math.max(state.leases.at(id) ?? 0, nowMs + leaseMs))
  return draft.answer(refused ? 'NOFUNDS' : 'OK')
}

export function settle(state: AccountState, command: Settle, nowMs: number): Outcome<SettleReply> {
  const actual = natural('actual', command.actual)
  const reservedAt = integer('reservedAt', command.reservedAt)
  const { id, sub, note } = command
  const draft = new Draft(state)
  collectDue(state, draft, nowMs, REAPED_AT_ONCE)

  const hold = draft.hold(id)
  if (hold === undefined) {
    if (nowMs - reservedAt > KEEP_MS) return draft.answer('STALE')
    charge(draft, { kind: 'lost', ref: id, sub, amount: actual, note })
    const lost: Hold = {
      state: 'L',
      sub,
      requested: undefined,
      amount: 0,
      seen: 0,
      actual,
      reservedAt,
      about: undefined,
    }
    entomb(draft, id, lost, nowMs)
    return draft.answer('LOST')
  }
  if (hold.sub !== sub) return draft.answer('CONFLICT')
  switch (hold.state) {
    case 'P':
      release(draft, id, hold)
      charge(draft, { kind: 'settle', ref: id, sub, amount: actual, note })
      entomb(draft, id, { ...hold, state: actual === 0 ? 'V' : 'S', actual }, nowMs)
      return draft.answer('OK')
    case 'E':
      charge(draft, { kind: 'late', ref: id, sub, amount: actual - hold.seen, note })
      entomb(draft, id, { ...hold, state: 'L', actual }, nowMs)
      return draft.answer('LATE')
    default:
      return draft.answer(hold.actual === actual ? 'DUP' : 'CONFLICT')
  }
}

/** Expires at most `max` holds, and collects at most `max` tombstones. */
export function reap(state: AccountState, max: number, nowMs: number): Outcome<Reaped[]> {
  natural('max', max)
  const draft = new Draft(state)
  const reaped = expireDue(state, draft, nowMs, max)
  collectDue(state, draft, nowMs, max)
  return draft.answer(reaped)
}

/** Why funds are short, if they are. An empty balance comes before a shortfall that other settles may clear. */
function findShortfall(
  draft: Draft,
  limits: Pick<Reserve, 'sub' | 'overdraft' | 'subOverdraft'>,
  amount: Nanos,
): { of: 'account' | 'sub'; reason: 'empty' | 'hold' } | undefined {
  const of = (sub: string | undefined, overdraft: Nanos) => {
    const { posted, held } = draft.funds(sub)
    return { empty: posted + overdraft <= 0, hold: posted - held + overdraft < amount }
  }
  const account = of(undefined, natural('overdraft', limits.overdraft))
  const sub =
    limits.sub === undefined
      ? { empty: false, hold: false }
      : of(limits.sub, natural('subOverdraft', limits.subOverdraft ?? 0))
  if (account.empty) return { of: 'account', reason: 'empty' }
  if (sub.empty) return { of: 'sub', reason: 'empty' }
  if (account.hold) return { of: 'account', reason: 'hold' }
  if (sub.hold) return { of: 'sub', reason: 'hold' }
  return undefined
}

function expireDue(state: AccountState, draft: Draft, nowMs: number, max: number): Reaped[] {
  const reaped: Reaped[] = []
  for (const id of state.leases.due(nowMs, max)) {
    const hold = draft.hold(id)
    if (hold === undefined) continue
    release(draft, id, hold)
    charge(draft, {
      kind: 'expire',
      ref: id,
      sub: hold.sub,
      amount: hold.seen,
      note: { ...CHECKPOINT, ...hold.about },
    })
    entomb(draft, id, { ...hold, state: 'E' }, nowMs)
    reaped.push({ account: state.account, id, charged: hold.seen })
  }
  return reaped
}

/**
 * Removes tombstones whose time is over, one millisecond late: once an id is forgotten, it must be too old for settle to
 * treat it as lost. Otherwise it would be charged twice.
 */
function collectDue(state: AccountState, draft: Draft, nowMs: number, max: number): void {
  for (const id of state.tombstones.due(nowMs - 1, max)) {
    draft.remove(id)
    draft.unschedule('tombstones', id)
  }
}

function release(draft: Draft, id: string, hold: Readonly<Hold>): void {
  addHeld(draft, hold.sub, 0 - hold.amount)
  draft.unschedule('leases', id)
}

/** Keeps a tombstone of a hold. Its time starts at the reservation if that is later, because the clock was set back. */
function entomb(draft: Draft, id: string, hold: Hold, nowMs: number): void {
  draft.put(id, hold)
  draft.schedule('tombstones', id, Math.max(nowMs, hold.reservedAt) + KEEP_MS)
}

/**
 * Charges the account and its sub-account, with one entry, or none if nothing changes. A cost that would take a balance
 * beyond the safe integers is posted in part: a settle is never refused.
 */
function charge(
  draft: Draft,
  charged: {
    kind: LedgerEntry['kind']
    ref: string
    sub: string | undefined
    amount: Nanos
    note: EntryNote
  },
): void {
  const { kind, ref, sub, amount, note } = charged
  const delta = countable(draft, 'posted', sub, 0 - amount)
  if (delta === 0) return
  draft.add('posted', undefined, delta)
  if (sub !== undefined) draft.add('posted', sub, delta)
  draft.append({ kind, ref, sub: sub ?? '', delta, note })
}

/** The part of `by` that both account and sub-account can count, so that they change by the same amount. */
function countable(draft: Draft, field: keyof Funds, sub: string | undefined, by: Nanos): Nanos {
  const part = draft.countable(field, undefined, by)
  return sub === undefined ? part : draft.countable(field, sub, part)
}

function addHeld(draft: Draft, sub: string | undefined, amount: Nanos): void {
  draft.add('held', undefined, amount)
  if (sub !== undefined) draft.add('held', sub, amount)
}

/** Also turns -0 into 0: HINCRBY refuses "-0". */
export function integer(name: string, value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${name} must be a safe integer`)
  return value + 0
}

export function natural(name: string, value: number): number {
  if (integer(name, value) < 0) throw new RangeError(`${name} must not be below zero`)
  return value + 0
}
