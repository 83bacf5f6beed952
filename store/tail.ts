/** The newest items of a growing sequence; older ones are overwritten. Items are numbered from 1. */
export class Tail<T> {
  readonly #capacity: number
  readonly #ring: T[] = []
  #last = 0

  constructor(capacity: number) {
    if (!Number.isSafeInteger(capacity) || capacity < 1) throw new RangeError('capacity must be at least 1')
    this.#capacity = capacity
  }

  /** Number of the newest item; 0 if there is none yet. */
  get last(): number {
    return this.#last
  }

  push(item: T): void {
    this.#ring[this.#last % this.#capacity] = item
    this.#last += 1
  }

  /** Items with a higher number than `number`, oldest first, at most `count`; overwritten ones are skipped. */
  after(number: number, count: number): T[] {
    const first = Math.max(number, this.#last - this.#capacity)
    return this.#slice(first, Math.min(this.#last, first + count))
  }

  /** The newest items, newest first, at most `count`. */
  newest(count: number): T[] {
    return this.#slice(Math.max(this.#last - count, this.#last - this.#capacity, 0), this.#last).reverse()
  }

  #slice(from: number, to: number): T[] {
    const items: T[] = []
    for (let i = from; i < to; i++) {
      const item = this.#ring[i % this.#capacity]
      if (item !== undefined) items.push(item)
    }
    return items
  }
}
