/**
 * The ledger works in two phases, like a card payment: it holds an upper bound before an upstream is called, and settles
 * the real cost afterwards. A late or larger settle is always posted, because the upstream's cost is real. A hold whose
 * lease ends is charged its last checkpoint. Every command is idempotent: a repeat changes nothing and is answered DUP, so
 * that a retry after an unclear failure is always safe.
 *
 *     reserve -> pending --settle--> settled          pending --settle(0)--> void
 *                  |  ^ renew                           pending --lease ends--> expired --settle--> late
 *     settle of an unknown, young id -> late (reply LOST): the hold was lost, but the cost is still posted
 */
import type { Nanos } from '../../contract/money.ts'

export interface Ledger {
  /** Creates an account with a balance of zero. Other commands on an unknown account answer NOACCT. */
  open(account: string): Promise<'OK' | 'DUP'>
  /** Applies a credit, once per id. */
  topup(command: Topup): Promise<TopupReply>
  /**
   * Holds `amount` if there are enough funds, in one atomic step, after expiring a few due holds of the account. An amount
   * that would take the sum of holds beyond the safe integers is held in part.
   */
  reserve(command: Reserve): Promise<ReserveReply>
  /** Extends the lease of a hold, records the cost so far, and may enlarge the hold. */
  renew(command: Renew): Promise<RenewReply>
  /** Posts the real cost and releases the hold. A cost that would take the balance beyond the safe integers is posted in part. */
  settle(command: Settle): Promise<SettleReply>
  /** Expires holds whose lease has ended, on one account or on all, and charges their cost so far. */
  reap(account: string | undefined, max: number): Promise<Reaped[]>
  /** The balance of an account; undefined if the account is unknown. */
  balance(account: string): Promise<Balance | undefined>
  /** Ledger entries of an account, oldest first, after the entry with the id `after` (undefined: from the start). */
  entries(account: string, after: string | undefined, count: number): Promise<LedgerEntry[]>
}

export interface Topup {
  account: string
  /** Sub-account that gets the allowance; absent: the account itself. */
  sub?: string | undefined
  /** "namespace/name" of the Credit. */
  id: string
  /** May be negative. */
  amount: Nanos
}

export interface Reserve {
  account: string
  sub?: string | undefined
  /** Created once per client request, before the first attempt; never reused. */
  id: string
  /** Upper bound of the cost; 0 for a free route, which still requires positive funds. */
  amount: Nanos
  /** False: the hold is counted, but never refused. */
  enforced: boolean
  /** How far the balance may fall below zero. */
  overdraft: Nanos
  subOverdraft?: Nanos | undefined
  leaseMs: number
  /** Note for the entry if the hold expires; the channel is not known yet. */
  about: Pick<EntryNote, 'model' | 'key'>
}

export interface Renew {
  account: string
  id: string
  /** Cost so far, charged if the hold expires. A lower value changes nothing. */
  seen: Nanos
  /** New size of the hold. A lower value changes nothing, so that a repeat changes nothing. */
  amount: Nanos
  enforced: boolean
  overdraft: Nanos
  subOverdraft?: Nanos | undefined
  leaseMs: number
}

export interface Settle {
  account: string
  sub?: string | undefined
  id: string
  /** Real cost; 0 voids the hold. */
  actual: Nanos
  /** Store time from the reply to reserve: distinguishes a young unknown id from a forgotten one. */
  reservedAt: number
  note: EntryNote
}

/** Details of the request in an entry. */
export interface EntryNote {
  reason: 'usage' | 'estimate' | 'input_only' | 'checkpoint'
  model: string
  channel: string
  /** objectId of the ApiKey. */
  key: string
  /** Disjoint token kinds; see contract/usage.ts. */
  tokens: Record<string, number>
}

/** OK: `reservedAt` is the store's time in ms. DUP: the same id and arguments again. NOFUNDS: `of` says whose funds are short. */
export type ReserveReply =
  | { reply: 'OK'; reservedAt: number }
  | { reply: 'DUP'; reservedAt: number; state: HoldState }
  | { reply: 'CONFLICT' }
  | { reply: 'NOFUNDS'; of: 'account' | 'sub'; reason: 'empty' | 'hold' }
  | { reply: 'NOACCT' }

/** NOFUNDS: the lease is extended, but not the hold. GONE: the hold has ended. UNKNOWN: there is no such hold. */
export type RenewReply = 'OK' | 'NOFUNDS' | 'GONE' | 'UNKNOWN' | 'NOACCT'

/** LATE: posted after expiry. LOST: posted although the (young) hold is unknown. STALE: unknown and too old, not posted. */
export type SettleReply = 'OK' | 'DUP' | 'CONFLICT' | 'LATE' | 'LOST' | 'STALE' | 'NOACCT'

/**
 * CONFLICT: the id was applied with another amount or to another sub-account. LIMIT: the balance would exceed the safe
 * integers, so nothing was changed; the same command may succeed once the balance allows it.
 */
export type TopupReply = 'OK' | 'DUP' | 'CONFLICT' | 'LIMIT' | 'NOACCT'

/** pending, settled, void, expired, late (settled after expiry or loss). */
export type HoldState = 'P' | 'S' | 'V' | 'E' | 'L'

export interface Reaped {
  account: string
  id: string
  charged: Nanos
}

export interface Balance {
  posted: Nanos
  held: Nanos
  subs: Record<string, { posted: Nanos; held: Nanos }>
}

export interface LedgerEntry {
  /** Increases with every entry of the account. */
  id: string
  kind: 'credit' | 'settle' | 'expire' | 'late' | 'lost' | 'adjust'
  /** Request id, or "namespace/name" of a Credit. */
  ref: string
  sub: string
  /** Signed change of the posted balance: only of the sub-account for a credit with `sub`, else of both. */
  delta: Nanos
  note?: EntryNote
}
