/** Records of one kind, fetched on demand, kept until a change names them, and the last known ones beyond a gap. */
import { LRUCache } from 'lru-cache'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import type { Standing, Stretch } from './knowledge.ts'

const MAX_RECORDS = 100_000
/** Absent ids live apart and shortly, so that a flood of bad keys cannot push out good ones. */
const MAX_ABSENT = 10_000
const ABSENT_TTL_MS = 5_000
/** After a read that failed, the last known record serves this long before the store is asked again. */
const ASK_AGAIN_MS = 250

export interface RecordSource<R> {
  /** Rejects with StoreUnavailable or RecordUnreadable. */
  fetch(id: string): Promise<R | undefined>
  /**
   * Whether what the store just lacked does not exist: false asks to fetch once more. Rejects with StoreUnavailable
   * when the store's word does not count.
   */
  isAbsent(): Promise<boolean>
  /** A stored record does not open or parse. */
  unreadable(error: Error): void
  readonly knowledge: { readonly stretch: Stretch; standing(): Promise<Standing> }
  /** How long a record serves without the store vouching for it. */
  maxAgeMs: number
  /** Milliseconds, monotonic. */
  now(): number
}

interface Known<R> {
  record: R
  stretch: Stretch
  readAt: number
  /** A change named it: the store has another one, or none. */
  changed: boolean
  /** Serves until then, in that stretch, because it could not be read again. */
  excused?: { stretch: Stretch; until: number } | undefined
}

export class RecordCache<R extends object> {
  readonly #source: RecordSource<R>
  readonly #known = new LRUCache<string, Known<R>>({ max: MAX_RECORDS })
  readonly #absent = new LRUCache<string, true>({ max: MAX_ABSENT, ttl: ABSENT_TTL_MS })
  readonly #pending = new Map<string, Promise<R | undefined>>()

  constructor(source: RecordSource<R>) {
    this.#source = source
  }

  /**
   * The record; after a gap it is read again at its next use, and the last known one serves while it cannot be. Rejects
   * with StoreUnavailable or RecordUnreadable where nothing is known that may serve.
   */
  async get(id: string): Promise<R | undefined> {
    const known = this.#known.get(id)
    if (known !== undefined) {
      if (this.#serves(known)) return known.record
      if (!known.changed && (await this.#source.knowledge.standing()) !== 'current')
        return this.#lastKnown(known, new StoreUnavailable('the store cannot vouch for this record'))
    }
    if (this.#absent.has(id)) {
      if ((await this.#source.knowledge.standing()) === 'current') return undefined
      throw new StoreUnavailable('the store cannot vouch for this absence')
    }
    return this.#pending.get(id) ?? this.#load(id)
  }

  /** True when `get` asks for nothing that was never asked for. */
  has(id: string): boolean {
    return this.#known.has(id) || this.#absent.has(id) || this.#pending.has(id)
  }

  /** A change names this id. A fetch under way may answer its own callers, but is not kept. */
  changed(id: string): void {
    const known = this.#known.peek(id)
    if (known !== undefined) {
      known.stretch = { ...known.stretch }
      known.changed = true
      known.excused = undefined
    }
    this.#absent.delete(id)
    this.#pending.delete(id)
  }

  /** Changes may have been missed; the source's knowledge begins a new stretch. */
  gap(): void {
    this.#absent.clear()
    this.#pending.clear()
  }

  #load(id: string): Promise<R | undefined> {
    const { stretch } = this.#source.knowledge
    const readAt = this.#source.now()
    const pending: Promise<R | undefined> = this.#read(id).then(
      (record) => {
        if (this.#pending.get(id) !== pending) return record
        this.#pending.delete(id)
        if (record === undefined) {
          this.#known.delete(id)
          this.#absent.set(id, true)
        } else this.#known.set(id, { record, stretch, readAt, changed: false })
        return record
      },
      (error: unknown) => {
        if (this.#pending.get(id) === pending) this.#pending.delete(id)
        if (error instanceof RecordUnreadable) this.#source.unreadable(error)
        return this.#lastKnown(this.#known.get(id), error)
      },
    )
    this.#pending.set(id, pending)
    return pending
  }

  async #read(id: string): Promise<R | undefined> {
    // The second time for a store that has begun a new epoch meanwhile.
    for (let turn = 0; turn < 2; turn++) {
      const record = await this.#source.fetch(id)
      if (record === undefined) {
        if (await this.#source.isAbsent()) return undefined
      } else if ((await this.#source.knowledge.standing()) !== 'behind') return record
      else break
    }
    throw new StoreUnavailable('the store holds less than is in force here')
  }

  /** In force without a word from the store. */
  #serves(known: Known<R>): boolean {
    if (!this.#isFresh(known)) return false
    const { stretch } = this.#source.knowledge
    if (!known.changed && known.stretch === stretch) return true
    const { excused } = known
    return excused !== undefined && excused.stretch === stretch && this.#source.now() < excused.until
  }

  #isFresh({ stretch, readAt }: Known<R>): boolean {
    return this.#source.now() - Math.max(stretch.until, readAt) < this.#source.maxAgeMs
  }

  /** The last known record, or `error`. What is known to have changed serves only where the new one is unreadable. */
  #lastKnown(known: Known<R> | undefined, error: unknown): R {
    const unreadable = error instanceof RecordUnreadable
    if (!unreadable && !(error instanceof StoreUnavailable)) throw error
    if (known === undefined || !this.#isFresh(known) || (known.changed && !unreadable)) throw error
    const { knowledge, now } = this.#source
    known.excused = { stretch: knowledge.stretch, until: now() + ASK_AGAIN_MS }
    return known.record
  }
}
