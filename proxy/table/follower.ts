/**
 * Follows the publications of the controller: swaps the table whole, and reads records again when a change names them. The
 * last good table and records stay in force while the store is away, was emptied, or has records that do not open.
 */
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import type { Soon } from '../../kit/soon.ts'
import {
  type Change,
  type ChannelTrouble,
  type ConfigStore,
  type Gap,
  type Position,
  RecordUnreadable,
  StoreUnavailable,
} from '../../store/contract.ts'
import { Heartbeat } from './heartbeat.ts'
import { Knowledge, newest, type PositionQuery } from './knowledge.ts'
import { Records } from './records.ts'
import { RoutingTable } from './routing.ts'

const RETRY_MS = 1_000
/** How long the announcement of a publication may be overdue before everything is read again. */
const LAG_MS = 1_000

interface FollowerOptions {
  /** Name of this process. */
  proxy: string
  /** How long records serve without confirmation by the store. */
  keyMaxAgeMs: number
  /** Milliseconds, monotonic; default performance.now. */
  now?: () => number
  /** Channels that fail at this proxy now; read for each heartbeat. */
  troubles?: () => readonly ChannelTrouble[]
}

export interface FollowerEvents {
  /** A new table is in force, in place of `before`. */
  swapped(table: RoutingTable, before: RoutingTable): void
  /** The store could not be read; what was last good stays in force. */
  failed(error: unknown): void
  /** A stored table or record does not open or parse, or is older than the one in force, which stays in force. */
  unreadable(kind: RecordKind, error: Error): void
  /** The store has less than is in force here: it was emptied, or restored from a copy. Called once. */
  behind(): void
  /** Records of these keys (SHA-256) were written or removed; undefined: any may have been. */
  keysChanged(hashes: readonly string[] | undefined): void
}

export const RECORD_KINDS = ['table', 'key', 'account'] as const
type RecordKind = (typeof RECORD_KINDS)[number]

export class TableFollower {
  readonly #store: ConfigStore
  readonly #proxy: string
  readonly #events: FollowerEvents
  readonly #now: () => number
  readonly #troubles: () => readonly ChannelTrouble[]
  readonly #knowledge: Knowledge
  readonly #records: Records
  readonly #heartbeat = new Heartbeat(() => this.#beat())
  #table = new RoutingTable()
  /** The newest publication that is in force, its table and its records. */
  #applied: Position = { epoch: 0, generation: 0 }
  #caughtUp = false
  #reachable = false
  #reportedBehind = false
  /** An announced table could not be read, so nothing newer than #applied is in force. */
  #tableMissing = false
  /** Changes are applied one after the other. */
  #queue: Promise<void> = Promise.resolve()
  /** The newest query for the position before everything is read again; set while that waits for its turn. */
  #position: Promise<void> | undefined
  /** A publication in the store whose announcement did not arrive. */
  #unannounced: { generation: number; query: PositionQuery; timer: NodeJS.Timeout } | undefined
  #unfollow: (() => Promise<void>) | undefined
  #retry: NodeJS.Timeout | undefined
  #stopped = false

  constructor(
    store: ConfigStore,
    { proxy, keyMaxAgeMs, now = () => performance.now(), troubles = () => [] }: FollowerOptions,
    events: FollowerEvents,
  ) {
    this.#store = store
    this.#proxy = proxy
    this.#events = events
    this.#now = now
    this.#troubles = troubles
    this.#knowledge = new Knowledge(now)
    this.#records = new Records(store, {
      knowledge: this.#knowledge,
      isAbsent: () => this.#isAbsent(),
      unreadable: (kind, error) => events.unreadable(kind, error),
      failed: (error) => events.failed(error),
      maxAgeMs: keyMaxAgeMs,
      now,
    })
  }

  get table(): RoutingTable {
    return this.#table
  }

  /** The newest publication that is in force: it and all before it. */
  get applied(): Position {
    return this.#applied
  }

  /** True once everything that is published has been in force. It stays true while the store is away. */
  get caughtUp(): boolean {
    return this.#caughtUp
  }

  /** True when the last call to the store was answered. */
  get reachable(): boolean {
    return this.#reachable
  }

  /** Milliseconds since the store was last known to have nothing newer than what is in force here. */
  get ageMs(): number {
    return this.#now() - this.#knowledge.verifiedAt
  }

  /** Rejects with StoreUnavailable or RecordUnreadable if the store cannot answer. */
  key(hash: string): Soon<KeyRecord | undefined> {
    if (!this.#caughtUp) return Promise.reject(new StoreUnavailable('no table has been read yet'))
    return this.#records.key(hash)
  }

  /** Rejects like `key`. */
  account(id: string): Soon<AccountRecord | undefined> {
    return this.#records.account(id)
  }

  /**
   * Subscribes first and reads then, so that no change is missed in between. Resolves after the first try; retries while
   * it fails.
   */
  async start(): Promise<void> {
    // A failure is retried together with the table.
    await this.#follow().catch(() => undefined)
    this.readAgain()
    await this.#queue
    this.#heartbeat.start()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#retry)
    clearTimeout(this.#unannounced?.timer)
    await this.#heartbeat.stop()
    // A queued read may still subscribe.
    await this.#queue
    await this.#unfollow?.()
    await this.#store.retire(this.#proxy).catch(() => undefined)
  }

  /** Reads everything again, as after missed changes: the table now, records at their next use. */
  readAgain(): void {
    if (this.#stopped) return
    this.#knowledge.gap()
    this.#records.gap()
    this.#events.keysChanged(undefined)
    // Ask for the position at once, because records wait for it; the table is read in its turn.
    const waits = this.#position !== undefined
    this.#position = this.#askPosition()
    // Only the newest query is awaited, in its turn.
    this.#position.catch(() => undefined)
    if (!waits) this.#queue = this.#queue.then(() => this.#catchUp())
  }

  async #follow(): Promise<void> {
    this.#unfollow = await this.#store.follow((change) => this.#take(change))
  }

  #take(change: Change | Gap): void {
    if ('gap' in change) {
      this.readAgain()
      return
    }
    // At once: the revocation of a key must not wait until a table has been read.
    this.#records.changed(change)
    this.#knowledge.take(change)
    const { taken } = this.#knowledge
    if (this.#unannounced !== undefined && taken.generation >= this.#unannounced.generation) {
      this.#knowledge.verify(this.#unannounced.query)
      this.#forgetUnheard()
    }
    if (change.keys.length > 0) this.#events.keysChanged(change.keys)
    this.#queue = this.#queue.then(() => this.#apply(change))
  }

  async #apply(change: Change): Promise<void> {
    if (this.#stopped) return
    try {
      if (change.table) await this.#readTable()
    } catch (error) {
      return this.#failed(error)
    }
    if (this.#tableMissing) return
    this.#applied = newest(this.#applied, change)
    this.#heartbeat.now()
  }

  /** Waits for the position: the table is at least as new as that publication. */
  async #catchUp(): Promise<void> {
    const position = this.#position
    this.#position = undefined
    if (this.#stopped) return
    try {
      if (this.#unfollow === undefined) {
        await this.#follow()
        // Earlier publications may have been missed.
        return this.readAgain()
      }
      await position
      const { taken } = this.#knowledge
      if (!(await this.#readTable())) {
        if (!this.#caughtUp) this.#retryLater()
        return
      }
      // Not the position of the table: the records of a newer publication are not known yet.
      this.#applied = newest(this.#applied, taken)
      this.#heartbeat.now()
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Puts the stored table in force. False, without any change, when the store has none and need not have one. */
  async #readTable(): Promise<boolean> {
    const published = await this.#store.table()
    if (published === undefined) {
      if (this.#caughtUp && (await this.#knowledge.standing()) !== 'behind')
        throw new RecordUnreadable('the table is gone')
      return false
    }
    const { epoch, generation } = published
    const before = this.#table
    if (epoch <= before.epoch && generation < before.generation)
      throw new RecordUnreadable(`the table is of generation ${generation}, older than the one in force`)
    this.#tableMissing = false
    this.#caughtUp = true
    if (epoch !== before.epoch || generation !== before.generation) {
      this.#table = new RoutingTable(published)
      this.#events.swapped(this.#table, before)
    }
    return true
  }

  /** A stored table that does not open does not make records doubtful; a store that is away does. */
  #failed(error: unknown): void {
    this.#tableMissing = true
    if (error instanceof RecordUnreadable) this.#events.unreadable('table', error)
    else this.#unreachable(error)
    this.#retryLater()
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      if (!this.#reachable || !this.#caughtUp) return this.readAgain()
      this.#queue = this.#queue.then(() => this.#catchUp())
    }, RETRY_MS).unref()
  }

  /** The position of the store: reads from now on are at least as new. Rejects with StoreUnavailable. */
  async #askPosition(): Promise<void> {
    const query = this.#knowledge.query()
    try {
      const position = await this.#store.position()
      if (this.#learn(position, query) === 'behind') return
      this.#knowledge.take(position)
      this.#knowledge.verify(query)
    } catch (error) {
      this.#knowledge.away()
      throw error
    }
  }

  /** Sends a heartbeat; its answer shows whether a change was missed. */
  async #beat(): Promise<void> {
    if (!this.#caughtUp || this.#stopped) return
    const query = this.#knowledge.query()
    try {
      const troubles = this.#troubles()
      const position = await this.#store.beat({
        ...{ proxy: this.#proxy, ...this.#applied },
        ...(troubles.length > 0 && { troubles }),
      })
      if (this.#stopped) return
      const difference = this.#learn(position, query)
      if (difference === 'moved') this.readAgain()
      else if (difference === 'ahead') this.#awaitChange(position, query)
      // A new leader had nothing to publish.
      else if (difference === 'same' && this.#applied.generation === position.generation)
        this.#applied = position
    } catch (error) {
      this.#unreachable(error)
    }
  }

  /** Detects publications whose announcements were lost. */
  #awaitChange({ generation }: Position, query: PositionQuery): void {
    if (this.#unannounced !== undefined || this.#knowledge.taken.generation >= generation) return
    const timer = setTimeout(() => {
      this.#forgetUnheard()
      this.readAgain()
    }, LAG_MS).unref()
    this.#unannounced = { generation, query, timer }
  }

  #forgetUnheard(): void {
    clearTimeout(this.#unannounced?.timer)
    this.#unannounced = undefined
  }

  #learn(position: Position, query: PositionQuery) {
    this.#reachable = true
    const difference = this.#knowledge.learn(position, query)
    if (difference === 'behind' && this.#caughtUp && !this.#reportedBehind) this.#events.behind()
    this.#reportedBehind = difference === 'behind'
    return difference
  }

  #unreachable(error: unknown): void {
    this.#reachable = false
    this.#knowledge.away()
    this.#events.failed(error)
  }

  /** See RecordSource. Absence in the store counts only when the store has everything that has been in force here. */
  async #isAbsent(): Promise<boolean> {
    const query = this.#knowledge.query()
    const difference = this.#learn(await this.#store.position(), query)
    if (difference === 'behind') throw new StoreUnavailable('the store holds less than is in force here')
    if (difference !== 'moved') return true
    this.readAgain()
    await this.#queue
    return false
  }
}
