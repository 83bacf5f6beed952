/**
 * Keeps a flood of made-up keys away from the store without ever turning a good key away. Look-ups of keys that were
 * never asked for are counted, those that found one left out. When they are many the list of all keys is read, and from
 * then on what is not in it is known not to exist, without a question; what is in it is looked up as ever. The list goes
 * when the flood is long over.
 */
import { StoreUnavailable } from '../../store/contract.ts'
import type { Standing } from './knowledge.ts'

/** Look-ups that may be made, refilled all the time. Without any left a caller waits for the list. */
const MOST_LEFT = 2_000
const REFILL_PER_SECOND = 200
/** With fewer left than this the list is read: of tens of thousands of keys that takes a while, in which nobody waits. */
const LIST_BELOW = 1_600
/** After the list could not be read, nobody asks for it for so long. */
const RETRY_MS = 1_000
/** How long the list outlasts a flood. Unless changes were missed it is not read twice in that time. */
const KEPT_MS = 60_000

export interface KeyDirectoryOptions {
  /** SHA-256 of all keys. Rejects with StoreUnavailable when the store cannot say. */
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
  /** Keys that changes have named since the list was asked for. */
  #named = new Set<string>()
  #failure: { at: number; error: unknown } | undefined

  constructor(options: KeyDirectoryOptions) {
    this.#options = options
    this.#filledAt = options.now()
  }

  /** What `lookUp` finds, or undefined without asking where no key has this hash. Rejects with StoreUnavailable. */
  async find<R>(hash: string, lookUp: () => Promise<R | undefined>): Promise<R | undefined> {
    const counted = this.#countLookup()
    const list = this.#list ?? (counted ? undefined : await this.#readIfGiven())
    // A list from before a gap says nothing.
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

  /** False beyond the bound. */
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

  /** Undefined where the store answers and will not give the list: then there are only look-ups. */
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
