/**
 * The store that the controller and the proxies share. Two implementations, `redis` and `embedded` (in memory), pass the
 * same conformance suite (test/conformance/store).
 *
 * Every method may reject with StoreUnavailable; none hangs. Callers must not change the records that they get.
 */
import { z } from 'zod'
import { FAILURE_CLASSES } from '../contract/failures.ts'
import type { AccountRecord, KeyRecord, PublishedTable, TableRecord } from '../contract/table/records.ts'
import type { Soon } from '../kit/soon.ts'
import type { Ledger } from './ledger/contract.ts'
import type { KeyRing } from './sealing.ts'

export interface Store {
  config: ConfigStore
  ledger: Ledger
  affinity: AffinityStore
  state: StateStore
  /** Seals the envelopes that clients carry, with keys that all proxies on this store share. */
  sealing: KeyRing
  /**
   * Calls `listener` when a lost connection is restored: commands acknowledged shortly before may be lost. The returned
   * function unsubscribes. A store without connections never calls it.
   */
  onRestored(listener: () => void): () => void
  /**
   * How each server keeps the ledger, by "host:port"; in a Cluster its primaries. Undefined: it does not answer. A store
   * without servers has none.
   */
  keeping(): Promise<ReadonlyMap<string, Keeping | undefined>>
  close(): Promise<void>
}

/** How a server keeps what is written to it. */
export interface Keeping {
  /** What it evicts when its memory is full, as Redis names it, such as `noeviction`; undefined: it does not say. */
  evictionPolicy: string | undefined
  /**
   * What outlives a restart: every write (aof), the last snapshot (rdb), or nothing. `unknown`: the server does not let
   * this program know.
   */
  persistence: 'aof' | 'rdb' | 'none' | 'unknown'
}

/** The store cannot be reached or did not answer in time. It may or may not have executed the command. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
  /** True: the store has surely not carried out the command. */
  readonly unsent: boolean

  constructor(message: string, { unsent = false } = {}) {
    super(message)
    this.unsent = unsent
  }
}

/**
 * A stored table or record cannot be opened or parsed, or is not the one written last. Its right content is unknown;
 * readers keep the last good one.
 */
export class RecordUnreadable extends Error {
  override name = 'RecordUnreadable'
}

/** Tables and records: only the leading controller writes them, every proxy reads and follows them. */
export interface ConfigStore {
  /**
   * Makes `candidate` the leader for `ms` if there is none, or if it leads already. Returns who leads. Only controllers
   * without a Lease use it. It fences nothing; `newEpoch` does.
   */
  lead(candidate: string, ms: number): Promise<string>

  /** Ends the leadership of `candidate`, so that another one can lead at once. */
  resign(candidate: string): Promise<void>

  /**
   * Starts a term of leadership: publications with an older epoch are refused from now on. The new epoch is higher than
   * the stored one and than `above`, the epoch that a leader remembers if the store has lost its own.
   */
  newEpoch(above?: number): Promise<number>

  /** The stored epoch and generation; zeros in an empty (or emptied) store. */
  position(): Promise<Position>

  /** Checks the epoch, writes a publication and announces it, all or nothing. */
  publish(publication: Publication): Promise<PublishReply>

  /** Digests of everything written, as recorded at the time of writing. */
  manifest(): Promise<Manifest>

  /** SHA-256 of all keys. A key written or removed in the meantime may or may not be included. */
  keyHashes(): Promise<Set<string>>

  /**
   * Digests of everything stored, so that a controller writes only what differs: a record that is not as it was written
   * has a digest that equals no other. Only for the leader, which must not publish in the meantime.
   */
  inspect(): Promise<Inspection>

  /** Whether the stored table is the one written last; cheaper than `inspect`. */
  intact(): Promise<boolean>

  /**
   * The current table with the newest generation; undefined before the first publication. Rejects with
   * RecordUnreadable.
   */
  table(): Promise<PublishedTable | undefined>

  /** The record of the key with this SHA-256 (hex), if any. Rejects with RecordUnreadable. */
  key(hash: string): Promise<KeyRecord | undefined>

  /** The record of the account with this id, if any. Rejects with RecordUnreadable. */
  account(id: string): Promise<AccountRecord | undefined>

  /** Calls `listener` for every publication from now on, in order. The returned function unsubscribes. */
  follow(listener: (change: Change | Gap) => void): Promise<() => Promise<void>>

  /** Reports that a proxy is alive and what it serves. Returns what is stored, so that a proxy notices a missed change. */
  beat(heartbeat: Heartbeat): Promise<Position>

  /** Heartbeats of the last `withinMs`, by the store's clock. */
  heartbeats(withinMs: number): Promise<Heartbeat[]>

  /** Removes the heartbeat of a proxy that stops, so that it no longer counts as alive. */
  retire(proxy: string): Promise<void>
}

export interface Position {
  epoch: number
  generation: number
}

export interface Publication {
  epoch: number
  /** Higher than every earlier one; ConfigStore.manifest has the stored one. */
  generation: number
  /** Absent: the table does not change. */
  table?: TableRecord
  keys: RecordChanges<KeyRecord>
  accounts: RecordChanges<AccountRecord>
}

/** Records to write, by id (SHA-256 of a key, id of an account), and ids to remove. */
export interface RecordChanges<R> {
  put: ReadonlyMap<string, R>
  remove: readonly string[]
}

/**
 * `fenced`: a newer epoch exists, so the caller is no longer the leader. `stale`: the generation is not higher than the
 * stored one.
 */
type PublishReply = 'published' | 'fenced' | 'stale'

export interface Manifest {
  epoch: number
  /** 0 before the first publication. */
  generation: number
  /** digest() of the stored table, if any. */
  table?: string
  /** digest() of each record, by id. */
  keys: Map<string, string>
  accounts: Map<string, string>
}

export type RecordKind = 'table' | 'key' | 'account'

export interface Inspection extends Manifest {
  /** How many records are missing, changed, or older than what was written last. */
  spoilt: Record<RecordKind, number>
}

/** What a publication changed. A proxy drops its copies of these records and reads them again when needed. */
export interface Change {
  epoch: number
  generation: number
  /** The table changed. */
  table: boolean
  /** SHA-256 of the keys written or removed. */
  keys: readonly string[]
  accounts: readonly string[]
}

/** Changes may have been missed: everything must be read again. */
export interface Gap {
  gap: true
}

export interface Heartbeat {
  /** Name of the proxy process, unique among live ones. */
  proxy: string
  epoch: number
  /** The generation that the proxy serves; it has applied all publications up to it. */
  generation: number
  /** Channels whose last attempt on this proxy failed, at most MAX_TROUBLES; absent if there are none. */
  troubles?: readonly ChannelTrouble[]
}

export const MAX_TROUBLES = 64

export const channelTrouble = z.object({
  /** namespace/name */
  channel: z.string(),
  lastFailure: z.enum(FAILURE_CLASSES),
  /** Milliseconds since the epoch. */
  since: z.int(),
  /** This proxy has ejected the channel. */
  ejected: z.boolean(),
})
export type ChannelTrouble = z.output<typeof channelTrouble>

/** The channel that each session used last. Losing it does no harm. */
export interface AffinityStore {
  get(session: string): Promise<string | undefined>
  set(session: string, channel: string, ttlMs: number): Promise<void>
}

/** State of conversations, and the request log. */
export interface StateStore {
  /** Upstreams choose the ids, so that they are unique only per owner. */
  putResponse(owner: string, id: string, binding: ResponseBinding, ttlMs: number): Promise<void>
  /** Rejects with RecordUnreadable. */
  response(owner: string, id: string): Promise<ResponseBinding | undefined>
  /** Extends the life of an existing binding to at least `ttlMs`. */
  keepResponse(owner: string, id: string, ttlMs: number): Promise<void>
  removeResponse(owner: string, id: string): Promise<void>
  /** Stores an exchange for `ttlMs`. `full`: it does not fit into the remaining room and is not stored. */
  putExchange(
    owner: string,
    exchange: Exchange,
    ttlMs: number,
    room: ConversationRoom,
  ): Promise<'kept' | 'full'>
  /**
   * The exchanges from the root of the chain to `id`, oldest first; their life is extended to `ttlMs`. Undefined if one of
   * them is gone, unreadable or another owner's, or if there are more than `most`.
   */
  exchanges(
    owner: string,
    chain: { root: string; id: string },
    ttlMs: number,
    most: number,
  ): Promise<Exchange[] | undefined>
  /** One exchange; its life is extended to `ttlMs`. Undefined if it is gone, unreadable or another owner's. */
  exchange(owner: string, root: string, id: string, ttlMs: number): Promise<Exchange | undefined>
  /** Removes one exchange and frees its room. */
  removeExchange(owner: string, root: string, id: string): Promise<void>
  /** Appends a line to the capped log. */
  appendLog(line: string): Soon<void>
  /** The newest lines, newest first, at most `count`. */
  recentLog(count: number): Promise<string[]>
}

/**
 * Where a response is stored, so that a request can continue it. Only its owner may do so: the account, or the key if
 * it has no account (by objectId).
 */
export const responseBinding = z.object({
  channel: z.string(),
  upstreamId: z.string(),
  /** The upstream stores the conversation and continues it by `upstreamId`. */
  native: z.boolean(),
  /** Tokens that the upstream holds as context of this response. */
  contextTokens: z.number(),
  /** First response of the chain. */
  root: z.string(),
  parent: z.string().optional(),
})
export type ResponseBinding = z.output<typeof responseBinding>

/** What one response added to its conversation. */
export interface Exchange {
  id: string
  /** First response of the chain. */
  root: string
  parent?: string
  /** JSON; a shared store seals it. */
  text: string
}

/** Limits on stored conversations, in UTF-8 bytes of their texts. */
export interface ConversationRoom {
  exchangeBytes: number
  /** For all exchanges of one owner. */
  ownerBytes: number
}
