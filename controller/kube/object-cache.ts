/** The objects of a reflector, and their changes. */
import type { Log } from '../../contract/log.ts'
import { type KubeObject, keyOf } from './types.ts'

export type Change<T> =
  | { type: 'put'; key: string; object: T; old: T | undefined }
  | { type: 'removed'; key: string; object: T }

interface Entry<T> {
  resourceVersion: string
  object: T
}

export class ObjectCache<T> {
  readonly #keep: (object: KubeObject) => T
  readonly #log: Log
  #entries = new Map<string, Entry<T>>()

  constructor(keep: (object: KubeObject) => T, log: Log) {
    this.#keep = keep
    this.#log = log
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object
  }

  *values(): IterableIterator<T> {
    for (const { object } of this.#entries.values()) yield object
  }

  /** Undefined if this version is known, or if `keep` throws; then the previous one stays. */
  put(object: KubeObject): Change<T> | undefined {
    const key = keyOf(object)
    const old = this.#entries.get(key)
    const entry = this.#entryOf(key, object)
    if (entry === undefined || entry === old) return undefined
    this.#entries.set(key, entry)
    return { type: 'put', key, object: entry.object, old: old?.object }
  }

  remove(object: KubeObject): Change<T> | undefined {
    const key = keyOf(object)
    const old = this.#entries.get(key)
    if (old === undefined) return undefined
    this.#entries.delete(key)
    return { type: 'removed', key, object: old.object }
  }

  /** Replaces all objects by a complete list from `collect`. */
  replace(list: Collected<T>): Change<T>[] {
    const before = this.#entries
    this.#entries = list.entries
    const changes: Change<T>[] = []
    for (const [key, { object }] of before)
      if (!list.entries.has(key)) changes.push({ type: 'removed', key, object })
    for (const [key, entry] of list.entries) {
      const old = before.get(key)
      if (entry !== old) changes.push({ type: 'put', key, object: entry.object, old: old?.object })
    }
    return changes
  }

  /** Starts a new list, which reuses the objects of known versions. */
  collect(): Collected<T> {
    const entries = new Map<string, Entry<T>>()
    return {
      entries,
      put: (object) => {
        const key = keyOf(object)
        const entry = this.#entryOf(key, object)
        if (entry !== undefined) entries.set(key, entry)
      },
      remove: (object) => entries.delete(keyOf(object)),
    }
  }

  #entryOf(key: string, object: KubeObject): Entry<T> | undefined {
    const { resourceVersion } = object.metadata
    const known = this.#entries.get(key)
    if (known?.resourceVersion === resourceVersion) return known
    try {
      return { resourceVersion, object: this.#keep(object) }
    } catch (error) {
      this.#log.error({ err: error, object: key }, 'an object from the API server could not be processed')
      return known
    }
  }
}

export interface Collected<T> {
  readonly entries: Map<string, Entry<T>>
  put(object: KubeObject): void
  remove(object: KubeObject): void
}
