/**
 * The ledger works in two phases, like a card payment: it holds an upper bound before an upstream is called, and settles
 * the real cost afterwards. A late or larger settle is always posted, because the upstream's cost is real. A hold whose
 * lease ends is charged its last checkpoint. Every command is idempotent: a repeat changes nothing and is answered DUP, so
 * that a retry after an unclear failure is always safe.
 *
 *     reserve -> pending --settle--> settled          pending --settle(0)--> void
 *                  |  ^ renew                           pending --lease ends--> expired --settle--> late
 *                  |  '----------------- renew -----------------------------------'
 *     settle of an unknown id -> late (reply LOST): the hold was lost, but the cost is still posted
 *     renew of an unknown id  -> pending (reply AGAIN): the hold was lost, and is held again
 *
 * Every hold that was taken leaves a closing entry: settle, expire or lost, zero amounts included. Where an expiry was too
 * early, a second one, late, has the difference.
 *
 * Of each account and sub-account the ledger keeps three sums: credited, posted (the balance) and held. What was spent is
 * credited minus posted, and is not stored.
 */
import type { Nanos } from '../../contract/money.ts'
import type { Usage } from '../../contract/usage.ts'
import type { Soon } from '../../kit/soon.ts'

export interface Ledger {
  /** How often the old entries of an account in use should be removed, in milliseconds. */
  readonly trimEveryMs: number

  /** Creates an account with a balance of zero, or takes over one of the previous version. Other commands on an unknown account
   * answer NOACCT.
   */
  open(command: Open): Promise<OpenReply>
  /** Applies a credit, once per id. */
  topup(command: Topup): Promise<TopupReply>
  /** Corrects what was credited and spent, once per id. */
  adjust(command: Adjust): Promise<AdjustReply>
  /**
   * Holds `amount` if there are enough funds, in one atomic step, after expiring a few due holds of the account. An amount
   * that would take the sum of holds beyond the safe integers is held in part. Counts the request in its meters in the same step.
   */
  reserve(command: Reserve): Soon<ReserveReply>
  /**
   * Extends the leases of holds of one account, records their cost so far, and may enlarge them. A hold that the ledger has
   * lost or expired is held again. The replies are in the order of `renewals`.
   */
  renew(account: string, renewals: readonly Renewal[]): Promise<RenewReply[]>
  /** Posts the real cost and releases the hold. A cost that would take the balance beyond the safe integers is posted in part. */
  settle(command: Settle): Soon<SettleReply>
  /** Expires at most `max` holds of an account whose leases have ended, and charges their cost so far. */
  reap(account: string, max: number): Promise<Reaped[]>
  /** The sums of an account and of those of its sub-accounts and budgets that are named; undefined if the account is unknown. */
  balance(account: string, named?: NamedSums): Promise<Balance | undefined>
  /** Ledger entries of an account, oldest first, after the entry with the id `after` (undefined: from the start). */
  entries(account: string, after: string | undefined, count: number): Promise<LedgerEntry[]>
  /**
   * Removes entries of an account that are older than `keepMs`, but none from the entry `upTo` on, which is kept as the mark of
   * the journal (see Balance). Undefined: without a journal, by age alone. A ledger in memory keeps only the newest of many.
   */
  trim(account: string, upTo: string | undefined, keepMs: number): Promise<void>

  /**
   * Adds to the usage of an account, which need not exist. With `mark`, the entries up to `upTo` are counted, once: MOVED if
   * another one than `after` was counted last. Without it, what an unclear failure may have counted is counted again.
   */
  count(account: string, rows: readonly Counted[], mark?: CountMark): Promise<'OK' | 'MOVED'>
  /** The usage of an account on these days, a page at a time. Those of 400 days are kept. */
  usage(account: string, span: UsageSpan): AsyncIterable<UsageRow[]>
  /** The same by tag. */
  tagUsage(account: string, span: Omit<UsageSpan, 'key'>): Promise<TagRow[]>

  /** Reports that holds of these accounts were taken, renewed or settled: see `touched`. */
  touch(accounts: readonly string[]): Promise<void>
  /** Accounts that were touched, at most `count`, in the order of the store's time, from `since` on (ms). */
  touched(since: number, count: number): Promise<{ account: string; at: number }[]>
  /** A part of all accounts ever opened, about `count`; `next` is undefined at the end. Some may be returned twice. */
  walk(cursor: string | undefined, count: number): Promise<{ accounts: string[]; next: string | undefined }>
}

/** Days since 1970-01-01 (UTC), both included. */
export interface UsageSpan {
  from: number
  to: number
  /** Only of this key. */
  key?: string | undefined
}

/** Counts that are not zero; tokens and calls by kind, see contract/usage.ts. Costs in nano-dollars. */
export type UsageCounts = Partial<
  Record<'requests' | 'errors' | 'cost' | 'upstreamCost' | keyof Usage, number>
>

/** The entries that a count adds: those after `after`, or all of them, up to `upTo`. */
export interface CountMark {
  after: string | undefined
  upTo: string
}

/** What requests of one key added, or (with a `tag`) requests for one purpose. */
export type Counted = CountedOfKey | CountedOfTag

interface CountedOfTag {
  tag: { name: string; value: string }
  day?: number | undefined
  counts: UsageCounts
}

export interface CountedOfKey {
  /** Absent: today, by the clock of the store. */
  day?: number | undefined
  /** objectId of the ApiKey. */
  key: string
  /** "namespace/name". */
  keyName?: string | undefined
  model: string
  channel: string
  sub?: string | undefined
  counts: UsageCounts
}

export interface UsageRow {
  day: number
  key: string
  /** Undefined if nothing has told it. */
  keyName: string | undefined
  model: string
  /** Empty for requests that no channel served. */
  channel: string
  /** Empty for the account itself. */
  sub: string
  counts: UsageCounts
}

/** `value` is empty for those beyond the number of tags that are kept. */
export interface TagRow {
  day: number
  name: string
  value: string
  counts: UsageCounts
}

/** What a request is for: names and values of letters, digits, `.`, `_`, `-`, `/` and `:`. */
export type Tags = Readonly<Record<string, string>>

export interface Open {
  account: string
  /** The leader's term. FENCED if the account was created, topped up or adjusted in a later one. */
  epoch: number
  /** False: an unknown account is not created; NOACCT. */
  create: boolean
  /** True: while its sums are being restored, no hold is taken: reserve answers NOACCT until the account is opened without it. */
  closed?: boolean
}

/** OK: created. DUP: it existed. */
export type OpenReply = 'OK' | 'DUP' | 'FENCED' | 'NOACCT'

export interface Topup {
  account: string
  epoch: number
  /** Sub-account that gets the allowance; absent: the account itself. */
  sub?: string | undefined
  /** "namespace/name" of the Credit. */
  id: string
  /** May be negative. */
  amount: Nanos
}

/**
 * OK: `entry` is the id of its entry. CONFLICT: the id was applied with another amount or to another sub-account. LIMIT: the
 * balance would exceed the safe integers, so nothing was changed; the same command may succeed once the balance allows it.
 */
export type TopupReply =
  | { reply: 'OK'; entry: string }
  | { reply: 'DUP' | 'CONFLICT' | 'LIMIT' | 'FENCED' | 'NOACCT' }

export interface Adjust {
  account: string
  epoch: number
  /** Of the correction; never reused. */
  id: string
  /** Who corrects: a restore from a checkpoint, or an operator, with the operator's words. */
  reason: 'restore' | 'operator'
  text?: string | undefined
  /**
   * By how much to raise (or lower) the sums of the account, or of its sub-account `sub`. One entry each; a `sub` twice throws
   * RangeError.
   */
  changes: readonly { sub?: string | undefined; credited: Nanos; spent: Nanos }[]
  budgets?: readonly BudgetChange[] | undefined
  /** CHANGED if the account has another number of entries by now: see Balance. */
  ifEntries?: number | undefined
  /**
   * For a restore: the last entry that the checkpoint counts. A settle that was first posted as this entry or an earlier
   * one is already in the sums: it is answered DUP. An earlier one than that of another restore changes nothing.
   */
  restoredTo?: string | undefined
}

export type AdjustReply = 'OK' | 'DUP' | 'CHANGED' | 'LIMIT' | 'FENCED' | 'NOACCT'

/** What every command on a hold carries. */
interface HoldTerms {
  /** Created once per client request, before the first attempt; never reused. */
  id: string
  sub?: string | undefined
  /** Upper bound of the cost; 0 for a free route, which still requires positive funds. */
  amount: Nanos
  /** Cost so far, charged if the hold expires. A lower value than before changes nothing. */
  seen: Nanos
  /** False: the hold is counted, but never refused. */
  enforced: boolean
  /** How far the balance may fall below zero. */
  overdraft: Nanos
  subOverdraft?: Nanos | undefined
  leaseMs: number
  /** Note of the entry if the hold expires. */
  note: EntryNote
  /** Rate limits that apply to the request. */
  meters?: readonly Meter[] | undefined
  /** Must cover the request too, even if it is not enforced. */
  budgets?: readonly Budget[] | undefined
}

/** A rate limit. */
export interface Meter {
  /** The same for all requests that share it: lower-case letters, digits and slashes. */
  id: string
  /** The limit, above 0; also the burst. */
  most: number
  /** In which a full bucket empties; 0: a limit on live holds. */
  windowMs: number
  /** What the request takes: 1, or the most tokens that it may use. */
  takes: number
}

/** By how much a request took more (or less, below 0) than it was admitted with. */
export interface Correction extends Omit<Meter, 'takes'> {
  by: number
}

/** When a budget renews. */
export interface Periods {
  /** The same for all requests that share the budget: lower-case letters, digits and slashes. */
  id: string
  /** When the current period began, and when the next two begin, in ms. The store's clock decides which one it is. */
  periods: readonly [number, number, number]
}

/** How much may be spent in each period. */
export interface Budget extends Periods {
  most: Nanos
}

export interface BudgetSums {
  /** In the period that ends at `until`; from then on nothing. */
  spent: Nanos
  held: Nanos
  until: number
  /** The end of the period that follows. */
  after: number
}

/** By how much to raise what was spent in the period that ends at `until`; nothing once that is over. */
export interface BudgetChange extends Omit<BudgetSums, 'held'> {
  id: string
}

export interface Reserve extends HoldTerms {
  account: string
}

/** `amount`: a lower value than before changes nothing, so that a repeat changes nothing. */
export interface Renewal extends HoldTerms {
  /** Store time from the reply to reserve. */
  reservedAt: number
}

export interface Settle {
  account: string
  sub?: string | undefined
  id: string
  /** Real cost; 0 voids the hold. */
  actual: Nanos
  /** Store time from the reply to reserve. */
  reservedAt: number
  note: EntryNote
  /** Of its meters over time; ignored for an unknown hold. */
  corrections?: readonly Correction[] | undefined
  /** To charge; those of a live hold are charged in any case. */
  budgets?: readonly Periods[] | undefined
  /** For a repeat of a settle that the store may have lost: the entry of its first reply. */
  postedAs?: string | undefined
}

/** Details of the request in an entry. */
export interface EntryNote {
  /**
   * usage: as the upstream reported; estimate, input_only: without its report; checkpoint: what the proxy had seen when the
   * hold expired; unserved: no upstream served the request, so that it costs nothing.
   */
  reason: 'usage' | 'estimate' | 'input_only' | 'checkpoint' | 'unserved'
  model: string
  /** Empty while none was chosen. */
  channel: string
  /** objectId of the ApiKey. */
  key: string
  endpoint: string
  /** The service tier that was charged; empty: the normal one. */
  tier: string
  /** Version of the price; empty without a price. */
  price: string
  /** Disjoint kinds, without those that are zero; see contract/usage.ts. */
  tokens: Readonly<Record<string, number>>
  /** What was unusual about the charge, such as `usage_clamped`. */
  flags: readonly string[]
  /** Ids of the budgets that the charge counts in. */
  budgets?: readonly string[] | undefined
  tags?: Tags | undefined
  /** What the upstream charges for the request, where its channel has a price of its own. */
  upstreamCost?: Nanos | undefined
}

/**
 * OK: `reservedAt` is the store's time in ms. DUP: the same id and arguments again. OVER: the hold of this id has ended, so that
 * it must not pay for another call. NOFUNDS: see Shortfall. LIMITED: `meter` is the index of the one that is full for the
 * longest time. `room`: what is left in each meter, in their order.
 */
export type ReserveReply =
  | ({ reply: 'OK' | 'DUP'; reservedAt: number; room: readonly number[] } & FundsLeft)
  | { reply: 'LIMITED'; meter: number; waitMs: number; room: readonly number[] }
  | { reply: 'OVER' | 'CONFLICT' | 'NOACCT' }
  | ({ reply: 'NOFUNDS' } & Shortfall)

export interface FundsLeft {
  /** Left for other holds, overdrafts included, wherever the least is left: in an enforced balance or a budget. */
  free: Nanos
  /** The balances of the account and of the sub-account. */
  posted: Nanos
  subPosted?: Nanos
  /** Spent in each budget, in their order. */
  spent: readonly Nanos[]
}

/** Whose funds are short; of budgets the index. `hold`: there are some, but they do not cover the amount. */
export type Shortfall =
  | { of: 'account' | 'sub'; reason: 'empty' | 'hold' }
  | { of: 'budget'; budget: number; reason: 'empty' | 'hold' }

/**
 * NOFUNDS: the lease is extended, but not the hold. AGAIN: the hold was lost or expired and is held again, whatever the
 * funds, because the upstream is at work. GONE: the hold is settled.
 */
export type RenewReply = 'OK' | 'NOFUNDS' | 'AGAIN' | 'GONE' | 'NOACCT'

/**
 * LATE: the hold had expired; the difference to what the expiry charged is posted. LOST: posted although the hold is
 * unknown. `entry` is the id of the closing entry, absent where a restore has counted the cost. STALE: unknown, and so old that its entry may have been trimmed, so that
 * it was not posted.
 */
export type SettleReply =
  | { reply: 'OK' | 'LATE' | 'LOST'; entry: string }
  | { reply: 'DUP'; entry?: string }
  | { reply: 'CONFLICT' | 'STALE' | 'NOACCT' }

export interface Reaped {
  account: string
  id: string
  charged: Nanos
}

/** Ids of sub-accounts and budgets. */
export interface NamedSums {
  subs?: readonly string[] | undefined
  budgets?: readonly string[] | undefined
  meters?: readonly Meter[] | undefined
}

/** When a meter is empty, by the store's clock, in microseconds, and the limit by which it was filled. */
export interface Fill {
  emptyAt: number
  most: number
}

/** Of a meter over time how it was filled; of live holds their number. */
export type MeterLevel = Fill | number

/** The sums of an account or a sub-account. */
export interface Sums {
  /** credited - spent */
  posted: Nanos
  held: Nanos
  credited: Nanos
}

export interface Balance extends Sums {
  /** Those that were asked for and exist. */
  subs: Record<string, Sums>
  budgets: Record<string, BudgetSums>
  /** Of the meters that were asked for; those that are empty may be missing. */
  levels: Record<string, MeterLevel>
  /** The term in which the account was created, topped up or adjusted last. */
  epoch: number
  /** Number of entries ever appended. If it falls, the store has lost some. */
  entries: number
  /** The last entry; undefined without one. */
  lastEntry: string | undefined
  /** The mark of the journal: every entry up to this one has left the store. */
  journaled: string | undefined
  /** Entries with an older id may have been removed. */
  trimmedTo: string | undefined
  /** Entries up to this one are counted in the usage. */
  countedTo: string | undefined
  /** The last entry that a restore counted; undefined if none was made. */
  restoredTo: string | undefined
}

export interface LedgerEntry {
  /** Increases with every entry of the account: "<ms of the store's clock>-<number>", as in a Redis stream. */
  id: string
  kind: 'credit' | 'settle' | 'expire' | 'late' | 'lost' | 'adjust'
  /** Request id, "namespace/name" of a Credit, or id of an adjustment. */
  ref: string
  sub: string
  /** Signed change of the posted balance: only of the sub-account for a credit with `sub`, else of both. */
  delta: Nanos
  /** Of requests. */
  note?: EntryNote
  /** Of a settle that was repeated: see Settle. */
  postedAs?: string
  /** Of adjustments: the part of `delta` by which `credited` changed, the reason and the operator's words. */
  adjusted?: { credited: Nanos; reason: Adjust['reason']; text: string }
}
