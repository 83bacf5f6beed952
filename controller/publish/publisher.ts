/** Brings the store to what compile says: the newest wish wins, and only what differs is written. */

import type { Log } from '../../contract/log.ts'
import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { pause } from '../../kit/time.ts'
import { type Inspection, type Position, RecordUnreadable, type Store } from '../../store/contract.ts'
import type { Compiled, Published, Removal, Touched } from '../snapshot.ts'
import { isEmpty } from './changes.ts'
import type { CreditApplier } from './credits.ts'
import { done as noteDone, plan, routesOf, type Stored, sum } from './plan.ts'
import { Removals } from './removals.ts'

const BACKOFF: Backoff = { firstMs: 100, lastMs: 2_000 }
/** How old a heartbeat may be whose epoch and generation must be exceeded. */
const HEARTBEATS_WITHIN_MS = 60_000
/** Keys of one publication that are asked for their namespaces before they go. */
const MOST_ASKED = 100

export interface PublisherOptions {
  store: Store
  credits: CreditApplier
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  /** Called after each attempt that came to an end, in order. */
  onResult: (result: PublishResult) => void
  /** Called after each attempt, with what became of it. */
  onAttempt?: ((outcome: AttemptOutcome, seconds: number) => void) | undefined
  /** Called when most of the keys or routes have gone at once. */
  onRemoval?: ((removal: Removal) => void) | undefined
  /** Called when records are found that are not as they were written, before they are written again. */
  onSpoilt?: ((spoilt: Inspection['spoilt']) => void) | undefined
}

/** `fenced`: another controller has taken over, and this one writes nothing more. */
export type PublishResult = ({ outcome: 'published' } & Published) | { outcome: 'fenced' }
export type AttemptOutcome = 'published' | 'unchanged' | 'fenced' | 'failed'

interface Wish {
  compiled: Compiled
  /** What may differ from the wish before; undefined: anything. */
  touched: Touched | undefined
  begun: boolean
}

export class Publisher {
  readonly #options: PublisherOptions
  readonly #removals: Removals
  #wanted: Wish | undefined
  #latest: Compiled | undefined
  #working: Promise<void> | undefined
  #epoch: number | undefined
  /** An epoch must be above this: one that this process had before the store lost it. */
  #above = 0
  /** What the store holds; undefined when that must be asked again. */
  #stored: Stored | undefined
  readonly #stop = new AbortController()
  /** Ends a pause early, for a newer wish. */
  #wake = new AbortController()
  #toldSpoilt = false
  /** Nothing was read in this term yet. */
  #first = true

  constructor(options: PublisherOptions) {
    this.#options = options
    const { now, onRemoval } = options
    this.#removals = new Removals({ now, onRemoval: (removal) => onRemoval?.(removal) })
  }

  /** The epoch of this term and the generation that is stored, once both are known. */
  get position(): Position | undefined {
    if (this.#epoch === undefined || this.#stored === undefined) return undefined
    return { epoch: this.#epoch, generation: this.#stored.manifest.generation }
  }

  /**
   * Wishes for `compiled`. An older wish that is not yet begun is forgotten. `touched`: what became different since the
   * last call; without it everything is compared.
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
   * Compares the store's position with what was published, and publishes again what a wiped or restored store lacks.
   * Rejects with StoreUnavailable.
   */
  async verify(): Promise<void> {
    const known = this.position
    if (known === undefined || this.#working !== undefined) return
    const { epoch, generation } = await this.#options.store.config.position()
    // A publication that began meanwhile finds out by itself.
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
      'the store does not hold what was published; comparing all of it',
    )
    this.repair()
  }

  /** Writes the table again when another one, or none, is stored. Rejects with StoreUnavailable. */
  async verifyTable(): Promise<void> {
    if (this.position === undefined || this.#working !== undefined) return
    const intact = await this.#options.store.config.intact()
    // A publication that began meanwhile may be what was seen.
    if (!intact && this.#working === undefined && !this.#stop.signal.aborted) this.repair()
  }

  /** Compares every record with what is stored and writes what differs. */
  repair(): void {
    this.#stored = undefined
    if (this.#latest === undefined) return
    this.#wanted ??= { compiled: this.#latest, touched: undefined, begun: false }
    this.#start()
  }

  /** Ends after the store call under way. */
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
      const wish = this.#wanted
      const began = performance.now()
      const done = (outcome: AttemptOutcome) =>
        this.#options.onAttempt?.(outcome, (performance.now() - began) / 1_000)
      try {
        const { result, outcome, complete } = await this.#publish(wish)
        done(outcome)
        if (complete && this.#wanted === wish) this.#wanted = undefined
        if (result.outcome === 'fenced') this.#stop.abort()
        this.#options.onResult(result)
        if (complete) failures = 0
        else await this.#pause(backoffMs(failures++, BACKOFF), wish)
      } catch (error) {
        done('failed')
        // Whether the store took the command is not known.
        this.#stored = undefined
        const retryInMs = backoffMs(failures++, BACKOFF)
        this.#options.log.warn({ err: error, retryInMs }, 'publishing failed; trying again')
        await this.#pause(retryInMs, wish)
      }
    }
    // In the same step as the last look at the wish, so that none is lost in between.
    this.#working = undefined
  }

  /** Waits until it is time to try `tried` again, or there is a newer wish. */
  async #pause(ms: number, tried: Wish): Promise<void> {
    this.#wake = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, this.#wake.signal])
    if (this.#wanted === tried) await pause(ms, signal, 'resolve')
  }

  /** `complete` is false when credits are left to try again; the rest is published all the same. */
  async #publish(wish: Wish): Promise<{ result: PublishResult; outcome: AttemptOutcome; complete: boolean }> {
    const { compiled, touched } = wish
    const { store, credits, log } = this.#options
    this.#epoch ??= await this.#newEpoch()
    // From now on a later wish leaves it alone: should it fail, everything is compared.
    wish.begun = true
    // Money first: a key whose account has none yet would be refused.
    const { applied, complete } = await credits.apply(compiled, touched)
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
          log.warn({ epoch }, 'the store has lost its epoch; beginning a new one')
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
          return {
            result: { outcome: 'published', compiled, generation, credits: applied },
            outcome: reply,
            complete,
          }
        }
      }
    }
  }

  /** Above every epoch that anybody has seen, also after the store has lost its own. */
  async #newEpoch(): Promise<number> {
    const { config } = this.#options.store
    const seen = await config.heartbeats(HEARTBEATS_WITHIN_MS)
    return config.newEpoch(Math.max(this.#above, ...seen.map(({ epoch }) => epoch)))
  }

  /** A new leader believes what was noted of the records, so that it leads soon; `repair` looks at them all. */
  async #read(): Promise<Stored> {
    const { config } = this.#options.store
    const manifest = this.#first ? await config.manifest() : await this.#inspect()
    this.#first = false
    const table = manifest.table === undefined ? undefined : await config.table().catch(unlessUnreadable)
    // A table that does not open is replaced.
    if (table === undefined) return { manifest: { ...manifest, table: '' }, routes: new Map() }
    return { manifest, routes: routesOf(table.table) }
  }

  async #inspect(): Promise<Inspection> {
    const manifest = await this.#options.store.config.inspect()
    this.#tellSpoilt(manifest.spoilt)
    return manifest
  }

  /** Of keys that are about to be removed, the first ones; a record that cannot be read tells nothing. */
  async #namespacesOf(hashes: readonly string[]): Promise<Set<string>> {
    const { config } = this.#options.store
    const records = await Promise.all(
      hashes.slice(0, MOST_ASKED).map((hash) => config.key(hash).catch(() => undefined)),
    )
    return new Set(records.flatMap((record) => record?.namespace ?? []))
  }

  /** Above what is stored and above what any proxy has seen, also after the store lost its data. */
  async #nextGeneration(stored: number): Promise<number> {
    const heartbeats = await this.#options.store.config.heartbeats(HEARTBEATS_WITHIN_MS)
    return Math.max(stored, this.#options.now(), ...heartbeats.map(({ generation }) => generation)) + 1
  }

  /** In the log once, until nothing is spoilt. */
  #tellSpoilt(spoilt: Inspection['spoilt']): void {
    const found = Object.values(spoilt).some((count) => count > 0)
    if (found) this.#options.onSpoilt?.(spoilt)
    if (found && !this.#toldSpoilt)
      this.#options.log.error(
        { spoilt },
        'somebody else removed or changed records in the store; writing them again',
      )
    this.#toldSpoilt = found
  }
}

function countsOf({ manifest, routes }: Stored): { keys: number; routes: number } {
  return { keys: manifest.keys.size, routes: sum(routes) }
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
