/** What a controller does while it leads: publishes, hands out credits, judges statuses, charges holds left behind. */

import type { Log } from '../contract/log.ts'
import { pause } from '../kit/time.ts'
import {
  type Heartbeat,
  type Inspection,
  type Position,
  type Store,
  StoreUnavailable,
} from '../store/contract.ts'
import { CreditApplier } from './publish/credits.ts'
import { type AttemptOutcome, Publisher, type PublishResult } from './publish/publisher.ts'
import type { AppliedCredits, Compiled, FoundStatus, Recorded, Removal, Touched } from './snapshot.ts'
import { type ListedStatus, type Status, StatusBoard } from './status/board.ts'

/** Between two looks at the heartbeats: while a publication is on its way to the proxies, and else. */
const WAITING_MS = 25
const IDLE_MS = 1_000
/** After this long a proxy is slow, not on its way. */
const SLOW_AFTER_MS = 5_000
const VERIFY_MS = 1_000
const VERIFY_TABLE_MS = 2_000
const FUNDS_MS = 10_000
const REASSERT_MS = 300_000
const REPAIR_MS = 60_000
/** A new leader looks at all that is stored once it leads. */
const FIRST_REPAIR_MS = 2_000
const REAP_MS = 10_000
/** Holds expired by one call of the ledger, so that it never blocks for long. */
const REAP_BATCH = 1_000

export interface LeadOptions {
  store: Store
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  /** Another controller has taken over: this one writes nothing more. */
  onFenced: () => void
  recorded?: Recorded
  /** See BoardOptions.found. */
  found?: (id: string) => FoundStatus | undefined
  /**
   * Called with the ids of resources whose status may have changed; not before it is known what is published and what
   * the proxies serve, so that a new leader does not take back what still holds.
   */
  onChange?: (ids: readonly string[]) => void
  onAttempt?: (outcome: AttemptOutcome, seconds: number) => void
  /** Called when most of the keys or routes have gone at once. */
  onRemoval?: (removal: Removal) => void
  onSpoilt?: (spoilt: Inspection['spoilt']) => void
}

export class Leader {
  /** Resolves when the first wish is in the store; rejects when another controller has taken over before. */
  readonly ready: Promise<void>
  readonly #options: LeadOptions
  readonly #board: StatusBoard
  readonly #credits: CreditApplier
  readonly #publisher: Publisher
  readonly #ready = Promise.withResolvers<void>()
  readonly #stop = new AbortController()
  /** Ends the pause between two looks at the heartbeats. */
  #wake = new AbortController()
  #latest: Compiled | undefined
  #removal: Removal | undefined
  #published = false
  #settled = false
  /** The epoch for which every credit was handed to the ledger. */
  #asserted: number | undefined
  /** Work on money goes one piece after another. */
  #money: Promise<void> = Promise.resolve()
  readonly #loops: Promise<void>[]

  constructor(options: LeadOptions) {
    const { store, log, now, recorded, found, onAttempt, onSpoilt } = options
    this.#options = options
    this.ready = this.#ready.promise
    // Who does not wait for it is not ended by it.
    this.ready.catch(() => {})
    this.#board = new StatusBoard({ store, log, now, found, onChange: (ids) => this.#changed(ids) })
    this.#credits = new CreditApplier({ ledger: store.ledger, log, now, recorded })
    this.#publisher = new Publisher({
      store,
      credits: this.#credits,
      log,
      now,
      onResult: (result) => this.#onResult(result),
      onAttempt,
      onRemoval: (removal) => this.#onRemoval(removal),
      onSpoilt,
    })
    this.#loops = [
      this.#followHeartbeats(),
      this.#every(VERIFY_MS, () => this.#publisher.verify()),
      this.#every(VERIFY_TABLE_MS, () => this.#publisher.verifyTable()),
      this.#every(FUNDS_MS, () => this.#onMoney((compiled) => this.#credits.verify(compiled))),
      this.#every(REASSERT_MS, () => this.#onMoney((compiled) => this.#credits.reassert(compiled))),
      this.#repair(),
      this.#every(REAP_MS, () => reapAll(store)),
    ]
  }

  /**
   * Takes what is to be in force from now on. `touched`: what became different since the last call; without it
   * everything is looked at.
   */
  submit(compiled: Compiled, touched?: Touched): void {
    this.#latest = compiled
    this.#board.judged(compiled, touched)
    this.#publisher.submit(compiled, touched)
  }

  /** The epoch of this term and the generation that is stored. */
  get position(): Position | undefined {
    return this.#publisher.position
  }

  /** The last time in this term that most of the keys or routes went at once. */
  get removal(): Removal | undefined {
    return this.#removal
  }

  /** Proxies that are alive. */
  get proxies(): readonly Heartbeat[] {
    return this.#board.live
  }

  /** The status that a resource should have, by statusId. */
  status(id: string): Status | undefined {
    return this.#board.status(id)
  }

  /** The status of every resource, judged now. Rejects with StoreUnavailable. */
  async statuses(): Promise<ListedStatus[]> {
    await this.#onMoney((compiled) => this.#credits.verify(compiled))
    return this.#board.list()
  }

  /** Ends after the calls under way. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all([...this.#loops, this.#publisher.stop()])
    await this.#money
  }

  #onResult(result: PublishResult): void {
    if (result.outcome === 'fenced') {
      this.#ready.reject(new Error('another controller has taken over'))
      this.#options.onFenced()
      return
    }
    this.#published = true
    this.#board.published(result)
    this.#ready.resolve()
    this.#wake.abort()
    const epoch = this.position?.epoch
    if (epoch === this.#asserted) return
    // A new term, or a store that had lost its epoch and perhaps more.
    this.#asserted = epoch
    void this.#onMoney((compiled) => this.#credits.reassert(compiled))
  }

  #onRemoval(removal: Removal): void {
    this.#removal = removal
    this.#options.log.warn({ namespaces: removal.namespaces }, removal.message)
    this.#options.onRemoval?.(removal)
  }

  /** Never rejects. */
  #onMoney(work: (compiled: Compiled) => Promise<AppliedCredits>): Promise<void> {
    this.#money = this.#money.then(async () => {
      if (this.#latest === undefined || this.#stop.signal.aborted) return
      this.#board.money(await work(this.#latest))
    })
    return this.#money
  }

  #changed(ids: readonly string[]): void {
    if (this.#settled) this.#options.onChange?.(ids)
  }

  async #followHeartbeats(): Promise<void> {
    let waitingSince: number | undefined
    let away = false
    while (!this.#stop.signal.aborted) {
      try {
        await this.#board.refresh()
        away = false
        if (this.#published && !this.#settled) {
          this.#settled = true
          this.#changed(this.#board.ids())
        }
      } catch (error) {
        if (!away) this.#logAway(error)
        away = true
      }
      waitingSince = this.#board.waiting ? (waitingSince ?? performance.now()) : undefined
      const onTheWay = waitingSince !== undefined && performance.now() - waitingSince < SLOW_AFTER_MS
      this.#wake = new AbortController()
      const signal = AbortSignal.any([this.#stop.signal, this.#wake.signal])
      await pause(onTheWay && !away ? WAITING_MS : IDLE_MS, signal, 'resolve')
    }
  }

  async #repair(): Promise<void> {
    await pause(FIRST_REPAIR_MS, this.#stop.signal, 'resolve')
    if (!this.#stop.signal.aborted) this.#publisher.repair()
    await this.#every(REPAIR_MS, async () => this.#publisher.repair())
  }

  /** Does `work` again and again, never twice at once; a failure is logged and the next turn is taken all the same. */
  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    for (;;) {
      await pause(ms, this.#stop.signal, 'resolve')
      if (this.#stop.signal.aborted) return
      await work().catch((error: unknown) => {
        // One loop tells of it, once.
        if (!(error instanceof StoreUnavailable)) this.#logAway(error)
      })
    }
  }

  #logAway(error: unknown): void {
    this.#options.log.warn({ err: error }, 'the store did not answer')
  }
}

/** Charges holds whose proxy never came back. */
async function reapAll(store: Store): Promise<void> {
  for (;;) {
    const reaped = await store.ledger.reap(undefined, REAP_BATCH)
    if (reaped.length < REAP_BATCH) return
  }
}
