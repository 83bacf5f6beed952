/**
 * Keeps a flood of made-up keys away from the store without ever refusing a good key. It counts first look-ups of keys,
 * without those that find one. When there are many it reads the list of all keys: keys that are not on it are refused
 * without a look-up, those on it are looked up as before. The list is dropped long after the flood.
 */
import { StoreUnavailable } from '../../store/contract.ts'
import type { Standing } from './knowledge.ts'

/** Budget of look-ups, refilled continuously. When it is used up callers wait for the list. */
const MOST_LEFT = 2_000
const REFILL_PER_SECOND = 200
/** With fewer left the list is read ahead: a list of tens of thousands of keys takes a while, and callers should not wait. */
const LIST_BELOW = 1_600
/** Wait before the list is read again after a failure. */
const RETRY_MS = 1_000
/** How long the list is kept after a flood. It is not read twice in that time unless changes were missed. */
const KEPT_MS = 60_000

interface KeyDirectoryOptions {
  /** SHA-256 of all keys. Rejects with StoreUnavailable. */
  readAll(): Promise<Set<string>>
  /** See Knowledge. */
  standing(): Promise<Standing>
  /** Milliseconds, monotonic. */
  now(): number
  /** The store answered, but does not give the list. */
  failed(error: unknown): void
}

export class KeyDirectory {
  readonly #options: KeyDirectoryOptions
  #left = MOST_LEFT
  #filledAt: number
  #neededAt = 0
  #list: Set<string> | undefined
  #reading: Promise<Set<string>> | undefined
  /** Keys that changes have named since the list was requested. */
  #named = new Set<string>()
  #failure: { at: number; error: unknown } | undefined

  constructor(options: KeyDirectoryOptions) {
    this.#options = options
    this.#filledAt = options.now()
  }

  /** The result of `lookUp`, or undefined without calling it when no key has this hash. Rejects with StoreUnavailable. */
  async find<R>(hash: string, lookUp: () => Promise<R | undefined>): Promise<R | undefined> {
    const counted = this.#countLookup()
    const list = this.#list ?? (counted ? undefined : await this.#readIfGiven())
    // A list from before a gap may be outdated.
    if (list !== undefined && list === this.#list && !list.has(hash)) {
      if ((await this.#options.standing()) === 'current') return undefined
      throw new StoreUnavailable('the store cannot vouch for the list of keys')
    }
    const found = await lookUp()
    if (counted && found !== undefined) this.#left += 1
    return found
  }

  /** These keys were written or removed. */
  changed(hashes: readonly string[]): void {
    this.#forgetOld()
    if (this.#reading !== undefined) for (const hash of hashes) (this.#list ?? this.#named).add(hash)
  }

  /** Changes may have been missed. */
  gap(): void {
    this.#list = undefined
    this.#reading = undefined
    this.#named.clear()
  }

  /** False when the budget is used up. */
  #countLookup(): boolean {
    this.#forgetOld()
    const now = this.#options.now()
    this.#left = Math.min(MOST_LEFT, this.#left + ((now - this.#filledAt) / 1_000) * REFILL_PER_SECOND)
    this.#filledAt = now
    if (this.#left < LIST_BELOW) {
      this.#neededAt = now
      this.#read().catch(() => undefined)
    }
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  #forgetOld(): void {
    if (this.#list !== undefined && this.#options.now() - this.#neededAt > KEPT_MS) this.gap()
  }

  /** Undefined when the store answers but does not give the list: then every key is looked up. */
  async #readIfGiven(): Promise<Set<string> | undefined> {
    try {
      return await this.#read()
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      return undefined
    }
  }

  #read(): Promise<Set<string>> {
    if (this.#reading !== undefined) return this.#reading
    if (this.#failure !== undefined && this.#options.now() - this.#failure.at < RETRY_MS)
      return Promise.reject(this.#failure.error)
    const reading = this.#options.readAll().then((list) => {
      if (this.#reading !== reading) return list
      for (const hash of this.#named) list.add(hash)
      this.#named.clear()
      this.#list = list
      return list
    })
    this.#reading = reading
    reading.catch((error: unknown) => {
      this.#failure = { at: this.#options.now(), error }
      if (!(error instanceof StoreUnavailable)) this.#options.failed(error)
      if (this.#reading === reading) this.gap()
    })
    return reading
  }
}
