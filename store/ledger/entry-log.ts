/** The entries of one account, with ids like those of a Redis stream. */
import type { LedgerEntry } from './contract.ts'

const ENTRY_ID = /^\d+-\d+$/

function partsOf(id: string): [ms: number, n: number] {
  if (!ENTRY_ID.test(id)) throw new RangeError('an entry id is "<ms>-<number>"')
  const dash = id.indexOf('-')
  return [Number(id.slice(0, dash)), Number(id.slice(dash + 1))]
}

/** Negative if the entry `a` is older than `b`. Throws RangeError for other texts. */
export function compareEntries(a: string, b: string): number {
  const [aMs, aN] = partsOf(a)
  const [bMs, bN] = partsOf(b)
  return aMs - bMs || aN - bN
}

/** The time of an entry, on the store's clock. */
export function timeOf(id: string): number {
  return partsOf(id)[0]
}

export class EntryLog {
  #entries: LedgerEntry[] = []
  #last: string | undefined
  /** The parts of the last id. */
  #ms = -1
  #n = 0

  /** The id of the newest entry ever appended. */
  get last(): string | undefined {
    return this.#last
  }

  /** Ids rise even if the clock is set back. */
  append(entry: Omit<LedgerEntry, 'id'>, nowMs: number): string {
    if (this.#last === undefined || nowMs > this.#ms) {
      this.#ms = nowMs
      this.#n = 0
    } else this.#n++
    const id = `${this.#ms}-${this.#n}`
    this.#entries.push(Object.freeze({ ...entry, id }))
    this.#last = id
    return id
  }

  /** Oldest first. */
  after(id: string | undefined, count: number): LedgerEntry[] {
    const from = id === undefined ? 0 : this.#indexAfter((entry) => compareEntries(entry, id) <= 0)
    return this.#entries.slice(from, from + count)
  }

  /** The id of the oldest of the newest `count` entries; undefined if there are fewer. */
  newest(count: number): string | undefined {
    return this.#entries.at(-count)?.id
  }

  /** Removes entries with an older id than `id`; returns their number. */
  trim(id: string): number {
    const count = this.#indexAfter((entry) => compareEntries(entry, id) < 0)
    if (count > 0) this.#entries = this.#entries.slice(count)
    return count
  }

  /** The number of entries at the beginning for which `holds` is true. */
  #indexAfter(holds: (id: string) => boolean): number {
    let [low, high] = [0, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (holds(this.#entries[middle]?.id ?? '')) low = middle + 1
      else high = middle
    }
    return low
  }
}
