/**
 * What a store does for the controller and the proxies. Implementations run one conformance suite
 * (test/conformance/store): `embedded` keeps everything in the process.
 *
 * Every method may reject with StoreUnavailable; none hangs. Records handed out are the caller's to read, never
 * to change.
 */
import type { FailureClass } from '../contract/failures.ts'
import type { AccountRecord, KeyRecord, PublishedTable, TableRecord } from '../contract/table/records.ts'
import type { Ledger } from './ledger/contract.ts'
import type { KeyRing } from './sealing.ts'

export interface Store {
  config: ConfigStore
  ledger: Ledger
  affinity: AffinityStore
  state: StateStore
  /** Seals what clients carry for us, under keys that all proxies on this store have. */
  sealing: KeyRing
  /**
   * Calls `listener` when a connection that was lost is back, until the returned function is called: commands that
   * were acknowledged shortly before may be lost. A store without connections never calls it.
   */
  onRestored(listener: () => void): () => void
  close(): Promise<void>
}

/** The store cannot be reached, or did not answer in time. What it did with the command is not known. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/**
 * A stored table or record does not open, does not parse, or is not what was written last: nothing is known of what it
 * should be. What was known before stays in force.
 */
export class RecordUnreadable extends Error {
  override name = 'RecordUnreadable'
}

/** Tables and records: written by the leading controller alone, read and followed by every proxy. */
export interface ConfigStore {
  /**
   * Starts a term of leadership: what carries an older epoch is refused from now on. The new epoch is one above the
   * stored one and above `above`, which a leader knows after the store has lost its own.
   */
  newEpoch(above?: number): Promise<number>

  /** The epoch and generation that are stored now; zeros in a store that is empty, or was emptied. */
  position(): Promise<Position>

  /** Writes a publication, announces it and checks the fence, all or nothing. */
  publish(publication: Publication): Promise<PublishReply>

  /** Digests of all that was written, as it was noted then. */
  manifest(): Promise<Manifest>

  /** SHA-256 of all keys. One that is written or removed meanwhile may be among them, or not. */
  keyHashes(): Promise<Set<string>>

  /**
   * Digests of all that is stored, so that a controller writes only what differs: what is not as it was written has one
   * that is equal to no other. For the leader alone, which does not publish meanwhile.
   */
  inspect(): Promise<Inspection>

  /** Whether the stored table is the one that was written last; cheaper than `inspect`. */
  intact(): Promise<boolean>

  /**
   * The current table, under the newest generation; undefined before the first publication. Rejects with
   * RecordUnreadable.
   */
  table(): Promise<PublishedTable | undefined>

  /** The record of the key with this SHA-256 (hex), if there is one. Rejects with RecordUnreadable. */
  key(hash: string): Promise<KeyRecord | undefined>

  /** The record of the account with this id, if there is one. Rejects with RecordUnreadable. */
  account(id: string): Promise<AccountRecord | undefined>

  /** Calls `listener` for every publication from now on, in order, until the returned function is called. */
  follow(listener: (change: Change | Gap) => void): Promise<() => Promise<void>>

  /** Says that a proxy lives and what it serves, and answers what is stored: a proxy that is behind missed a change. */
  beat(heartbeat: Heartbeat): Promise<Position>

  /** Heartbeats not older than `withinMs`, by the store's clock. */
  heartbeats(withinMs: number): Promise<Heartbeat[]>

  /** Takes a proxy that stops out of the living at once. */
  retire(proxy: string): Promise<void>
}

export interface Position {
  epoch: number
  generation: number
}

export interface Publication {
  epoch: number
  /** Above every earlier one; see ConfigStore.manifest for the stored one. */
  generation: number
  /** Absent: the table stays as it is. */
  table?: TableRecord
  keys: RecordChanges<KeyRecord>
  accounts: RecordChanges<AccountRecord>
}

/** Records to write by their id (SHA-256 of a key, id of an account), and ids to remove. */
export interface RecordChanges<R> {
  put: ReadonlyMap<string, R>
  remove: readonly string[]
}

/**
 * published; `fenced`: a newer epoch exists, the caller is no longer the leader; `stale`: the generation is not above
 * the stored one.
 */
export type PublishReply = 'published' | 'fenced' | 'stale'

export interface Manifest {
  epoch: number
  /** 0 before the first publication. */
  generation: number
  /** digest() of the stored table, if any. */
  table?: string
  /** Id to digest() of the record. */
  keys: Map<string, string>
  accounts: Map<string, string>
}

export type RecordKind = 'table' | 'key' | 'account'

export interface Inspection extends Manifest {
  /** How many are missing, changed, or older than what was written last. */
  spoilt: Record<RecordKind, number>
}

/** What one publication touched. A proxy drops what is named and reads it again when needed. */
export interface Change {
  epoch: number
  generation: number
  /** True: read the table again. */
  table: boolean
  /** SHA-256 of the keys written or removed. */
  keys: readonly string[]
  accounts: readonly string[]
}

/** Changes may have been missed: read everything again. */
export interface Gap {
  gap: true
}

export interface Heartbeat {
  /** Name of the proxy process, unique among those alive. */
  proxy: string
  epoch: number
  /** The generation that it serves: all publications up to it are in force there. */
  generation: number
  /** Channels whose last attempt there failed, at most MAX_TROUBLES; absent when all are well. */
  troubles?: readonly ChannelTrouble[]
}

export const MAX_TROUBLES = 64

export interface ChannelTrouble {
  /** namespace/name */
  channel: string
  lastFailure: FailureClass
  /** Milliseconds since the epoch. */
  since: number
  /** It rests at this proxy. */
  ejected: boolean
}

/** Which channel a session used last. May be lost at any time without harm. */
export interface AffinityStore {
  get(session: string): Promise<string | undefined>
  set(session: string, channel: string, ttlMs: number): Promise<void>
}

/** State of conversations, and the request log. */
export interface StateStore {
  /** Ids are made up by upstreams: each owner has its own, also where another has one that is the same. */
  putResponse(owner: string, id: string, binding: ResponseBinding, ttlMs: number): Promise<void>
  /** Rejects with RecordUnreadable. */
  response(owner: string, id: string): Promise<ResponseBinding | undefined>
  /** A binding that is still there lives for `ttlMs` at least; one that is gone stays so. */
  keepResponse(owner: string, id: string, ttlMs: number): Promise<void>
  removeResponse(owner: string, id: string): Promise<void>
  /** Keeps an exchange for `ttlMs`. `full`: it is larger than the room that is left, and nothing is kept. */
  putExchange(
    owner: string,
    exchange: Exchange,
    ttlMs: number,
    room: ConversationRoom,
  ): Promise<'kept' | 'full'>
  /**
   * The exchanges from the root of the chain to `id`, oldest first, which then live for `ttlMs` again; undefined when one
   * of them is gone, unreadable or another owner's, or when there are more than `most`.
   */
  exchanges(
    owner: string,
    root: string,
    id: string,
    ttlMs: number,
    most: number,
  ): Promise<Exchange[] | undefined>
  /** One exchange alone, which then lives for `ttlMs` again; undefined when it is gone, unreadable or another owner's. */
  exchange(owner: string, root: string, id: string, ttlMs: number): Promise<Exchange | undefined>
  /** Forgets one exchange, and gives its room back. */
  removeExchange(owner: string, root: string, id: string): Promise<void>
  /** Appends a line to the capped log. */
  appendLog(line: string): Promise<void>
  /** The newest lines, newest first, at most `count`. */
  recentLog(count: number): Promise<string[]>
}

/**
 * Where a response lives, so that the next one of its chain finds the way. It is stored under its owner, who alone may
 * continue the chain: objectId of the account, or of the key when it has none.
 */
export interface ResponseBinding {
  channel: string
  upstreamId: string
  /** True: the upstream keeps the conversation, and goes on by `upstreamId`. */
  native: boolean
  /** Tokens that the upstream holds as context of this response. */
  contextTokens: number
  /** First response of the chain. */
  root: string
  parent?: string | undefined
}

/** What one response added to its conversation. */
export interface Exchange {
  id: string
  /** First response of the chain. */
  root: string
  parent?: string
  /** JSON text; a shared store seals it. */
  text: string
}

/** What conversations may take, in UTF-8 bytes of their texts. */
export interface ConversationRoom {
  exchangeBytes: number
  /** Of all that one owner has stored. */
  ownerBytes: number
}
