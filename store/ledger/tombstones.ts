/**
 * The ids of settled requests with their costs and entries, so that a repeated command changes nothing. Each is kept for KEEP_MS to twice
 * as long: they lie in buckets by time, and a bucket is dropped whole.
 */

/** Longer than a lease, the longest request and the longest retry of a settle together. */
export const KEEP_MS = 15 * 60_000
/** A reserve looks into the bucket before the current one only this long: it may be late, but not by minutes. */
export const RECENT_MS = 60_000

export interface Tombstone {
  cost: string
  /** The id of the closing entry. */
  entry: string
}

export class Tombstones {
  readonly #buckets = new Map<number, Map<string, Tombstone>>()
  /** Number of the newest bucket; never falls, even if the clock is set back. */
  #last = 0

  get(id: string, nowMs: number): Tombstone | undefined {
    const now = this.#numberAt(nowMs)
    return this.#buckets.get(now)?.get(id) ?? this.#buckets.get(now - 1)?.get(id)
  }

  /** Like `get`, with the bucket before the current one only for RECENT_MS after the change. */
  recent(id: string, nowMs: number): Tombstone | undefined {
    const now = this.#numberAt(nowMs)
    const found = this.#buckets.get(now)?.get(id)
    if (found !== undefined || nowMs - now * KEEP_MS >= RECENT_MS) return found
    return this.#buckets.get(now - 1)?.get(id)
  }

  add(id: string, tombstone: Tombstone, nowMs: number): void {
    this.#last = this.#numberAt(nowMs)
    for (const number of this.#buckets.keys()) if (number < this.#last - 1) this.#buckets.delete(number)
    const bucket = this.#buckets.get(this.#last) ?? new Map<string, Tombstone>()
    bucket.set(id, tombstone)
    this.#buckets.set(this.#last, bucket)
  }

  #numberAt(nowMs: number): number {
    return Math.max(this.#last, Math.floor(nowMs / KEEP_MS))
  }
}
