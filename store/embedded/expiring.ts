import { LRUCache } from 'lru-cache'

/** A bounded map whose entries end after their own time; the least used make room. */
export interface Expiring<V> {
  get(key: string): V | undefined
  set(key: string, value: V, ttlMs: number): void
  /** What is there lives for `ttlMs` at least. */
  prolong(key: string, ttlMs: number): void
  delete(key: string): void
}

export function expiring<V extends NonNullable<unknown>>(max: number, now: () => number): Expiring<V> {
  const cache = new LRUCache<string, V>({
    // Unlike `max`, this takes no memory for entries that are not there.
    maxSize: max,
    sizeCalculation: () => 1,
    ttl: 1,
    ttlResolution: 0,
    perf: { now },
  })
  return {
    get: (key) => cache.get(key),
    set: (key, value, ttlMs) => {
      // The cache takes 0 for "without end".
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
