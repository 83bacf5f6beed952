/**
 * The ids of settled requests with their costs and entries, so that a repeated command changes nothing. Each is kept for KEEP_MS at
 * least, or until enough newer ones have followed: they lie in buckets by time, and a bucket is dropped whole.
 */

/** Longer than a lease, the longest request and the longest retry of a settle together. */
export const KEEP_MS = 15 * 60_000
/** A reserve looks into the bucket before the current one only this long: it may be late, but not by minutes. */
export const RECENT_MS = 60_000
const MOST_IN_BUCKET = 50_000

export interface Tombstone {
  cost: string
  /** The id of the closing entry. */
  entry: string
}

type Bucket = Map<string, Tombstone>

export class Tombstones {
  #newest: Bucket = new Map()
  #before: Bucket = new Map()
  /** Number of the newest bucket; never falls, even if the clock is set back. */
  #last = 0
  /** When it began. */
  #began = Number.NEGATIVE_INFINITY
  /** Ids that were added until then may be dropped before their time. */
  #droppedTo = Number.NEGATIVE_INFINITY
  readonly #most: () => number

  /** `most`: ids of one bucket. Without it, an account with thousands of requests a second would take gigabytes. */
  constructor(most = () => MOST_IN_BUCKET) {
    this.#most = most
  }

  /** Whether the ids of all requests that were settled after `sinceMs` are known. */
  knowsAll(sinceMs: number, nowMs: number): boolean {
    return nowMs - sinceMs <= KEEP_MS && sinceMs > this.#droppedTo
  }

  get(id: string, nowMs: number): Tombstone | undefined {
    const age = this.#numberAt(nowMs) - this.#last
    if (age > 1) return undefined
    return this.#newest.get(id) ?? (age === 0 ? this.#before.get(id) : undefined)
  }

  /** Like `get`, with the bucket before the current one only for RECENT_MS after the change. */
  recent(id: string, nowMs: number): Tombstone | undefined {
    const now = this.#numberAt(nowMs)
    const isNew = nowMs - now * KEEP_MS < RECENT_MS
    if (now > this.#last) return isNew && now === this.#last + 1 ? this.#newest.get(id) : undefined
    return this.#newest.get(id) ?? (isNew ? this.#before.get(id) : undefined)
  }

  add(id: string, tombstone: Tombstone, nowMs: number): void {
    const number = this.#numberAt(nowMs)
    const isFull = number === this.#last && this.#newest.size >= this.#most()
    if (isFull) this.#droppedTo = this.#began
    if (isFull || number > this.#last) this.#begin(isFull ? number + 1 : number, nowMs)
    this.#newest.set(id, tombstone)
  }

  #begin(number: number, nowMs: number): void {
    this.#before = number === this.#last + 1 ? this.#newest : new Map()
    this.#newest = new Map()
    this.#last = number
    this.#began = nowMs
  }

  #numberAt(nowMs: number): number {
    return Math.max(this.#last, Math.floor(nowMs / KEEP_MS))
  }
}
