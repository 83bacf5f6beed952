import type { Nanos } from '../../contract/money.ts'
import type { Soon } from '../../kit/soon.ts'
import type {
  Correction,
  EntryNote,
  Ledger,
  Renewal,
  Reserve,
  Settle,
  SettleReply,
} from '../../store/ledger/contract.ts'
import type { Limit } from './limits.ts'
import type { Renewable } from './renewals.ts'

interface HoldParts {
  ledger: Pick<Ledger, 'renew'>
  /** Posts the settle of this hold, once. */
  settle: (command: Settle) => Soon<SettleReply['reply'] | undefined>
  failed: (operation: 'renew', error: unknown) => void
  /** The hold is over. */
  closed: (hold: Hold) => void
}

interface HoldState {
  reservedAt: number
  free?: Nanos | undefined
  /** In which the request is counted. */
  limits?: readonly Limit[] | undefined
}

/** Money that one request has set aside, until it is settled. */
export class Hold implements Renewable {
  turn: Renewable['turn']
  readonly #parts: HoldParts
  readonly #reserved: Reserve
  #amount: Nanos
  /** Cost so far, charged if this process dies. */
  #seen: Nanos
  #note: EntryNote
  /** Store time of the reservation, estimated until the ledger has answered. */
  reservedAt: number
  /** Funds that were left for other holds; undefined if the ledger was not waited for. */
  readonly free: Nanos | undefined
  readonly #limits: readonly Limit[]

  constructor(parts: HoldParts, reserved: Reserve, { reservedAt, free, limits = [] }: HoldState) {
    this.#parts = parts
    this.#reserved = reserved
    this.#amount = reserved.amount
    this.#seen = reserved.seen
    this.#note = reserved.note
    this.reservedAt = reservedAt
    this.free = free
    this.#limits = limits
  }

  get account(): string {
    return this.#reserved.account
  }

  get amount(): Nanos {
    return this.#amount
  }

  /** Notes the cost so far for the next renewal, and the entry that charges it if this process dies. */
  seen(cost: Nanos, note: EntryNote = this.#note): void {
    if (cost < this.#seen) return
    this.#seen = cost
    this.#note = note
  }

  /** Names the channel that has the request, for the entry that charges it if this process dies. */
  via(channel: string): void {
    this.#note = { ...this.#note, channel }
  }

  renewal(amount: Nanos = this.#amount): Renewal {
    const { account: _, ...terms } = this.#reserved
    return { ...terms, amount, seen: this.#seen, note: this.#note, reservedAt: this.reservedAt }
  }

  /**
   * Enlarges the hold; false when the funds do not allow it. True while the store is away: that is no reason to cut a
   * stream.
   */
  async extend(extra: Nanos): Promise<boolean> {
    const amount = this.#amount + extra
    try {
      const [reply] = await this.#parts.ledger.renew(this.account, [this.renewal(amount)])
      if (reply === 'NOFUNDS') return false
      if (reply === 'OK' || reply === 'AGAIN') this.#amount = amount
    } catch (error) {
      this.#parts.failed('renew', error)
    }
    return true
  }

  /**
   * Posts the real cost; 0 frees the hold. Undefined if the store does not take it now: it is posted when the store does,
   * and the caller need not wait. `tokens`: that the request used.
   */
  settle(actual: Nanos, note: EntryNote, tokens = 0): Soon<SettleReply['reply'] | undefined> {
    this.#parts.closed(this)
    const corrections = this.#corrections(tokens)
    const { account, id, sub, budgets = [] } = this.#reserved
    return this.#parts.settle({
      account,
      id,
      sub,
      actual,
      reservedAt: this.reservedAt,
      note,
      corrections: corrections.length > 0 ? corrections : undefined,
      budgets: budgets.length > 0 ? budgets : undefined,
    })
  }

  /** Counts the tokens that were used instead of those that the request was admitted with. */
  #corrections(tokens: number): Correction[] {
    if (this.#limits.length === 0) return []
    return this.#limits.flatMap(({ kind, meter: { takes, ...meter } }) =>
      kind === 'tokens' && tokens !== takes ? [{ ...meter, by: tokens - takes }] : [],
    )
  }
}
