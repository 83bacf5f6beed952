/** Sets of values by key; empty sets are removed. */
export class Multimap<K, V> {
  readonly #sets = new Map<K, Set<V>>()

  get(key: K): ReadonlySet<V> {
    return this.#sets.get(key) ?? NONE
  }

  /** The keys that have values. */
  keys(): Iterable<K> {
    return this.#sets.keys()
  }

  add(key: K, value: V): void {
    const found = this.#sets.get(key)
    if (found === undefined) this.#sets.set(key, new Set([value]))
    else found.add(value)
  }

  remove(key: K, value: V): void {
    const found = this.#sets.get(key)
    if (found?.delete(value) && found.size === 0) this.#sets.delete(key)
  }
}

const NONE: ReadonlySet<never> = new Set()
