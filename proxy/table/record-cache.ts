/** Records of one kind, fetched on demand and kept until a change names them. After a gap the last known ones may still serve. */
import { LRUCache } from 'lru-cache'
import type { Soon } from '../../kit/soon.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import type { Standing, Stretch } from './knowledge.ts'

const MAX_RECORDS = 100_000
/** Absent ids are kept apart and for a short time, so that a flood of bad keys cannot push out good ones. */
const MAX_ABSENT = 10_000
const ABSENT_TTL_MS = 5_000
/** After a failed read the last known record serves for this long before the next read. */
const ASK_AGAIN_MS = 250

export interface RecordSource<R> {
  /** Rejects with StoreUnavailable or RecordUnreadable. */
  fetch(id: string): Promise<R | undefined>
  /**
   * True when a record that the store just did not have does not exist; false: fetch once more. Rejects with
   * StoreUnavailable when absence in the store does not count.
   */
  isAbsent(): Promise<boolean>
  /** A stored record does not open or parse. */
  unreadable(error: Error): void
  readonly knowledge: { readonly stretch: Stretch; standing(): Promise<Standing> }
  /** How long a record serves without confirmation by the store. */
  maxAgeMs: number
  /** Milliseconds, monotonic. */
  now(): number
}

interface Known<R> {
  record: R
  stretch: Stretch
  readAt: number
  /** A change named it: the store has a newer one, or none. */
  changed: boolean
  /** It could not be read again, so it serves until then, within that stretch. */
  excused?: { stretch: Stretch; until: number } | undefined
}

export class RecordCache<R extends object> {
  readonly #source: RecordSource<R>
  // `max` would allocate memory for all entries in advance: 5 MB in an idle proxy.
  readonly #known = new LRUCache<string, Known<R>>({ maxSize: MAX_RECORDS, sizeCalculation: () => 1 })
  readonly #absent = new LRUCache<string, true>({
    maxSize: MAX_ABSENT,
    sizeCalculation: () => 1,
    ttl: ABSENT_TTL_MS,
  })
  readonly #pending = new Map<string, Promise<R | undefined>>()

  constructor(source: RecordSource<R>) {
    this.#source = source
  }

  /**
   * The record, at once if it is in force. After a gap it is read again at its next use; the last known one serves while
   * that fails. Rejects with StoreUnavailable or RecordUnreadable when no record may serve.
   */
  get(id: string): Soon<R | undefined> {
    const known = this.#known.get(id)
    return known !== undefined && this.#serves(known) ? known.record : this.#ask(id, known)
  }

  async #ask(id: string, known: Known<R> | undefined): Promise<R | undefined> {
    if (known !== undefined && !known.changed && (await this.#source.knowledge.standing()) !== 'current')
      return this.#lastKnown(known, new StoreUnavailable('the store cannot vouch for this record'))
    if (this.#absent.has(id)) {
      if ((await this.#source.knowledge.standing()) === 'current') return undefined
      throw new StoreUnavailable('the store cannot vouch for this absence')
    }
    return this.#pending.get(id) ?? this.#load(id)
  }

  /** True when the id was looked up before. */
  has(id: string): boolean {
    return this.#known.has(id) || this.#absent.has(id) || this.#pending.has(id)
  }

  /** A change names this id. A running fetch still answers its callers, but its result is not kept. */
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
    // Twice, because the store may have begun a new epoch meanwhile.
    for (let turn = 0; turn < 2; turn++) {
      const record = await this.#source.fetch(id)
      if (record === undefined) {
        if (await this.#source.isAbsent()) return undefined
      } else if ((await this.#source.knowledge.standing()) !== 'behind') return record
      else break
    }
    throw new StoreUnavailable('the store holds less than is in force here')
  }

  /** In force without confirmation by the store. */
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

  /** The last known record, or `error`. A record that has changed serves only when the new one is unreadable. */
  #lastKnown(known: Known<R> | undefined, error: unknown): R {
    const unreadable = error instanceof RecordUnreadable
    if (!unreadable && !(error instanceof StoreUnavailable)) throw error
    if (known === undefined || !this.#isFresh(known) || (known.changed && !unreadable)) throw error
    const { knowledge, now } = this.#source
    known.excused = { stretch: knowledge.stretch, until: now() + ASK_AGAIN_MS }
    return known.record
  }
}
