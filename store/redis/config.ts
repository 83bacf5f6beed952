/** Sealed tables and records in Redis; every publication is one script. docs/redis.md describes the layout. */
import { z } from 'zod'
import type { Log } from '../../contract/log.ts'
import { accountRecord, keyRecord, type PublishedTable } from '../../contract/table/records.ts'
import { type ConfigStore, type Position, RecordUnreadable } from '../contract.ts'
import { accountRecordKey, EPOCH, keyRecordKey, LEADER, MANIFEST, PROXIES, TABLE } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import {
  epochReply,
  heartbeatsReply,
  intactReply,
  positionReply,
  publishReply,
  recordReply,
  tableReply,
} from './config-replies.ts'
import type { RedisConnection } from './connection.ts'
import { ChangeFollower } from './follow.ts'
import { hashesOfKeys, inspect, readManifest } from './inspect.ts'
import { lifetime } from './lifetime.ts'
import { accountField, keyField, verifyEnvelope } from './manifest.ts'
import { openRecord, TableOpener } from './open-sealed.ts'
import { publishCall } from './publication.ts'

/** Time for commands on the table, which may have megabytes. */
const LARGE_MS = 1_000
/** A publication gets more time: for a slow network (in bytes per ms) and a slow server (in records per ms). */
const SLOW_BYTES = 2_000
const SLOW_RECORDS = 5
const BEATS_KEPT_MS = 60_000

interface RedisConfig extends ConfigStore {
  /** Stops all followers. */
  close(): Promise<void>
}

/** `connect` opens a separate connection for a follower, which blocks it. */
export function createRedisConfig(
  connection: RedisConnection,
  connect: () => RedisConnection,
  ring: KeyRing,
  log: Log,
): RedisConfig {
  const followers = new Set<ChangeFollower>()
  const opener = new TableOpener(ring, TABLE)

  async function table(): Promise<PublishedTable | undefined> {
    const reply = tableReply.parse(await connection.run('config/table', [TABLE, MANIFEST], [], LARGE_MS))
    const sealed = verifyEnvelope(TABLE, reply.sealed, reply.note)
    if (sealed === undefined) return undefined
    const document = await opener.open(sealed)
    // Later publications may not have changed the table.
    return {
      epoch: reply.epoch ?? document.epoch,
      generation: reply.generation ?? document.generation,
      table: document.table,
    }
  }

  async function tableOpens(): Promise<boolean> {
    try {
      await table()
      return true
    } catch (error) {
      if (error instanceof RecordUnreadable) return false
      throw error
    }
  }

  async function record<R>(key: string, field: string, schema: z.ZodType<R>): Promise<R | undefined> {
    const reply = recordReply.parse(await connection.run('config/record', [key, MANIFEST], [field]))
    const sealed = verifyEnvelope(key, reply.sealed, reply.note)
    return sealed === undefined ? undefined : openRecord(ring, key, sealed, schema)
  }

  async function position(): Promise<Position> {
    return positionReply.parse(await connection.run('config/position', [EPOCH, MANIFEST], []))
  }

  return {
    async lead(candidate, ms) {
      return z.string().parse(await connection.run('config/lead', [LEADER], [candidate, lifetime(ms)]))
    },
    async resign(candidate) {
      await connection.run('config/resign', [LEADER], [candidate])
    },
    async newEpoch(above = 0) {
      return epochReply.parse(await connection.run('config/new-epoch', [EPOCH], [above]))
    },
    position,
    async publish(publication) {
      const { keys, args, size } = await publishCall(publication, ring)
      const timeoutMs = LARGE_MS + size / SLOW_BYTES + keys.length / SLOW_RECORDS
      return publishReply.parse(await connection.run('config/publish', keys, args, timeoutMs))
    },
    async manifest() {
      return readManifest(connection, ring, await position())
    },
    async keyHashes() {
      return hashesOfKeys(connection)
    },
    async inspect() {
      return inspect(connection, ring, await position(), tableOpens)
    },
    async intact() {
      return intactReply.parse(await connection.run('config/intact', [TABLE, MANIFEST], [], LARGE_MS))
    },
    table,
    key: (hash) => record(keyRecordKey(hash), keyField(hash), keyRecord),
    account: (id) => record(accountRecordKey(id), accountField(id), accountRecord),
    async follow(listener) {
      const follower = new ChangeFollower(connect(), listener, log)
      followers.add(follower)
      await follower.start()
      return async () => {
        followers.delete(follower)
        await follower.stop()
      }
    },
    async beat({ proxy, epoch, generation, troubles = [] }) {
      const troublesJson = troubles.length === 0 ? '' : JSON.stringify(troubles)
      const args = [proxy, epoch, generation, BEATS_KEPT_MS, troublesJson]
      // Two scripts: the ACL user of proxies may only read these keys, so that no script that writes may name them.
      const [, stored] = await Promise.all([connection.run('config/beat', [PROXIES], args), position()])
      return stored
    },
    async heartbeats(withinMs) {
      const { now, beats } = heartbeatsReply.parse(await connection.run('config/heartbeats', [PROXIES], []))
      return beats.filter(({ at }) => at >= now - withinMs).map(({ at: _, ...heartbeat }) => heartbeat)
    },
    async retire(proxy) {
      await connection.command(['HDEL', PROXIES, proxy, `${proxy} troubles`])
    },
    async close() {
      await Promise.all([...followers].map((follower) => follower.stop()))
    },
  }
}
