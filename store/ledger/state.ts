/** The state of one account. */
import type { Nanos } from '../../contract/money.ts'
import type { Budgets } from './budgets.ts'
import type { EntryNote } from './contract.ts'
import { EntryLog } from './entry-log.ts'
import type { Meters } from './meters.ts'
import { Tombstones } from './tombstones.ts'

/** The sums that are stored. */
export interface Funds {
  posted: Nanos
  held: Nanos
  credited: Nanos
}

/** A hold until it is settled or expires. */
export interface LiveHold {
  sub: string | undefined
  /** Amount passed to reserve; undefined when the hold was lost and a renewal took it again. */
  requested: Nanos | undefined
  /** Amount held: the countable part of `requested`, plus what renew added. */
  amount: Nanos
  /** Cost so far. */
  seen: Nanos
  /** What an expiry has charged, if the hold was taken again after one. */
  paid: Nanos | undefined
  /** Store time in ms. */
  leaseEnd: number
  reservedAt: number
  /** Ids of the meters that count it. */
  running: readonly string[]
  /** Ids of the budgets that hold and pay for it. */
  budgets: readonly string[]
  /** Of the entry if the hold expires. */
  note: EntryNote
}

/** A hold whose lease has ended. */
export interface ExpiredHold {
  sub: string | undefined
  charged: Nanos
  /** Store time in ms until which it is kept. */
  until: number
}

export interface Credited {
  sub: string | undefined
  amount: Nanos
}

export class AccountState implements Meters, Budgets {
  readonly account: string
  readonly funds: Funds = { posted: 0, held: 0, credited: 0 }
  readonly subs = new Map<string, Funds>()
  /** By request id. */
  readonly live = new Map<string, LiveHold>()
  readonly expired = new Map<string, ExpiredHold>()
  readonly tombstones: Tombstones
  readonly fills: Meters['fills'] = new Map()
  readonly running: Meters['running'] = new Map()
  readonly budgets: Budgets['budgets'] = new Map()
  /** Not later than the earliest end of a lease; undefined if nothing is held. */
  nextLeaseEnd: number | undefined
  /** Applied credits by id, kept for ever so that none is applied twice; adjustments as `adjust:<id>`. */
  readonly credits = new Map<string, Credited>()
  readonly log = new EntryLog()
  /** Number of entries ever appended. */
  entries = 0
  epoch = 0
  /** No hold is taken while the sums are being restored. */
  closed = false
  /** By how many ms the clock was set back between a reserve and its closing entry, at most. */
  setBackMs = 0
  restoredTo: string | undefined
  countedTo: string | undefined
  journaled: string | undefined
  trimmedTo: string | undefined

  /** `mostIds`: see Tombstones. */
  constructor(account: string, mostIds?: () => number) {
    this.account = account
    this.tombstones = new Tombstones(mostIds)
  }

  /** Of a sub-account, or (undefined) of the account itself. */
  fundsOf(sub: string | undefined): Readonly<Funds> {
    return sub === undefined ? this.funds : (this.subs.get(sub) ?? { posted: 0, held: 0, credited: 0 })
  }

  /** Changes one sum by an amount that is `countable`. */
  add(field: keyof Funds, sub: string | undefined, by: Nanos): void {
    if (by === 0) return
    if (sub === undefined) {
      this.funds[field] += by
      return
    }
    const funds = this.subs.get(sub) ?? { posted: 0, held: 0, credited: 0 }
    funds[field] += by
    this.subs.set(sub, funds)
  }

  /** The part of `by` that keeps the sum within the safe integers: all of it, except for absurd sums. */
  countable(field: keyof Funds, sub: string | undefined, by: Nanos): Nanos {
    const now = this.fundsOf(sub)[field]
    return Math.min(Math.max(by, -Number.MAX_SAFE_INTEGER - now), Number.MAX_SAFE_INTEGER - now)
  }

  /** The part of `by` that both account and sub-account can count, so that they change by the same amount. */
  countableInBoth(field: keyof Funds, sub: string | undefined, by: Nanos): Nanos {
    const part = this.countable(field, undefined, by)
    return sub === undefined ? part : this.countable(field, sub, part)
  }

  addToBoth(field: keyof Funds, sub: string | undefined, by: Nanos): void {
    this.add(field, undefined, by)
    if (sub !== undefined) this.add(field, sub, by)
  }
}
