/**
 * The ledger: an upper bound is held before an upstream is called, and the real cost settled after it, in two
 * phases like a card payment. A late or larger settle is posted, never dropped, because the upstream's cost is real;
 * a hold whose lease passes is charged its last checkpoint. Every command is idempotent: a repeat changes nothing
 * and is answered DUP, so one retry after an unclear failure is always safe.
 *
 *     reserve -> pending --settle--> settled          pending --settle(0)--> void
 *                  |  ^ renew                           pending --lease passes--> expired --settle--> late
 *     settle of an unknown, young id -> late (reply LOST): the hold was lost, the cost is posted all the same
 */
import type { Nanos } from '../../contract/money.ts'

export interface Ledger {
  /** Makes the account known with a balance of zero. Other commands on an unknown account answer NOACCT. */
  open(account: string): Promise<'OK' | 'DUP'>
  /** Adds a credit, once by its id. */
  topup(command: Topup): Promise<TopupReply>
  /**
   * Holds `amount` if funds allow: checked and applied in one step. Reaps a few passed leases of the account first.
   * Of an amount that would take the sum of holds out of the safe integers, what still counts is held.
   */
  reserve(command: Reserve): Promise<ReserveReply>
  /** Extends the lease of a hold, notes the cost so far, and may enlarge the hold. */
  renew(command: Renew): Promise<RenewReply>
  /** Posts the real cost and frees the hold. Of a cost that would leave the safe integers, what still counts. */
  settle(command: Settle): Promise<SettleReply>
  /** Expires holds whose lease has passed, on one account or on all; posts what was seen of each. */
  reap(account: string | undefined, max: number): Promise<Reaped[]>
  /** The sums of an account; undefined when it is not known. */
  balance(account: string): Promise<Balance | undefined>
  /** Ledger entries of an account, oldest first, after the entry `after` (its id; undefined: from the start). */
  entries(account: string, after: string | undefined, count: number): Promise<LedgerEntry[]>
}

export interface Topup {
  account: string
  /** Sub-account that gets an allowance; absent: the account itself. */
  sub?: string | undefined
  /** "namespace/name" of the Credit. */
  id: string
  /** May be negative. */
  amount: Nanos
}

export interface Reserve {
  account: string
  sub?: string | undefined
  /** Made once per client request, before the first attempt; unique for ever. */
  id: string
  /** Upper bound of the cost; 0 for a free route, which still asks for positive funds. */
  amount: Nanos
  /** False counts and never refuses. */
  enforced: boolean
  /** How far the account's and the sub-account's balance may fall below zero. */
  overdraft: Nanos
  subOverdraft?: Nanos | undefined
  leaseMs: number
  /** What the entry of an expiry says; which channel will serve is not known yet. */
  about: Pick<EntryNote, 'model' | 'key'>
}

export interface Renew {
  account: string
  id: string
  /** Cost so far; never falls. What an expiry charges. */
  seen: Nanos
  /** What the hold shall be from now on; less than it is changes nothing, so that a repeat changes nothing. */
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
  /** Store time that reserve answered with: tells a young unknown id from a forgotten one. */
  reservedAt: number
  note: EntryNote
}

/** What an entry says about the request beside money. */
export interface EntryNote {
  reason: 'usage' | 'estimate' | 'input_only' | 'checkpoint'
  model: string
  channel: string
  /** objectId of the ApiKey. */
  key: string
  /** Disjoint token kinds; see contract/usage.ts. */
  tokens: Record<string, number>
}

/** OK with the store's time in ms; DUP the same id and arguments again; NOFUNDS says whose funds did not suffice. */
export type ReserveReply =
  | { reply: 'OK'; reservedAt: number }
  | { reply: 'DUP'; reservedAt: number; state: HoldState }
  | { reply: 'CONFLICT' }
  | { reply: 'NOFUNDS'; of: 'account' | 'sub'; reason: 'empty' | 'hold' }
  | { reply: 'NOACCT' }

/** NOFUNDS extends the lease and leaves the hold as it was; GONE: the hold is terminal; UNKNOWN: never seen. */
export type RenewReply = 'OK' | 'NOFUNDS' | 'GONE' | 'UNKNOWN' | 'NOACCT'

/** LATE: after expiry; LOST: the hold was not known but young; STALE: too old to judge, nothing posted. */
export type SettleReply = 'OK' | 'DUP' | 'CONFLICT' | 'LATE' | 'LOST' | 'STALE' | 'NOACCT'

/**
 * CONFLICT: the id was applied with another amount or to another sub-account. LIMIT: the balance would leave the safe
 * integers; nothing was changed, and the same command may be accepted once the balance allows it.
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
  /** Rises with every entry of the account. */
  id: string
  kind: 'credit' | 'settle' | 'expire' | 'late' | 'lost' | 'adjust'
  /** Request id, or "namespace/name" of a Credit. */
  ref: string
  sub: string
  /** Signed change of the posted balance: of the sub-account alone for a credit with `sub`, else of both. */
  delta: Nanos
  note?: EntryNote
}
