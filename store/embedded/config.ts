import { LRUCache } from 'lru-cache'
import type { AccountRecord, KeyRecord, PublishedTable } from '../../contract/table/records.ts'
import type { Change, ConfigStore, Gap, Heartbeat, Manifest, RecordChanges } from '../contract.ts'
import { digest } from '../digest.ts'
import { frozenCopy } from './frozen.ts'

const MAX_PROXIES = 1_000

type Follower = (change: Change | Gap) => void

interface EmbeddedConfig extends ConfigStore {
  /** Unsubscribes all followers. */
  close(): void
}

export function createConfigStore(now: () => number): EmbeddedConfig {
  let epoch = 0
  let generation = 0
  let leader: { candidate: string; until: number } | undefined
  let table: PublishedTable | undefined
  const keys = new Map<string, KeyRecord>()
  const accounts = new Map<string, AccountRecord>()
  const beats = new LRUCache<string, { heartbeat: Heartbeat; at: number }>({ max: MAX_PROXIES })
  // One object per call of follow, so that the same listener may follow twice.
  const followers = new Set<{ listener: Follower }>()

  function announce(change: Change): void {
    for (const follower of [...followers]) {
      queueMicrotask(() => {
        if (!followers.has(follower)) return
        try {
          follower.listener(change)
        } catch {
          // A follower that throws must not affect the publisher and other followers.
        }
      })
    }
  }

  function manifest(): Manifest {
    return {
      epoch,
      generation,
      ...(table && { table: digest(table.table) }),
      keys: digests(keys),
      accounts: digests(accounts),
    }
  }

  return {
    async lead(candidate, ms) {
      if (leader === undefined || leader.candidate === candidate || leader.until <= now())
        leader = { candidate, until: now() + ms }
      return leader.candidate
    },
    async resign(candidate) {
      if (leader?.candidate === candidate) leader = undefined
    },
    async newEpoch(above = 0) {
      epoch = Math.max(epoch, above) + 1
      return epoch
    },
    async position() {
      return { epoch, generation }
    },
    async publish(publication) {
      if (publication.epoch !== epoch) return 'fenced'
      if (publication.generation <= generation) return 'stale'
      generation = publication.generation
      // Even without a new table, so that a starting proxy reads the generation that it serves.
      const current = publication.table === undefined ? table?.table : frozenCopy(publication.table)
      table = current && Object.freeze({ epoch, generation, table: current })
      write(keys, publication.keys)
      write(accounts, publication.accounts)
      announce(
        frozenCopy({
          epoch,
          generation,
          table: publication.table !== undefined,
          keys: touched(publication.keys),
          accounts: touched(publication.accounts),
        }),
      )
      return 'published'
    },
    async manifest() {
      return manifest()
    },
    async keyHashes() {
      return new Set(keys.keys())
    },
    async inspect() {
      return { ...manifest(), spoilt: { table: 0, key: 0, account: 0 } }
    },
    async intact() {
      return true
    },
    async table() {
      return table
    },
    async key(hash) {
      return keys.get(hash)
    },
    async account(id) {
      return accounts.get(id)
    },
    async follow(listener) {
      const follower = { listener }
      followers.add(follower)
      return async () => void followers.delete(follower)
    },
    async beat(heartbeat) {
      beats.set(heartbeat.proxy, { heartbeat: frozenCopy(heartbeat), at: now() })
      return { epoch, generation }
    },
    async heartbeats(withinMs) {
      const oldest = now() - withinMs
      return [...beats.values()].filter((beat) => beat.at >= oldest).map((beat) => beat.heartbeat)
    },
    async retire(proxy) {
      beats.delete(proxy)
    },
    close() {
      followers.clear()
    },
  }
}

function write<R>(records: Map<string, R>, changes: RecordChanges<R>): void {
  for (const id of changes.remove) records.delete(id)
  for (const [id, record] of changes.put) records.set(id, frozenCopy(record))
}

function touched(changes: RecordChanges<unknown>): string[] {
  return [...changes.put.keys(), ...changes.remove]
}

function digests(records: ReadonlyMap<string, unknown>): Map<string, string> {
  return new Map([...records].map(([id, record]) => [id, digest(record)]))
}
