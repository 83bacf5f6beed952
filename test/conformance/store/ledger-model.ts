/**
 * The ledger in its simplest form: lists that are searched, sums that are recomputed. It predicts every reply and
 * every balance, so that a store can be compared with it.
 */
import type {
  HoldState,
  Ledger,
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
} from '../../../store/ledger/contract.ts'
import { KEEP_MS } from '../../../store/ledger/transition.ts'

/** A ledger call as data. */
export type Call =
  | { type: 'topup'; command: Topup }
  | { type: 'reserve'; command: Reserve }
  | { type: 'renew'; command: Renew }
  | { type: 'settle'; command: Settle }
  | { type: 'reap'; account: string | undefined; max: number }

export type Reply = TopupReply | ReserveReply | RenewReply | SettleReply | Reaped[]

export function perform(ledger: Ledger, call: Call): Promise<Reply> {
  switch (call.type) {
    case 'topup':
      return ledger.topup(call.command)
    case 'reserve':
      return ledger.reserve(call.command)
    case 'renew':
      return ledger.renew(call.command)
    case 'settle':
      return ledger.settle(call.command)
    case 'reap':
      return ledger.reap(call.account, call.max)
  }
}

interface ModelHold {
  id: string
  sub: string | undefined
  state: HoldState
  requested: number | undefined
  amount: number
  seen: number
  actual: number | undefined
  reservedAt: number
  /** End of the lease while pending, then of the tombstone. */
  until: number
}

type Entry = Pick<LedgerEntry, 'kind' | 'ref' | 'sub' | 'delta'>

const byEnd = (a: ModelHold, b: ModelHold) => a.until - b.until || (a.id < b.id ? -1 : 1)

export class ModelAccount {
  readonly id: string
  readonly credits: Topup[] = []
  readonly entries: Entry[] = []
  holds: ModelHold[] = []
  /** Spending without a hold, for the account ('') and its sub-accounts: how far below zero they may be. */
  readonly uncovered = new Map<string, number>()

  constructor(id: string) {
    this.id = id
  }

  /** Without `sub`, for the account, which allowances do not raise. */
  posted(sub?: string): number {
    return sum(
      this.entries
        .filter((e) => (sub === undefined ? e.kind !== 'credit' || e.sub === '' : e.sub === sub))
        .map((e) => e.delta),
    )
  }

  held(sub?: string): number {
    return sum(this.pending().map((h) => (sub === undefined || h.sub === sub ? h.amount : 0)))
  }

  /** Pending holds in order of expiry. */
  pending(): ModelHold[] {
    return this.holds.filter((h) => h.state === 'P').sort(byEnd)
  }

  topup(command: Topup): TopupReply {
    const { id, sub = '', amount } = command
    const known = this.credits.find((c) => c.id === id)
    if (known) return known.amount === amount && (known.sub ?? '') === sub ? 'DUP' : 'CONFLICT'
    if (!Number.isSafeInteger(this.posted(command.sub) + amount)) return 'LIMIT'
    this.credits.push(command)
    if (amount !== 0) this.entries.push({ kind: 'credit', ref: id, sub, delta: amount })
    if (amount < 0) this.#uncover(sub, -amount)
    return 'OK'
  }

  reserve(command: Reserve, now: number): ReserveReply {
    this.#expire(now, Number.POSITIVE_INFINITY)
    this.#forget(now)
    const { id, sub, amount } = command
    const known = this.holds.find((h) => h.id === id)
    if (known) {
      if (known.sub !== sub || (known.requested ?? amount) !== amount) return { reply: 'CONFLICT' }
      return { reply: 'DUP', reservedAt: known.reservedAt, state: known.state }
    }
    const refusal = command.enforced ? this.#refusal(command, amount) : undefined
    if (refusal) return refusal
    if (!command.enforced) this.#spend(sub, amount)
    this.holds.push({
      id,
      sub,
      state: 'P',
      requested: amount,
      amount,
      seen: 0,
      actual: undefined,
      reservedAt: now,
      until: now + command.leaseMs,
    })
    return { reply: 'OK', reservedAt: now }
  }

  renew(command: Renew, now: number): RenewReply {
    const hold = this.holds.find((h) => h.id === command.id)
    if (!hold) return 'UNKNOWN'
    if (hold.state !== 'P') return 'GONE'
    hold.seen = Math.max(hold.seen, command.seen)
    hold.until = Math.max(hold.until, now + command.leaseMs)
    const extra = Math.max(0, command.amount - hold.amount)
    if (extra === 0) return 'OK'
    if (command.enforced && this.#refusal({ ...command, sub: hold.sub }, extra)) return 'NOFUNDS'
    if (!command.enforced) this.#spend(hold.sub, extra)
    hold.amount += extra
    return 'OK'
  }

  settle(command: Settle, now: number): SettleReply {
    this.#forget(now)
    const { id, sub, actual, reservedAt } = command
    const hold = this.holds.find((h) => h.id === id)
    if (!hold) {
      if (now - reservedAt > KEEP_MS) return 'STALE'
      this.#post('lost', id, sub, actual, 0)
      const until = Math.max(now, reservedAt) + KEEP_MS
      this.holds.push({
        id,
        sub,
        state: 'L',
        requested: undefined,
        amount: 0,
        seen: 0,
        actual,
        reservedAt,
        until,
      })
      return 'LOST'
    }
    if (hold.sub !== sub) return 'CONFLICT'
    if (hold.state !== 'P' && hold.state !== 'E') return hold.actual === actual ? 'DUP' : 'CONFLICT'
    const expired = hold.state === 'E'
    if (expired) this.#post('late', id, sub, actual - hold.seen, 0)
    else this.#post('settle', id, sub, actual, hold.amount)
    Object.assign(hold, { state: expired ? 'L' : actual === 0 ? 'V' : 'S', actual, until: now + KEEP_MS })
    return expired ? 'LATE' : 'OK'
  }

  reap(max: number, now: number): Reaped[] {
    const reaped = this.#expire(now, max)
    this.#forget(now, max)
    return reaped
  }

  #expire(now: number, max: number): Reaped[] {
    const due = this.pending()
      .filter((h) => h.until <= now)
      .slice(0, max)
    for (const hold of due) {
      this.#post('expire', hold.id, hold.sub, hold.seen, hold.amount)
      Object.assign(hold, { state: 'E', until: now + KEEP_MS })
    }
    return due.map((h) => ({ account: this.id, id: h.id, charged: h.seen }))
  }

  /** Oldest first. */
  #forget(now: number, max = Number.POSITIVE_INFINITY): void {
    const over = this.holds.filter((h) => h.state !== 'P' && h.until < now).sort(byEnd)
    const forgotten = new Set(over.slice(0, max))
    this.holds = this.holds.filter((h) => !forgotten.has(h))
  }

  #post(kind: Entry['kind'], ref: string, sub: string | undefined, amount: number, covered: number): void {
    // A refund to a balance that is already at its maximum.
    const room = Number.MAX_SAFE_INTEGER - Math.max(this.posted(), sub === undefined ? 0 : this.posted(sub))
    const delta = Math.min(0 - amount, room)
    if (delta !== 0) this.entries.push({ kind, ref, sub: sub ?? '', delta })
    this.#spend(sub, Math.max(0, amount - covered))
  }

  /** Spending lowers both the account and the sub-account. */
  #spend(sub: string | undefined, uncovered: number): void {
    this.#uncover('', uncovered)
    if (sub !== undefined) this.#uncover(sub, uncovered)
  }

  #uncover(sub: string, amount: number): void {
    this.uncovered.set(sub, (this.uncovered.get(sub) ?? 0) + amount)
  }

  #refusal(
    limits: Pick<Reserve, 'sub' | 'overdraft' | 'subOverdraft'>,
    amount: number,
  ): ReserveReply | undefined {
    const { sub, overdraft, subOverdraft = 0 } = limits
    const posted = this.posted() + overdraft
    const subPosted = sub === undefined ? Number.POSITIVE_INFINITY : this.posted(sub) + subOverdraft
    if (posted <= 0) return { reply: 'NOFUNDS', of: 'account', reason: 'empty' }
    if (subPosted <= 0) return { reply: 'NOFUNDS', of: 'sub', reason: 'empty' }
    if (posted - this.held() < amount) return { reply: 'NOFUNDS', of: 'account', reason: 'hold' }
    if (subPosted - this.held(sub) < amount) return { reply: 'NOFUNDS', of: 'sub', reason: 'hold' }
    return undefined
  }
}

/** Several accounts; a call goes to one of them. */
export class LedgerModel {
  readonly accounts: ReadonlyMap<string, ModelAccount>

  constructor(accounts: readonly string[]) {
    this.accounts = new Map(accounts.map((id) => [id, new ModelAccount(id)]))
  }

  perform(call: Call, now: number): Reply {
    if (call.type === 'reap') {
      const accounts = [...this.accounts.values()].filter((a) => (call.account ?? a.id) === a.id)
      return accounts.flatMap((account) => account.reap(call.max, now))
    }
    const account = this.accounts.get(call.command.account)
    if (!account) return call.type === 'reserve' ? { reply: 'NOACCT' } : 'NOACCT'
    switch (call.type) {
      case 'topup':
        return account.topup(call.command)
      case 'reserve':
        return account.reserve(call.command, now)
      case 'renew':
        return account.renew(call.command, now)
      case 'settle':
        return account.settle(call.command, now)
    }
  }
}

export const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0)
