/** Brings the store to the newest Compiled, and writes only what differs. */

import type { Log } from '../../contract/log.ts'
import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { pause } from '../../kit/time.ts'
import { type Inspection, type Position, RecordUnreadable, type Store } from '../../store/contract.ts'
import type { Compiled, Published, Removal, Touched } from '../snapshot.ts'
import { isEmpty } from './changes.ts'
import type { CreditApplier } from './credits.ts'
import { done as noteDone, plan, routesOf, type Stored } from './plan.ts'
import { Removals } from './removals.ts'

const BACKOFF: Backoff = { firstMs: 100, lastMs: 2_000 }
/** New epochs and generations exceed those in heartbeats up to this age. */
const HEARTBEATS_WITHIN_MS = 60_000
/** How many records of keys are read for their namespaces before the keys are removed. */
const MOST_READ = 100

interface PublisherOptions {
  store: Store
  credits: CreditApplier
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  /** Called after each attempt that did not fail, in order. */
  onResult: (result: PublishResult) => void
  /** The epoch of the leader that kept books outside the store last. */
  savedEpoch?: () => Promise<number> | undefined
  /** Called after each attempt, with its outcome. */
  onAttempt?: ((outcome: AttemptOutcome, seconds: number) => void) | undefined
  /** Called when most of the keys or routes were removed at once. */
  onRemoval?: ((removal: Removal) => void) | undefined
  /** Called when records are not as they were written, before they are written again. */
  onSpoilt?: ((spoilt: Inspection['spoilt']) => void) | undefined
}

/** `fenced`: another controller has taken over; this one writes nothing more. */
export type PublishResult = ({ outcome: 'published' } & Published) | { outcome: 'fenced' }
export type AttemptOutcome = 'published' | 'unchanged' | 'fenced' | 'failed'

interface Job {
  compiled: Compiled
  /** What may differ from the previous job; undefined: anything. */
  touched: Touched | undefined
  begun: boolean
}

export class Publisher {
  readonly #options: PublisherOptions
  readonly #removals: Removals
  #wanted: Job | undefined
  #latest: Compiled | undefined
  #working: Promise<void> | undefined
  #epoch: number | undefined
  /** New epochs must exceed this one, which this process had before the store lost it. */
  #above = 0
  /** The contents of the store; undefined if they must be read again. */
  #stored: Stored | undefined
  readonly #stop = new AbortController()
  /** Ends a pause early, for a newer job. */
  #wake = new AbortController()
  #reportedSpoilt = false
  /** Nothing was read in this term yet. */
  #first = true
  /** A repair is due. One that comes during a publication waits for its end. */
  #repairDue = false

  constructor(options: PublisherOptions) {
    this.#options = options
    const { now, onRemoval } = options
    this.#removals = new Removals({ now, onRemoval: (removal) => onRemoval?.(removal) })
  }

  /** The epoch of this term and the stored generation, once both are known. */
  get position(): Position | undefined {
    if (this.#epoch === undefined || this.#stored === undefined) return undefined
    return { epoch: this.#epoch, generation: this.#stored.manifest.generation }
  }

  /**
   * Publishes `compiled`, replacing an older job that has not begun. `touched`: what has changed since the last call;
   * without it, everything is compared.
   */
  submit(compiled: Compiled, touched?: Touched): void {
    const before = this.#wanted?.begun === false ? this.#wanted : undefined
    const merged = before === undefined ? touched : merge(before.touched, touched)
    this.#wanted = { compiled, touched: merged, begun: false }
    this.#latest = compiled
    this.#wake.abort()
    this.#start()
  }

  /**
   * Compares the store's position with the published one, and publishes again if the store was wiped or restored. Rejects
   * with StoreUnavailable.
   */
  async verify(): Promise<void> {
    const known = this.position
    if (known === undefined || this.#working !== undefined) return
    const { epoch, generation } = await this.#options.store.config.position()
    // A publication that has begun in the meantime will notice by itself.
    if (this.#working !== undefined || this.#stop.signal.aborted) return
    if (epoch === known.epoch && generation === known.generation) return
    if (epoch > known.epoch) {
      this.#stop.abort()
      this.#options.onResult({ outcome: 'fenced' })
      return
    }
    if (epoch < known.epoch) {
      this.#above = known.epoch
      this.#epoch = undefined
    }
    this.#options.log.warn(
      { epoch, generation, published: known },
      'the store does not contain the last publication; comparing all records',
    )
    this.repair()
  }

  /** Writes the table again if it is missing or another one is stored. Rejects with StoreUnavailable. */
  async verifyTable(): Promise<void> {
    if (this.position === undefined || this.#working !== undefined) return
    const intact = await this.#options.store.config.intact()
    // If a publication has begun in the meantime, its table may be the one found.
    if (!intact && this.#working === undefined && !this.#stop.signal.aborted) this.repair()
  }

  /** Compares all records with the store and writes what differs. */
  repair(): void {
    this.#repairDue = true
    this.#wanted ??= this.#repairJob()
    this.#start()
  }

  #repairJob(): Job | undefined {
    if (!this.#repairDue || this.#latest === undefined) return undefined
    return { compiled: this.#latest, touched: undefined, begun: false }
  }

  /** Resolves when the running call of the store has ended. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#working
    this.#removals.stop()
  }

  #start(): void {
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    let failures = 0
    while (this.#wanted !== undefined && !this.#stop.signal.aborted) {
      const job = this.#wanted
      const began = performance.now()
      const done = (outcome: AttemptOutcome) =>
        this.#options.onAttempt?.(outcome, (performance.now() - began) / 1_000)
      try {
        const { result, outcome, complete } = await this.#publish(job)
        done(outcome)
        if (complete && this.#wanted === job) this.#wanted = this.#repairJob()
        if (result.outcome === 'fenced') this.#stop.abort()
        this.#options.onResult(result)
        if (complete) failures = 0
        else await this.#pause(backoffMs(failures++, BACKOFF), job)
      } catch (error) {
        done('failed')
        // The store may or may not have executed the command.
        this.#stored = undefined
        const retryInMs = backoffMs(failures++, BACKOFF)
        this.#options.log.warn({ err: error, retryInMs }, 'publishing failed; will retry')
        await this.#pause(retryInMs, job)
      }
    }
    // Synchronously after the loop's last check, so that no job is lost in between.
    this.#working = undefined
  }

  /** Waits until `tried` should be retried, or until there is a newer job. */
  async #pause(ms: number, tried: Job): Promise<void> {
    this.#wake = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, this.#wake.signal])
    if (this.#wanted === tried) await pause(ms, signal, 'resolve')
  }

  /** `complete` is false if credits must be retried; the rest is published. */
  async #publish(job: Job): Promise<{ result: PublishResult; outcome: AttemptOutcome; complete: boolean }> {
    const { compiled, touched } = job
    const { store, credits, log } = this.#options
    const takesOver = this.#first && (await store.config.position()).generation > 0
    if (!takesOver) await this.#learnSavedEpoch()
    this.#epoch ??= await this.#newEpoch()
    // From now on, later jobs are not merged with this one: if it fails, everything is compared.
    job.begun = true
    if (this.#repairDue && !this.#first) {
      this.#repairDue = false
      this.#stored = undefined
    }
    // Money first: without funds, a new key would be refused. But where another leader's table is in force, a removed key
    // does not wait until the checkpoint is read.
    let money = takesOver ? undefined : await this.#applyMoney(job, this.#epoch)
    for (;;) {
      const known = this.#stored !== undefined
      this.#stored ??= await this.#read()
      const stored = this.#stored
      const { manifest } = stored
      const before = countsOf(stored)
      const made = plan(compiled, stored, known ? touched : undefined)
      const { changes } = made
      const losing = await this.#namespacesOf(changes.keys.remove)
      const unchanged = changes.table === undefined && isEmpty(changes.keys) && isEmpty(changes.accounts)
      const epoch = this.#epoch
      const generation = unchanged ? manifest.generation : await this.#nextGeneration(manifest.generation)
      const reply = unchanged ? 'unchanged' : await store.config.publish({ epoch, generation, ...changes })
      switch (reply) {
        case 'fenced':
          if ((await store.config.position()).epoch >= epoch)
            return { result: { outcome: 'fenced' }, outcome: 'fenced', complete: true }
          log.warn({ epoch }, 'the store has lost its epoch; starting a new one')
          this.#above = epoch
          this.#epoch = await this.#newEpoch()
          this.#stored = undefined
          break
        case 'stale':
          this.#stored = undefined
          break
        case 'published':
        case 'unchanged': {
          for (const [namespace, count] of stored.routes)
            if ((made.routes.get(namespace) ?? 0) < count) losing.add(namespace)
          noteDone(stored, made, epoch, generation)
          this.#removals.published(before, countsOf(stored), losing)
          if (takesOver) await this.#learnSavedEpoch()
          money ??= await this.#applyMoney(job, epoch)
          return {
            // A look at the balances may have found newer ones meanwhile.
            result: { outcome: 'published', compiled, generation, credits: credits.last ?? money.applied },
            outcome: reply,
            complete: money.complete,
          }
        }
      }
    }
  }

  /** An epoch above all that controllers and proxies have seen, even if the store has lost its own. */
  async #newEpoch(): Promise<number> {
    const { config } = this.#options.store
    const seen = await config.heartbeats(HEARTBEATS_WITHIN_MS)
    return config.newEpoch(Math.max(this.#above, ...seen.map(({ epoch }) => epoch)))
  }

  /** Throws if this term has an epoch that is not above the saved one, so that the next attempt begins another. */
  async #learnSavedEpoch(): Promise<void> {
    const saved = (await this.#options.savedEpoch?.()) ?? 0
    this.#above = Math.max(this.#above, saved)
    if (this.#epoch === undefined || this.#epoch > saved) return
    this.#epoch = undefined
    throw new Error('the store has an older state than the checkpoint of balances')
  }

  #applyMoney({ compiled, touched }: Job, epoch: number): ReturnType<CreditApplier['apply']> {
    return this.#options.credits.apply(compiled, epoch, touched)
  }

  /** A new leader first trusts the manifest, so that it can publish soon; `repair` compares all records later. */
  async #read(): Promise<Stored> {
    const { config } = this.#options.store
    const manifest = this.#first ? await config.manifest() : await this.#inspect()
    this.#first = false
    const table = manifest.table === undefined ? undefined : await config.table().catch(unlessUnreadable)
    // A table that cannot be opened is replaced.
    if (table === undefined) return { manifest: { ...manifest, table: '' }, routes: new Map() }
    return { manifest, routes: routesOf(table.table) }
  }

  /** Logs spoilt records once, until there are none. */
  async #inspect(): Promise<Inspection> {
    const manifest = await this.#options.store.config.inspect()
    const { spoilt } = manifest
    const found = Object.values(spoilt).some((count) => count > 0)
    if (found) this.#options.onSpoilt?.(spoilt)
    if (found && !this.#reportedSpoilt)
      this.#options.log.error(
        { spoilt },
        'records in the store were removed or changed by someone else; writing them again',
      )
    this.#reportedSpoilt = found
    return manifest
  }

  /** Namespaces of the first keys to be removed; unreadable records are skipped. */
  async #namespacesOf(hashes: readonly string[]): Promise<Set<string>> {
    const { config } = this.#options.store
    const records = await Promise.all(
      hashes.slice(0, MOST_READ).map((hash) => config.key(hash).catch(() => undefined)),
    )
    return new Set(records.flatMap((record) => record?.namespace ?? []))
  }

  /** A generation above the stored one and all that proxies have seen, even if the store has lost its data. */
  async #nextGeneration(stored: number): Promise<number> {
    const heartbeats = await this.#options.store.config.heartbeats(HEARTBEATS_WITHIN_MS)
    return Math.max(stored, this.#options.now(), ...heartbeats.map(({ generation }) => generation)) + 1
  }
}

function countsOf({ manifest, routes }: Stored): { keys: number; routes: number } {
  return { keys: manifest.keys.size, routes: [...routes.values()].reduce((total, count) => total + count, 0) }
}

function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof RecordUnreadable)) throw error
}

function merge(older: Touched | undefined, newer: Touched | undefined): Touched | undefined {
  if (older === undefined || newer === undefined) return undefined
  return {
    table: older.table || newer.table,
    keys: new Map([...older.keys, ...newer.keys]),
    accounts: new Map([...older.accounts, ...newer.accounts]),
    credits: new Map([...older.credits, ...newer.credits]),
    statuses: new Map([...older.statuses, ...newer.statuses]),
  }
}
