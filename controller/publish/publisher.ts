/** Brings the store to what compile says: the newest wish wins, and only what differs is written. */
import type { Log } from '../../contract/log.ts'
import type { Manifest, Publication, PublishReply, Store } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'
import type { Compiled, Published } from '../snapshot.ts'
import { difference, isEmpty } from './changes.ts'
import { CreditApplier } from './credits.ts'

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 2_000
/** How old a heartbeat may be whose generation must be exceeded. */
const HEARTBEATS_WITHIN_MS = 60_000

export interface PublisherOptions {
  store: Store
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  /** Lets a table without routes replace one with routes. */
  allowEmptyTable: boolean
  /** Called after each attempt that came to an end, in order. */
  onResult: (result: PublishResult) => void
}

/** `fenced`: another controller has taken over, and this one writes nothing more. */
export type PublishResult = ({ outcome: 'published' } & Published) | { outcome: 'fenced' }

export class Publisher {
  readonly #options: PublisherOptions
  readonly #credits: CreditApplier
  #wanted: Compiled | undefined
  #working: Promise<void> | undefined
  #epoch: number | undefined
  /** What the store holds; undefined when that must be asked again. */
  #stored: Manifest | undefined
  readonly #stop = new AbortController()
  /** Ends a pause early, for a newer wish. */
  #wake = new AbortController()
  #emptyLogged = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#credits = new CreditApplier({ ...options, ledger: options.store.ledger })
  }

  /** Wishes for `compiled`. An older wish that is not yet begun is forgotten. */
  submit(compiled: Compiled): void {
    this.#wanted = compiled
    this.#wake.abort()
    this.#working ??= this.#work()
  }

  /** Ends after the store call under way. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#working
  }

  async #work(): Promise<void> {
    let backoff = FIRST_BACKOFF_MS
    while (this.#wanted !== undefined && !this.#stop.signal.aborted) {
      const compiled = this.#wanted
      try {
        const { result, complete } = await this.#publish(compiled)
        if (complete && this.#wanted === compiled) this.#wanted = undefined
        if (result.outcome === 'fenced') this.#stop.abort()
        this.#options.onResult(result)
        if (complete) backoff = FIRST_BACKOFF_MS
        else backoff = await this.#pause(backoff, compiled)
      } catch (error) {
        // Whether the store took the command is not known.
        this.#stored = undefined
        this.#options.log.warn({ err: error, retryInMs: backoff }, 'publishing failed; trying again')
        backoff = await this.#pause(backoff, compiled)
      }
    }
    // In the same step as the last look at the wish, so that none is lost in between.
    this.#working = undefined
  }

  /** Waits until it is time to try `tried` again, or there is a newer wish; the next pause is longer. */
  async #pause(ms: number, tried: Compiled): Promise<number> {
    this.#wake = new AbortController()
    if (this.#wanted === tried) await pause(ms, AbortSignal.any([this.#stop.signal, this.#wake.signal]))
    return Math.min(ms * 2, MAX_BACKOFF_MS)
  }

  /** `complete` is false when credits are left to try again; the rest is published all the same. */
  async #publish(compiled: Compiled): Promise<{ result: PublishResult; complete: boolean }> {
    const { config } = this.#options.store
    this.#epoch ??= await config.newEpoch()
    // Money first: a key whose account has none yet would be refused.
    const { applied: credits, complete } = await this.#credits.apply(compiled)
    let tableRefused = false
    for (;;) {
      this.#stored ??= await config.manifest()
      const stored = this.#stored
      const { publication, after } = await this.#plan(compiled, stored, this.#epoch, tableRefused)
      const reply: PublishReply | 'unchanged' =
        publication === undefined ? 'unchanged' : await config.publish(publication)
      switch (reply) {
        case 'fenced':
          return { result: { outcome: 'fenced' }, complete: true }
        case 'stale':
          this.#stored = undefined
          break
        case 'empty':
          tableRefused = true
          this.#logEmpty()
          break
        case 'published':
        case 'unchanged':
          this.#stored = after
          if (!tableRefused) this.#emptyLogged = false
          return {
            result: { outcome: 'published', compiled, generation: after.generation, tableRefused, credits },
            complete,
          }
      }
    }
  }

  /** The publication that brings the store from `stored` to `compiled`, if one is needed, and what it holds then. */
  async #plan(
    compiled: Compiled,
    stored: Manifest,
    epoch: number,
    keepTable: boolean,
  ): Promise<{ publication: Publication | undefined; after: Manifest }> {
    const table = keepTable ? stored.table : digest(compiled.table)
    const keys = difference(stored.keys, compiled.keys)
    const accounts = difference(stored.accounts, compiled.accounts)
    const tableChanges = table !== stored.table
    if (!tableChanges && isEmpty(keys.changes) && isEmpty(accounts.changes))
      return { publication: undefined, after: stored }
    const generation = await this.#nextGeneration(stored.generation)
    const publication = {
      epoch,
      generation,
      ...(tableChanges && { table: compiled.table }),
      allowEmptyTable: this.#options.allowEmptyTable,
      keys: keys.changes,
      accounts: accounts.changes,
    }
    const after = {
      epoch,
      generation,
      ...(table !== undefined && { table }),
      keys: keys.digests,
      accounts: accounts.digests,
    }
    return { publication, after }
  }

  /** Above what is stored and above what any proxy has seen, also after the store lost its data. */
  async #nextGeneration(stored: number): Promise<number> {
    const heartbeats = await this.#options.store.config.heartbeats(HEARTBEATS_WITHIN_MS)
    return Math.max(stored, this.#options.now(), ...heartbeats.map(({ generation }) => generation)) + 1
  }

  #logEmpty(): void {
    if (this.#emptyLogged) return
    this.#emptyLogged = true
    this.#options.log.warn(
      {},
      'the new table has no routes, so the one in force stays; set SLUICE_ALLOW_EMPTY_TABLE=true to allow it',
    )
  }
}

/** Resolves after `ms`, or at once when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
