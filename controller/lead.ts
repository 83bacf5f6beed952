/** What a controller does while it leads: publish, apply credits, keep statuses, expire abandoned holds. */

import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../contract/log.ts'
import { pause, withDeadline } from '../kit/time.ts'
import {
  type Heartbeat,
  type Inspection,
  type Position,
  type Store,
  StoreUnavailable,
} from '../store/contract.ts'
import type { CheckpointStore } from './books/checkpoint-store.ts'
import { Superseded } from './books/checkpoint-store.ts'
import { Checkpoints } from './books/checkpoints.ts'
import { Journal } from './books/journal.ts'
import type { Names } from './books/journal-line.ts'
import type { JournalSink } from './books/journal-sink.ts'
import { RiskWatch } from './books/risks.ts'
import { ENTRIES_KEPT_MS, Sweep } from './books/sweep.ts'
import { UsageCounter } from './books/usage-counter.ts'
import { reportUsage } from './books/usage-report.ts'
import { CreditApplier } from './publish/credits.ts'
import { type AttemptOutcome, Publisher, type PublishResult } from './publish/publisher.ts'
import type {
  AppliedCredits,
  BooksLag,
  Compiled,
  FoundStatus,
  LedgerAccount,
  Recorded,
  Removal,
  Risk,
  Touched,
  UsageLine,
  UsageQuery,
} from './snapshot.ts'
import { type ListedStatus, type Status, StatusBoard } from './status/board.ts'
import { type FundsReading, readFunds } from './telemetry/funds.ts'

/** Intervals between reads of the heartbeats: while proxies are taking up a publication, and otherwise. */
const WAITING_MS = 25
const IDLE_MS = 1_000
/** After this time, a proxy that has not taken up a publication counts as slow. */
const SLOW_AFTER_MS = 5_000
const VERIFY_MS = 1_000
const VERIFY_TABLE_MS = 2_000
/** Between two looks at the accounts in use: their balances are read, and due holds expire. */
const ACTIVE_MS = 10_000
/** Between two looks at all accounts, and how many of them a second. */
const REASSERT_MS = 300_000
const REASSERTED_AT_ONCE = 250
const WALK_MS = 600_000
const WALKED_PER_SECOND = 250
/** Between two looks for proxies that have gone; the leases of their holds end this long after they are missed. */
const GONE_MS = 5_000
const LEASES_END_MS = 26_000
const SEARCHED_PER_SECOND = 5_000
/** Between two looks at the settings of the store's servers. */
const RISKS_MS = 30_000
const REPAIR_MS = 60_000
const READS_AT_ONCE = 16
/** For the last checkpoint of a term: the next leader waits. */
const LAST_LOOK_MS = 3_000
/** A new leader compares all stored records this soon. */
const FIRST_REPAIR_MS = 2_000
interface LeadOptions {
  store: Store
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  /** Called when another controller has taken over: this one publishes nothing more. */
  onFenced: () => void
  recorded?: Recorded
  /** Balances outside the store, to restore them if the store loses them. */
  checkpoints?: CheckpointStore | undefined
  /** Takes every entry of the ledger. */
  journal?: JournalSink | undefined
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
  readonly #credits: CreditApplier
  readonly #sweep: Sweep
  readonly #usage: UsageCounter
  readonly #checkpoints: Checkpoints | undefined
  readonly #journal: Journal | undefined
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
  /** Calls of the ledger run one after another. */
  #money: Promise<void> = Promise.resolve()
  readonly #loops: Promise<void>[]
  readonly #unwatch: () => void
  /** Proxies at the last look. */
  #alive: ReadonlySet<string> = new Set()
  /** performance.now() from when on the holds of proxies that have gone are due. */
  #searchAt: number | undefined

  constructor(options: LeadOptions) {
    const { store, log, now, recorded, found, onAttempt, onSpoilt } = options
    this.#options = options
    this.ready = this.#ready.promise
    // Without this handler, a rejection would end a process that does not await `ready`.
    this.ready.catch(() => {})
    this.#board = new StatusBoard({ store, log, now, found, onChange: (ids) => this.#changed(ids) })
    this.#risks = new RiskWatch(store, (risks, before) => this.#onRisks(risks, before))
    const mayCreate = async () => !mayEvictAll(await this.#risks.risks())
    this.#checkpoints = options.checkpoints && new Checkpoints(options.checkpoints, log)
    const checkpoints = this.#checkpoints
    this.#journal =
      options.journal &&
      new Journal({
        ledger: store.ledger,
        sink: options.journal,
        names: namesOf(() => this.#latest),
        keepMs: ENTRIES_KEPT_MS,
        log,
      })
    const journal = this.#journal
    this.#credits = new CreditApplier({
      ledger: store.ledger,
      log,
      now,
      recorded,
      checkpoints,
      journal,
      mayCreate,
    })
    this.#usage = new UsageCounter(
      store.ledger,
      namesOf(() => this.#latest),
    )
    this.#sweep = new Sweep(store.ledger, this.#usage, this.#journal)
    this.#publisher = new Publisher({
      store,
      credits: this.#credits,
      savedEpoch: () => checkpoints?.load(),
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
      this.#every(ACTIVE_MS, () => this.#lookAtActive(this.#stop.signal)),
      this.#every(REASSERT_MS, () => this.#reassertAll()),
      this.#every(WALK_MS, () => this.#sweep.walk(WALKED_PER_SECOND, this.#stop.signal)),
      this.#every(GONE_MS, () => this.#searchAfterDeaths()),
      this.#repair(),
      this.#watchRisks(),
    ]
    this.#unwatch = store.onRestored(() => {
      // Another server may have taken over.
      this.#risks.look().catch(() => {})
      if (!this.#published) return
      this.#credits.distrust()
      this.#journal?.distrust()
      void this.#onMoney((compiled) => this.#credits.reassert(compiled))
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
    return {
      journalSeconds: this.#journal?.lagSeconds ?? 0,
      checkpointSeconds: this.#checkpoints?.lagSeconds ?? 0,
    }
  }

  /** What metrics say about money; undefined while the ledger has not answered. */
  get funds(): FundsReading | undefined {
    const { last } = this.#credits
    return last === undefined || this.#latest === undefined
      ? undefined
      : readFunds(last, this.#latest.accounts)
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
    await this.#onMoney((compiled) => this.#credits.read(compiled))
    return this.#board.list()
  }

  /** The sums of every account in force that the ledger has. Rejects with StoreUnavailable. */
  async ledger(): Promise<LedgerAccount[]> {
    const found: LedgerAccount[] = []
    const accounts = this.#latest?.accounts.values() ?? [].values()
    const reader = async () => {
      for (const { id, namespace, name, parent } of accounts) {
        if (parent !== undefined) continue
        const balance = await this.#options.store.ledger.balance(id)
        if (balance === undefined) continue
        const { credited, posted, lastEntry } = balance
        found.push({
          accountId: id,
          name: `${namespace}/${name}`,
          credited,
          spent: credited - posted,
          lastEntry,
        })
      }
    }
    await Promise.all(Array.from({ length: READS_AT_ONCE }, reader))
    return found
  }

  /** Who used what. Rejects with StoreUnavailable. */
  async usage(query: UsageQuery): Promise<UsageLine[]> {
    const known = this.#latest ?? { accounts: new Map(), keys: new Map() }
    return reportUsage(this.#options.store.ledger, this.#usage, known, query)
  }

  /** Resolves when running calls have ended. */
  async stop(): Promise<void> {
    this.#unwatch()
    // The next leader, or the next start, begins with what is known now.
    const last = withDeadline(
      this.#lookAtActive(),
      LAST_LOOK_MS,
      () => new Error('the last look took too long'),
    )
    await last.catch((error: unknown) => this.#logAway(error))
    this.#stop.abort()
    await Promise.all([...this.#loops, this.#publisher.stop()])
    await this.#money
    await this.#journal?.close().catch((error: unknown) => this.#logAway(error))
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
    void this.#onMoney((compiled) => this.#credits.reassert(compiled))
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
    if (mayEvictAll(before) && !mayEvictAll(risks))
      void this.#onMoney((compiled) => this.#credits.reassert(compiled))
  }

  async #watchRisks(): Promise<void> {
    const { risksMs = RISKS_MS } = this.#options
    while (!this.#stop.signal.aborted) {
      // #followHeartbeats logs an unreachable store.
      await this.#risks.look().catch(() => {})
      await pause(this.#risks.known === undefined ? IDLE_MS : risksMs, this.#stop.signal, 'resolve')
    }
  }

  /** An account that the store cannot serve, such as one on a node that is down, does not stop the checkpoint of the others. */
  async #lookAtActive(hurry?: AbortSignal): Promise<void> {
    try {
      await this.#sweep.round()
    } finally {
      await this.#onMoney((compiled) => this.#credits.read(compiled, this.#sweep.active))
      await this.#saveCheckpoint(hurry)
    }
  }

  async #saveCheckpoint(hurry: AbortSignal | undefined): Promise<void> {
    const epoch = this.position?.epoch
    if (this.#checkpoints === undefined || epoch === undefined) return
    try {
      await this.#checkpoints.save(epoch, hurry)
    } catch (error) {
      if (!(error instanceof Superseded)) throw error
      this.#options.onFenced()
    }
  }

  /** In parts, so that changes need not wait, and a store with a million accounts has little to do. */
  async #reassertAll(): Promise<void> {
    const ids = [...(this.#latest?.accounts.keys() ?? [])]
    for (let from = 0; from < ids.length && !this.#stop.signal.aborted; from += REASSERTED_AT_ONCE) {
      const part = ids.slice(from, from + REASSERTED_AT_ONCE)
      await this.#onMoney((compiled) => this.#credits.reassert(compiled, part))
      if (from + REASSERTED_AT_ONCE < ids.length) await pause(1_000, this.#stop.signal, 'resolve')
    }
  }

  /** A proxy that died may not have reported the accounts that it had used last. */
  async #searchAfterDeaths(): Promise<void> {
    const alive = new Set(this.#board.live.map(({ proxy }) => proxy))
    if ([...this.#alive].some((proxy) => !alive.has(proxy)))
      this.#searchAt ??= performance.now() + LEASES_END_MS
    this.#alive = alive
    if (this.#searchAt === undefined || performance.now() < this.#searchAt) return
    this.#searchAt = undefined
    await this.#sweep.walk(SEARCHED_PER_SECOND, this.#stop.signal)
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

/** Names by id, made anew when the resources have changed. */
function namesOf(latest: () => Compiled | undefined): Names {
  let of: Compiled | undefined
  let keys = new Map<string, string>()
  return {
    account(id) {
      const record = latest()?.accounts.get(id)
      return record && `${record.namespace}/${record.name}`
    },
    key(id) {
      const compiled = latest()
      if (compiled !== undefined && compiled !== of) {
        of = compiled
        keys = new Map(
          [...compiled.keys.values()].map(({ id, namespace, name }) => [id, `${namespace}/${name}`]),
        )
      }
      return keys.get(id)
    },
  }
}

const mayEvictAll = (risks: readonly Risk[]) => risks.some(({ kind }) => kind === 'evicts_all')
