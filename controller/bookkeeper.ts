/** What a leader does for the money in the ledger: credits, expired holds, checkpoint, journal and usage. */
import type { Log } from '../contract/log.ts'
import { pause } from '../kit/time.ts'
import type { Ledger } from '../store/ledger/contract.ts'
import { type CheckpointStore, Superseded } from './books/checkpoint-store.ts'
import { Checkpoints } from './books/checkpoints.ts'
import { Journal } from './books/journal.ts'
import type { Names } from './books/journal-line.ts'
import type { JournalSink } from './books/journal-sink.ts'
import { ENTRIES_KEPT_MS, Sweep } from './books/sweep.ts'
import { UsageCounter } from './books/usage-counter.ts'
import { reportUsage } from './books/usage-report.ts'
import { CreditApplier } from './publish/credits.ts'
import type {
  AppliedCredits,
  BooksLag,
  Compiled,
  LedgerAccount,
  Recorded,
  UsageLine,
  UsageQuery,
} from './snapshot.ts'
import { type FundsReading, readFunds } from './telemetry/funds.ts'

/** All accounts are looked at in parts, so many a second. */
const REASSERTED_AT_ONCE = 250
const REASSERTED_PAUSE_MS = 1_000
const WALKED_PER_SECOND = 250
/** The leases of a proxy that has gone end this long after it is missed. */
const LEASES_END_MS = 26_000
const SEARCHED_PER_SECOND = 5_000
const READS_AT_ONCE = 16

/** What keeps the money, beside the ledger. */
export interface BooksOptions {
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  recorded?: Recorded | undefined
  /** Balances outside the store, to restore them if the store loses them. */
  checkpoints?: CheckpointStore | undefined
  /** Takes every entry of the ledger. */
  journal?: JournalSink | undefined
}

/** What the leader knows, and what it does with the results. */
interface Leading {
  /** The resources in force. */
  latest(): Compiled | undefined
  /** Of this term, once it has begun. */
  epoch(): number | undefined
  /** False: the store may lose what is new. May reject with StoreUnavailable. */
  mayCreate(): Promise<boolean>
  onApplied(applied: AppliedCredits): void
  /** Called when the leader of a later term has saved a checkpoint. */
  onFenced(): void
  /** Aborted when the term ends. */
  signal: AbortSignal
}

export class Bookkeeper {
  readonly credits: CreditApplier
  readonly #ledger: Ledger
  readonly #leading: Leading
  readonly #sweep: Sweep
  readonly #usage: UsageCounter
  readonly #checkpoints: Checkpoints | undefined
  readonly #journal: Journal | undefined
  /** Calls of the ledger run one after another. */
  #money: Promise<void> = Promise.resolve()
  /** Proxies at the last look. */
  #alive: ReadonlySet<string> = new Set()
  /** performance.now() from when on the holds of proxies that have gone are due. */
  #searchAt: number | undefined

  constructor(ledger: Ledger, { log, now, recorded, ...places }: BooksOptions, leading: Leading) {
    this.#ledger = ledger
    this.#leading = leading
    const names = namesOf(() => leading.latest())
    const checkpoints = places.checkpoints && new Checkpoints(places.checkpoints, log)
    const journal =
      places.journal && new Journal({ ledger, sink: places.journal, names, keepMs: ENTRIES_KEPT_MS, log })
    const mayCreate = () => leading.mayCreate()
    this.credits = new CreditApplier({ ledger, log, now, recorded, checkpoints, journal, mayCreate })
    this.#usage = new UsageCounter(ledger, names)
    this.#sweep = new Sweep(ledger, this.#usage, journal)
    this.#checkpoints = checkpoints
    this.#journal = journal
  }

  /** The epoch of the last checkpoint; undefined without checkpoints. */
  savedEpoch(): Promise<number> | undefined {
    return this.#checkpoints?.load()
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
    const { last } = this.credits
    const accounts = this.#leading.latest()?.accounts
    return last === undefined || accounts === undefined ? undefined : readFunds(last, accounts)
  }

  /** The store was away, and may have lost entries. */
  distrust(): void {
    this.credits.distrust()
    this.#journal?.distrust()
  }

  /** Reads all balances. Never rejects. */
  read(): Promise<void> {
    return this.#onMoney((compiled) => this.credits.read(compiled))
  }

  /** Applies all credits again. Never rejects. */
  reassert(): Promise<void> {
    return this.#onMoney((compiled) => this.credits.reassert(compiled))
  }

  /** Like reassert, in parts, so that changes need not wait, and a store with a million accounts has little to do. */
  async reassertSlowly(): Promise<void> {
    const { signal } = this.#leading
    const ids = [...(this.#leading.latest()?.accounts.keys() ?? [])]
    for (let from = 0; from < ids.length && !signal.aborted; from += REASSERTED_AT_ONCE) {
      const part = ids.slice(from, from + REASSERTED_AT_ONCE)
      await this.#onMoney((compiled) => this.credits.reassert(compiled, part))
      if (from + REASSERTED_AT_ONCE < ids.length) await pause(REASSERTED_PAUSE_MS, signal, 'resolve')
    }
  }

  /**
   * Looks at the accounts in use: their due holds expire, their balances are read and saved. An account that the store
   * cannot serve, such as one on a node that is down, does not stop the checkpoint of the others. `hurry`: see
   * Checkpoints.save.
   */
  async lookAtActive(hurry?: AbortSignal): Promise<void> {
    try {
      await this.#sweep.round()
    } finally {
      await this.#onMoney((compiled) => this.credits.read(compiled, this.#sweep.active))
      await this.#saveCheckpoint(hurry)
    }
  }

  /** Looks at all accounts for due holds. */
  walk(): Promise<void> {
    return this.#sweep.walk(WALKED_PER_SECOND, this.#leading.signal)
  }

  /** Looks for the holds of proxies that have gone: they may not have reported the accounts that they had used last. */
  async searchAfterDeaths(live: Iterable<string>): Promise<void> {
    const alive = new Set(live)
    if ([...this.#alive].some((proxy) => !alive.has(proxy)))
      this.#searchAt ??= performance.now() + LEASES_END_MS
    this.#alive = alive
    if (this.#searchAt === undefined || performance.now() < this.#searchAt) return
    this.#searchAt = undefined
    await this.#sweep.walk(SEARCHED_PER_SECOND, this.#leading.signal)
  }

  /** The sums of every account in force that the ledger has. Rejects with StoreUnavailable. */
  async accounts(): Promise<LedgerAccount[]> {
    const found: LedgerAccount[] = []
    const accounts = this.#leading.latest()?.accounts.values() ?? [].values()
    const reader = async () => {
      for (const { id, namespace, name, parent } of accounts) {
        if (parent !== undefined) continue
        const balance = await this.#ledger.balance(id)
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
    const known = this.#leading.latest() ?? { accounts: new Map(), keys: new Map() }
    return reportUsage(this.#ledger, this.#usage, known, query)
  }

  /** Resolves when running calls have ended. Rejects when the journal cannot be closed. */
  async stop(): Promise<void> {
    await this.#money
    await this.#journal?.close()
  }

  async #saveCheckpoint(hurry: AbortSignal | undefined): Promise<void> {
    const epoch = this.#leading.epoch()
    if (this.#checkpoints === undefined || epoch === undefined) return
    try {
      await this.#checkpoints.save(epoch, hurry)
    } catch (error) {
      if (!(error instanceof Superseded)) throw error
      this.#leading.onFenced()
    }
  }

  /** Never rejects. */
  #onMoney(work: (compiled: Compiled) => Promise<AppliedCredits>): Promise<void> {
    this.#money = this.#money.then(async () => {
      const compiled = this.#leading.latest()
      if (compiled === undefined || this.#leading.signal.aborted) return
      this.#leading.onApplied(await work(compiled))
    })
    return this.#money
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
