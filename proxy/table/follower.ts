/** Follows what the controller publishes: the table is swapped whole, records are dropped when a change names them. */
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import type { Change, ConfigStore, Gap } from '../../store/contract.ts'
import { RecordCache } from './record-cache.ts'
import { RoutingTable } from './routing.ts'

const HEARTBEAT_MS = 1_000
const RETRY_MS = 1_000

export interface FollowerEvents {
  /** A new table is in force, in place of `before`. */
  swapped(table: RoutingTable, before: RoutingTable): void
  /** The store could not be read; the last good table stays in force. */
  failed(error: unknown): void
  /** Records of these keys (SHA-256) were written or removed; undefined: any may have been. */
  keysChanged(hashes: readonly string[] | undefined): void
}

export class TableFollower {
  readonly #store: ConfigStore
  readonly #proxy: string
  readonly #events: FollowerEvents
  readonly #keys: RecordCache<KeyRecord>
  readonly #accounts: RecordCache<AccountRecord>
  #table = new RoutingTable()
  /** The newest publication that is in force here. */
  #applied = { epoch: 0, generation: 0 }
  #caughtUp = false
  /** A table that was announced could not be read, so nothing newer than #applied is in force. */
  #behind = false
  /** Changes are taken one after the other. */
  #queue: Promise<void> = Promise.resolve()
  #unfollow: (() => Promise<void>) | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #stopped = false

  constructor(store: ConfigStore, proxy: string, events: FollowerEvents) {
    this.#store = store
    this.#proxy = proxy
    this.#events = events
    this.#keys = new RecordCache((hash) => store.key(hash))
    this.#accounts = new RecordCache((id) => store.account(id))
  }

  get table(): RoutingTable {
    return this.#table
  }

  /** True from the first table on: a proxy without one must not get traffic. */
  get caughtUp(): boolean {
    return this.#caughtUp
  }

  key(hash: string): Promise<KeyRecord | undefined> {
    return this.#keys.get(hash)
  }

  account(id: string): Promise<AccountRecord | undefined> {
    return this.#accounts.get(id)
  }

  /** Follows first and reads then, so that nothing falls between the two. */
  async start(): Promise<void> {
    this.#unfollow = await this.#store.follow((change) => this.#enqueue(change))
    this.#enqueue({ gap: true })
    await this.#queue
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#heartbeat)
    clearTimeout(this.#retry)
    await this.#unfollow?.()
    await this.#queue
    await this.#store.retire(this.#proxy).catch(() => undefined)
  }

  #enqueue(change: Change | Gap): void {
    this.#forget(change)
    this.#queue = this.#queue.then(() => this.#apply(change))
  }

  /** At once: a key that was taken back must not wait until a table has been read. */
  #forget(change: Change | Gap): void {
    if ('gap' in change) {
      this.#keys.clear()
      this.#accounts.clear()
      this.#events.keysChanged(undefined)
    } else {
      for (const hash of change.keys) this.#keys.drop(hash)
      for (const id of change.accounts) this.#accounts.drop(id)
      if (change.keys.length > 0) this.#events.keysChanged(change.keys)
    }
  }

  async #apply(change: Change | Gap): Promise<void> {
    if (this.#stopped) return
    try {
      if ('gap' in change) await this.#readTable()
      else {
        if (change.table) await this.#readTable()
        if (!this.#behind) this.#applied = { epoch: change.epoch, generation: change.generation }
      }
      await this.#beat()
    } catch (error) {
      this.#behind = true
      this.#events.failed(error)
      this.#retryLater()
    }
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      // What is cached is the last that was known; only the table is asked for again.
      this.#queue = this.#queue.then(() => this.#apply({ gap: true }))
    }, RETRY_MS).unref()
  }

  async #readTable(): Promise<void> {
    const published = await this.#store.table()
    this.#behind = false
    if (published === undefined) return
    const { epoch, generation } = published
    // Only inside one epoch: a store that was wiped begins its epochs again.
    if (epoch === this.#table.epoch && generation < this.#table.generation) return
    const before = this.#table
    this.#table = new RoutingTable(published)
    if (generation > this.#applied.generation || epoch !== this.#applied.epoch)
      this.#applied = { epoch, generation }
    this.#caughtUp = true
    this.#events.swapped(this.#table, before)
  }

  async #beat(): Promise<void> {
    if (!this.#caughtUp || this.#stopped) return
    await this.#store
      .beat({ proxy: this.#proxy, ...this.#applied })
      .catch((error: unknown) => this.#events.failed(error))
  }
}
