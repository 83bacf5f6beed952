/** Records of one kind, fetched on demand and kept until a change names them. */
import { LRUCache } from 'lru-cache'

const MAX_RECORDS = 100_000
/** Absent ids live apart and shortly, so that a flood of bad keys cannot push out good ones. */
const MAX_ABSENT = 10_000
const ABSENT_TTL_MS = 5_000

export class RecordCache<R extends object> {
  readonly #fetch: (id: string) => Promise<R | undefined>
  readonly #known = new LRUCache<string, R>({ max: MAX_RECORDS })
  readonly #absent = new LRUCache<string, true>({ max: MAX_ABSENT, ttl: ABSENT_TTL_MS })
  readonly #pending = new Map<string, Promise<R | undefined>>()

  constructor(fetch: (id: string) => Promise<R | undefined>) {
    this.#fetch = fetch
  }

  async get(id: string): Promise<R | undefined> {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    if (this.#absent.has(id)) return undefined
    const pending = this.#pending.get(id) ?? this.#load(id)
    return pending
  }

  /** Forgets what is known of an id. A fetch under way may answer its own callers, but is not kept. */
  drop(id: string): void {
    this.#known.delete(id)
    this.#absent.delete(id)
    this.#pending.delete(id)
  }

  clear(): void {
    this.#known.clear()
    this.#absent.clear()
    this.#pending.clear()
  }

  #load(id: string): Promise<R | undefined> {
    const pending: Promise<R | undefined> = this.#fetch(id).then(
      (record) => {
        if (this.#pending.get(id) !== pending) return record
        this.#pending.delete(id)
        if (record === undefined) this.#absent.set(id, true)
        else this.#known.set(id, record)
        return record
      },
      (error: unknown) => {
        if (this.#pending.get(id) === pending) this.#pending.delete(id)
        throw error
      },
    )
    this.#pending.set(id, pending)
    return pending
  }
}
