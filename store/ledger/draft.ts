import type { Nanos } from '../../contract/money.ts'
import type { LedgerEntry } from './contract.ts'
import type { AccountState, Credited, Effect, Funds, Hold } from './state.ts'

/** The reply to a command, and the effects that must be applied for the reply to be true. */
export interface Outcome<Reply> {
  reply: Reply
  effects: readonly Effect[]
}

/** Collects the effects of one command without changing the state. Reads as if the effects had been applied. */
export class Draft {
  readonly #state: AccountState
  readonly #effects: Effect[] = []
  readonly #funds = new Map<string | undefined, Funds>()
  readonly #holds = new Map<string, Hold | undefined>()

  constructor(state: AccountState) {
    this.#state = state
  }

  /** Funds of a sub-account, or (undefined) of the account itself. */
  funds(sub: string | undefined): Readonly<Funds> {
    const known = this.#funds.get(sub)
    if (known !== undefined) return known
    return (sub === undefined ? this.#state.funds : this.#state.subs.get(sub)) ?? { posted: 0, held: 0 }
  }

  hold(id: string): Readonly<Hold> | undefined {
    return this.#holds.has(id) ? this.#holds.get(id) : this.#state.holds.get(id)
  }

  /** The part of `by` that keeps the balance within the safe integers: all of it, except for absurd sums. */
  countable(field: keyof Funds, sub: string | undefined, by: Nanos): Nanos {
    const now = this.funds(sub)[field]
    return Math.min(Math.max(by, -Number.MAX_SAFE_INTEGER - now), Number.MAX_SAFE_INTEGER - now)
  }

  /** Changes one balance by an amount that is `countable`. */
  add(field: keyof Funds, sub: string | undefined, by: Nanos): void {
    if (by === 0) return
    const funds = this.funds(sub)
    this.#funds.set(sub, { ...funds, [field]: funds[field] + by })
    this.#effects.push({ type: 'add', field, sub, by })
  }

  put(id: string, hold: Hold): void {
    this.#holds.set(id, hold)
    this.#effects.push({ type: 'put', id, hold })
  }

  remove(id: string): void {
    this.#holds.set(id, undefined)
    this.#effects.push({ type: 'remove', id })
  }

  schedule(list: 'leases' | 'tombstones', id: string, at: number): void {
    this.#effects.push({ type: 'schedule', in: list, id, at })
  }

  unschedule(list: 'leases' | 'tombstones', id: string): void {
    this.#effects.push({ type: 'unschedule', in: list, id })
  }

  credit(id: string, credited: Credited): void {
    this.#effects.push({ type: 'credit', id, credited })
  }

  append(entry: Omit<LedgerEntry, 'id'>): void {
    this.#effects.push({ type: 'append', entry })
  }

  answer<Reply>(reply: Reply): Outcome<Reply> {
    return { reply, effects: this.#effects }
  }
}
