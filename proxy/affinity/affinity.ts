/**
 * Remembers which channel something of a client was served by: a session, or state that only that upstream can read. A
 * hint: it may be lost at any time, and a store that is away is as one that knows nothing.
 */
import { hash } from 'node:crypto'
import type { AffinityStore } from '../../store/contract.ts'

/** `session`: what the client calls its conversation. `state`: text of an answer that only its upstream can read. */
export type AffinityKind = 'session' | 'state'

/** Something of a client that one channel served. */
export interface AffinityEntry {
  kind: AffinityKind
  owner: string
  name: string
}

export interface Affinity {
  /** namespace/name of the channel, if one is known. Never rejects. */
  channel(kind: AffinityKind, owner: string, name: string): Promise<string | undefined>
  /** Whether it was noted for this owner. Rejects with StoreUnavailable. */
  knows(kind: AffinityKind, owner: string, name: string): Promise<boolean>
  /** Resolves when any proxy knows it, or when the store does not take it. Never rejects. */
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

/** Owners never meet: what one calls its session means nothing to another. */
function keyOf(kind: AffinityKind, owner: string, name: string): string {
  return `${kind}:${owner}:${hash('sha256', name, 'hex')}`
}
