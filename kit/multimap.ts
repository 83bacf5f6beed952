/**
 * Sets of values by key; empty sets are removed. A key with a single value has no Set, because most have one, and a
 * hundred thousand Sets are many megabytes.
 */
export class Multimap<K, V extends string> {
  readonly #single = new Map<K, V>()
  readonly #several = new Map<K, Set<V>>()

  get(key: K): Iterable<V> {
    const several = this.#several.get(key)
    if (several !== undefined) return several
    const single = this.#single.get(key)
    return single === undefined ? NONE : [single]
  }

  has(key: K): boolean {
    return this.#single.has(key) || this.#several.has(key)
  }

  /** The keys that have values. */
  *keys(): Generator<K> {
    yield* this.#single.keys()
    yield* this.#several.keys()
  }

  add(key: K, value: V): void {
    const several = this.#several.get(key)
    const single = this.#single.get(key)
    if (several !== undefined) several.add(value)
    else if (single === undefined) this.#single.set(key, value)
    else if (single !== value) {
      this.#single.delete(key)
      this.#several.set(key, new Set([single, value]))
    }
  }

  remove(key: K, value: V): void {
    if (this.#single.get(key) === value) this.#single.delete(key)
    const several = this.#several.get(key)
    if (several?.delete(value) && several.size === 0) this.#several.delete(key)
  }
}

const NONE: readonly never[] = []
