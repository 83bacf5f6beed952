/**
 * Renews the leases of live holds: each every ten seconds at a time of its own, those of one account in one command. A hold
 * whose renewal failed is tried again soon, long before its lease ends.
 */
import { Roster, type Seat } from '../../kit/roster.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { Ledger, Renewal } from '../../store/ledger/contract.ts'

const TICK_MS = 250
/** Ticks in a round, in which each hold is renewed once. */
const SLOTS = 40
/** Holds of one command, so that the ledger never blocks for long. */
const TOGETHER = 64
/** Commands at once: enough to hide the round-trip time, few enough that none times out in a queue. */
const AT_ONCE = 16
/** After a failure. Short: the lease of a hold that was not renewed has 20 s left. */
const RETRY_MS = 1_000

export interface Renewable {
  readonly account: string
  /** The state of the hold at the moment. */
  renewal(): Renewal
  /** Its turn in each round; set while its lease is renewed. */
  turn?: Turn | undefined
}

interface Turn {
  slot: number
  seat: Seat<Renewable>
}

export interface RenewalEvents {
  /** A command failed; its holds are tried again. */
  failed(error: unknown): void
  /** A hold was lost or had expired, and is held again. */
  heldAgain(account: string): void
}

export class Renewals {
  readonly #ledger: Pick<Ledger, 'renew'>
  readonly #events: RenewalEvents
  readonly #slots = Array.from({ length: SLOTS }, () => new Roster<Renewable>())
  readonly #due = new Set<Renewable>()
  readonly #timer: NodeJS.Timeout
  #now = 0
  /** performance.now() before which nothing is tried, after a failure. */
  #notBefore = 0
  #running = false

  constructor(ledger: Pick<Ledger, 'renew'>, events: RenewalEvents) {
    this.#ledger = ledger
    this.#events = events
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  get size(): number {
    return this.#slots.reduce((sum, { size }) => sum + size, 0)
  }

  /** Holds that were taken together come due in different ticks, in the second half of the round. */
  add(hold: Renewable): void {
    const ahead = SLOTS / 2 + Math.floor((Math.random() * SLOTS) / 2)
    const slot = (this.#now + ahead) % SLOTS
    const seat = this.#slots[slot]?.join(hold)
    hold.turn = seat && { slot, seat }
  }

  delete(hold: Renewable): void {
    if (hold.turn !== undefined) this.#slots[hold.turn.slot]?.leave(hold.turn.seat)
    hold.turn = undefined
    if (this.#due.size > 0) this.#due.delete(hold)
  }

  /** Renews a hold with the next tick. */
  soon(hold: Renewable): void {
    if (hold.turn !== undefined) this.#due.add(hold)
  }

  /** Renews all of them now: the ledger may have lost or expired them. */
  all(): void {
    for (const slot of this.#slots) for (const hold of slot.members()) this.#due.add(hold)
    this.#notBefore = 0
    void this.#run()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#due.clear()
  }

  #tick(): void {
    this.#now = (this.#now + 1) % SLOTS
    for (const hold of this.#slots[this.#now]?.members() ?? []) this.#due.add(hold)
    void this.#run()
  }

  async #run(): Promise<void> {
    if (this.#running) return
    this.#running = true
    while (this.#due.size > 0 && performance.now() >= this.#notBefore) await this.#round()
    this.#running = false
  }

  /** The first command runs alone, so that only one waits for a store that is away. */
  async #round(): Promise<void> {
    const [first, ...others] = batches(this.#due)
    if (first === undefined || !(await this.#renew(first))) return
    const queue = others.values()
    const lane = async () => {
      for (const batch of queue) if (!(await this.#renew(batch))) return
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, others.length) }, lane))
  }

  /** False when nothing more should be tried now. */
  async #renew(batch: readonly [Renewable, ...Renewable[]]): Promise<boolean> {
    // A hold may have been settled since the batch was made.
    const holds = batch.filter((hold) => this.#due.delete(hold))
    if (holds.length === 0) return true
    const { account } = batch[0]
    try {
      const replies = await this.#ledger.renew(
        account,
        holds.map((hold) => hold.renewal()),
      )
      if (replies.includes('AGAIN')) this.#events.heldAgain(account)
      return true
    } catch (error) {
      for (const hold of holds) this.soon(hold)
      this.#notBefore = performance.now() + RETRY_MS
      this.#events.failed(error)
      return !(error instanceof StoreUnavailable)
    }
  }
}

/** Groups holds by account, into batches that one command renews. */
function batches(holds: Iterable<Renewable>): [Renewable, ...Renewable[]][] {
  const open = new Map<string, [Renewable, ...Renewable[]]>()
  const all: [Renewable, ...Renewable[]][] = []
  for (const hold of holds) {
    const batch = open.get(hold.account)
    if (batch !== undefined && batch.length < TOGETHER) {
      batch.push(hold)
      continue
    }
    const next: [Renewable] = [hold]
    open.set(hold.account, next)
    all.push(next)
  }
  return all
}
