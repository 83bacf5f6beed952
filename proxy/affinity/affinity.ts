/**
 * Remembers which channel served a session of a client, or state that only its upstream can read. It is only a hint: an
 * entry may be lost at any time, and a store that is away counts as empty.
 */
import { hash } from 'node:crypto'
import type { AffinityStore } from '../../store/contract.ts'

/** `session`: the client's name for its conversation. `state`: text of an answer that only its upstream can read. */
export type AffinityKind = 'session' | 'state'

/** Something of a client that one channel served. */
interface AffinityEntry {
  kind: AffinityKind
  owner: string
  name: string
}

export interface Affinity {
  /** namespace/name of the channel, if one is known. Never rejects. */
  channel(kind: AffinityKind, owner: string, name: string): Promise<string | undefined>
  /** True when there is an entry for this owner. Rejects with StoreUnavailable. */
  knows(kind: AffinityKind, owner: string, name: string): Promise<boolean>
  /** Resolves when all proxies can read the entry, or when the store does not take it. Never rejects. */
  note(entry: AffinityEntry, channel: string, ttlMs: number): Promise<void>
}

export function createAffinity(store: AffinityStore): Affinity {
  return {
    channel: (kind, owner, name) => store.get(keyOf(kind, owner, name)).catch(() => undefined),
    knows: async (kind, owner, name) => (await store.get(keyOf(kind, owner, name))) !== undefined,
    note: ({ kind, owner, name }, channel, ttlMs) =>
      store.set(keyOf(kind, owner, name), channel, ttlMs).catch(() => undefined),
  }
}

/** The owner is part of the key: equal names of two owners are different sessions. */
function keyOf(kind: AffinityKind, owner: string, name: string): string {
  return `${kind}:${owner}:${hash('sha256', name, 'hex')}`
}
