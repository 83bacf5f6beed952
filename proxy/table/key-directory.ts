/**
 * Keeps a flood of made-up keys away from the store without ever turning a good key away. Look-ups of keys that were
 * never asked for are counted, those that found one left out. Beyond the bound the list of all keys is read, once, and
 * what is not in it is known not to exist; what is in it is looked up as ever.
 */
const LOOKUPS_PER_SECOND = 200
const BURST = 400

export interface KeyDirectoryOptions {
  /** SHA-256 of all keys. Rejects with StoreUnavailable when the store cannot say. */
  readAll(): Promise<Iterable<string>>
  /** Milliseconds, monotonic. */
  now(): number
}

export class KeyDirectory {
  readonly #options: KeyDirectoryOptions
  #left = BURST
  #filledAt: number
  #all: Promise<Set<string>> | undefined
  /** Keys that changes have named since #all was asked for. */
  #named = new Set<string>()

  constructor(options: KeyDirectoryOptions) {
    this.#options = options
    this.#filledAt = options.now()
  }

  /** What `lookUp` finds, or undefined without asking where no key has this hash. Rejects with StoreUnavailable. */
  async find<R>(hash: string, lookUp: () => Promise<R | undefined>): Promise<R | undefined> {
    const counted = this.#countLookup()
    if (!counted) {
      const all = await this.#load()
      if (!all.has(hash) && !this.#named.has(hash)) return undefined
    }
    const found = await lookUp()
    if (counted && found !== undefined) this.#left += 1
    return found
  }

  /** These keys were written or removed. */
  changed(hashes: readonly string[]): void {
    if (this.#all !== undefined) for (const hash of hashes) this.#named.add(hash)
  }

  /** Changes may have been missed. */
  gap(): void {
    this.#all = undefined
    this.#named.clear()
  }

  /** False beyond the bound. */
  #countLookup(): boolean {
    const now = this.#options.now()
    this.#left = Math.min(BURST, this.#left + ((now - this.#filledAt) / 1_000) * LOOKUPS_PER_SECOND)
    this.#filledAt = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  #load(): Promise<Set<string>> {
    if (this.#all !== undefined) return this.#all
    const all = this.#options.readAll().then((hashes) => new Set(hashes))
    this.#all = all
    all.catch(() => {
      if (this.#all === all) this.gap()
    })
    return all
  }
}
