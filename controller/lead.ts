/** What a controller does while it leads: publish, look after money, keep statuses. */

import { isDeepStrictEqual } from 'node:util'
import { pause, withDeadline } from '../kit/time.ts'
import {
  type Heartbeat,
  type Inspection,
  type Position,
  type Store,
  StoreUnavailable,
} from '../store/contract.ts'
import { Bookkeeper, type BooksOptions } from './bookkeeper.ts'
import { RiskWatch } from './books/risks.ts'
import { type AttemptOutcome, Publisher, type PublishResult } from './publish/publisher.ts'
import type {
  BooksLag,
  Compiled,
  FoundStatus,
  LedgerAccount,
  Removal,
  Risk,
  Touched,
  UsageLine,
  UsageQuery,
} from './snapshot.ts'
import { type ListedStatus, type Status, StatusBoard } from './status/board.ts'
import type { FundsReading } from './telemetry/funds.ts'

/** Intervals between reads of the heartbeats: while proxies are taking up a publication, and otherwise. */
const WAITING_MS = 25
const IDLE_MS = 1_000
/** After this time, a proxy that has not taken up a publication counts as slow. */
const SLOW_AFTER_MS = 5_000
const VERIFY_MS = 1_000
const VERIFY_TABLE_MS = 2_000
/** Between two looks at the accounts in use: their balances are read, and due holds expire. */
const ACTIVE_MS = 10_000
/** Between two looks at all accounts: at their credits, and for due holds. */
const REASSERT_MS = 300_000
const WALK_MS = 600_000
/** Between two looks for proxies that have gone. */
const GONE_MS = 5_000
/** Between two looks at the settings of the store's servers. */
const RISKS_MS = 30_000
const REPAIR_MS = 60_000
/** For the last checkpoint of a term: the next leader waits. */
const LAST_LOOK_MS = 3_000
/** A new leader compares all stored records this soon. */
const FIRST_REPAIR_MS = 2_000

interface LeadOptions extends BooksOptions {
  store: Store
  /** Called when another controller has taken over: this one publishes nothing more. */
  onFenced: () => void
  /** See BoardOptions.found. */
  found?: (id: string) => FoundStatus | undefined
  /**
   * Called with the ids of resources whose status may have changed. Not called until the first publication and the first
   * heartbeats, so that a new leader does not revoke conditions that still hold.
   */
  onChange?: (ids: readonly string[]) => void
  onAttempt?: (outcome: AttemptOutcome, seconds: number) => void
  /** Called when most of the keys or routes were removed at once. */
  onRemoval?: (removal: Removal) => void
  onSpoilt?: (spoilt: Inspection['spoilt']) => void
  /** Called for a way in which the store may lose balances, when it is found. */
  onRisk?: (risk: Risk) => void
  /** Milliseconds between two looks at the settings of the store's servers; default 30,000. */
  risksMs?: number | undefined
}

export class Leader {
  /** Resolves when the first publication is in the store; rejects if another controller takes over before. */
  readonly ready: Promise<void>
  readonly #options: LeadOptions
  readonly #board: StatusBoard
  readonly #books: Bookkeeper
  readonly #risks: RiskWatch
  readonly #publisher: Publisher
  readonly #ready = Promise.withResolvers<void>()
  readonly #stop = new AbortController()
  /** Ends the pause before the next read of the heartbeats. */
  #wake = new AbortController()
  #latest: Compiled | undefined
  #removal: Removal | undefined
  #published = false
  #settled = false
  /** The epoch in which all credits were applied again. */
  #asserted: number | undefined
  readonly #loops: Promise<void>[]
  readonly #unwatch: () => void

  constructor(options: LeadOptions) {
    const { store, log, now, found, onAttempt, onSpoilt } = options
    this.#options = options
    this.ready = this.#ready.promise
    // Without this handler, a rejection would end a process that does not await `ready`.
    this.ready.catch(() => {})
    this.#board = new StatusBoard({ store, log, now, found, onChange: (ids) => this.#changed(ids) })
    this.#risks = new RiskWatch(store, (risks, before) => this.#onRisks(risks, before))
    this.#books = new Bookkeeper(store.ledger, options, {
      latest: () => this.#latest,
      epoch: () => this.position?.epoch,
      mayCreate: async () => !mayEvictAll(await this.#risks.risks()),
      onApplied: (applied) => this.#board.money(applied),
      onFenced: () => options.onFenced(),
      signal: this.#stop.signal,
    })
    this.#publisher = new Publisher({
      store,
      credits: this.#books.credits,
      savedEpoch: () => this.#books.savedEpoch(),
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
      this.#every(ACTIVE_MS, () => this.#books.lookAtActive(this.#stop.signal)),
      this.#every(REASSERT_MS, () => this.#books.reassertSlowly()),
      this.#every(WALK_MS, () => this.#books.walk()),
      this.#every(GONE_MS, () => this.#books.searchAfterDeaths(this.#board.live.map(({ proxy }) => proxy))),
      this.#repair(),
      this.#watchRisks(),
    ]
    this.#unwatch = store.onRestored(() => {
      // Another server may have taken over.
      this.#risks.look().catch(() => {})
      if (!this.#published) return
      this.#books.distrust()
      void this.#books.reassert()
    })
  }

  /**
   * Puts `compiled` in force. `touched`: what has changed since the last call; without it, everything is compared.
   */
  submit(compiled: Compiled, touched?: Touched): void {
    this.#latest = compiled
    this.#board.judged(compiled, touched)
    this.#publisher.submit(compiled, touched)
  }

  /** The epoch of this term and the stored generation. */
  get position(): Position | undefined {
    return this.#publisher.position
  }

  /** The last removal of most of the keys or routes in this term. */
  get removal(): Removal | undefined {
    return this.#removal
  }

  /** Ways in which the store may lose balances; empty while they are unknown. */
  get risks(): readonly Risk[] {
    return this.#risks.known ?? []
  }

  /** How long changes of balances have waited to leave the store. */
  get lag(): BooksLag {
    return this.#books.lag
  }

  /** What metrics say about money; undefined while the ledger has not answered. */
  get funds(): FundsReading | undefined {
    return this.#books.funds
  }

  /** Heartbeats of live proxies. */
  get proxies(): readonly Heartbeat[] {
    return this.#board.live
  }

  /** The status that a resource should have, by statusId. */
  status(id: string): Status | undefined {
    return this.#board.status(id)
  }

  /** The current status of every resource. Rejects with StoreUnavailable. */
  async statuses(): Promise<ListedStatus[]> {
    await this.#books.read()
    return this.#board.list()
  }

  /** The sums of every account in force that the ledger has. Rejects with StoreUnavailable. */
  ledger(): Promise<LedgerAccount[]> {
    return this.#books.accounts()
  }

  /** Who used what. Rejects with StoreUnavailable. */
  usage(query: UsageQuery): Promise<UsageLine[]> {
    return this.#books.usage(query)
  }

  /** Resolves when running calls have ended. */
  async stop(): Promise<void> {
    this.#unwatch()
    // The next leader, or the next start, begins with what is known now.
    const last = withDeadline(
      this.#books.lookAtActive(),
      LAST_LOOK_MS,
      () => new Error('the last look took too long'),
    )
    await last.catch((error: unknown) => this.#logAway(error))
    this.#stop.abort()
    await Promise.all([...this.#loops, this.#publisher.stop()])
    await this.#books.stop().catch((error: unknown) => this.#logAway(error))
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
    // This is a new term, or the store has lost its epoch and perhaps more.
    this.#asserted = epoch
    void this.#books.reassert()
  }

  #onRemoval(removal: Removal): void {
    this.#removal = removal
    this.#options.log.warn({ namespaces: removal.namespaces }, removal.message)
    this.#options.onRemoval?.(removal)
  }

  #onRisks(risks: readonly Risk[], before: readonly Risk[]): void {
    const { log, onRisk } = this.#options
    for (const risk of risks) {
      if (before.some((known) => isDeepStrictEqual(known, risk))) continue
      log.warn({ risk: risk.kind, servers: risk.servers }, risk.message)
      onRisk?.(risk)
    }
    const over = before.filter(({ kind }) => !risks.some((risk) => risk.kind === kind))
    for (const { kind } of over) log.info({ risk: kind }, 'Redis no longer has this fault')
    this.#board.risks(risks)
    if (mayEvictAll(before) && !mayEvictAll(risks)) void this.#books.reassert()
  }

  async #watchRisks(): Promise<void> {
    const { risksMs = RISKS_MS } = this.#options
    while (!this.#stop.signal.aborted) {
      // #followHeartbeats logs an unreachable store.
      await this.#risks.look().catch(() => {})
      await pause(this.#risks.known === undefined ? IDLE_MS : risksMs, this.#stop.signal, 'resolve')
    }
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

  /** Repeats `work`, never twice at once. A failure is logged and does not end the loop. */
  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    for (;;) {
      await pause(ms, this.#stop.signal, 'resolve')
      if (this.#stop.signal.aborted) return
      await work().catch((error: unknown) => {
        // #followHeartbeats logs an unreachable store, once.
        if (!(error instanceof StoreUnavailable)) this.#logAway(error)
      })
    }
  }

  #logAway(error: unknown): void {
    this.#options.log.warn({ err: error }, 'the store does not respond')
  }
}

const mayEvictAll = (risks: readonly Risk[]) => risks.some(({ kind }) => kind === 'evicts_all')
