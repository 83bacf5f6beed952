import { LRUCache } from 'lru-cache'

/** A bounded map whose entries each have their own lifetime; the least recently used make room. */
export interface Expiring<V> {
  get(key: string): V | undefined
  set(key: string, value: V, ttlMs: number): void
  /** Extends the lifetime of an existing entry to at least `ttlMs`. */
  prolong(key: string, ttlMs: number): void
  delete(key: string): void
}

export function expiring<V extends NonNullable<unknown>>(max: number, now: () => number): Expiring<V> {
  const cache = new LRUCache<string, V>({
    // `max` would allocate memory for all entries in advance.
    maxSize: max,
    sizeCalculation: () => 1,
    ttl: 1,
    ttlResolution: 0,
    perf: { now },
  })
  return {
    get: (key) => cache.get(key),
    set: (key, value, ttlMs) => {
      // For the cache, 0 means "for ever".
      cache.set(key, value, { ttl: Math.max(1, ttlMs) })
    },
    prolong: (key, ttlMs) => {
      const value = cache.get(key)
      if (value !== undefined && cache.getRemainingTTL(key) < ttlMs) cache.set(key, value, { ttl: ttlMs })
    },
    delete: (key) => {
      cache.delete(key)
    },
  }
}
