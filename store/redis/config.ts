/** Tables and records in Redis, sealed; every publication is one script. docs/redis.md has the layout. */
import { z } from 'zod'
import type { Log } from '../../contract/log.ts'
import { accountRecord, keyRecord, publishedTable } from '../../contract/table/records.ts'
import { type ConfigStore, type Position, RecordUnreadable } from '../contract.ts'
import { digest } from '../digest.ts'
import { accountRecordKey, EPOCH, keyRecordKey, MANIFEST, PROXIES, TABLE } from '../keys.ts'
import type { KeyRing } from '../sealing.ts'
import {
  epochReply,
  heartbeatsReply,
  manifestReply,
  positionReply,
  publishReply,
  sealedReply,
  tableReply,
} from './config-replies.ts'
import type { RedisConnection } from './connection.ts'
import { ChangeFollower } from './follow.ts'
import { digestsOf, publishCall } from './publication.ts'

/** Of what may be megabytes: the table, the manifest. */
const LARGE_MS = 1_000
/** A publication gets the time that its size takes on a slow network, in bytes a millisecond. */
const SLOW = 2_000
const BEATS_KEPT_MS = 60_000

export interface RedisConfig extends ConfigStore {
  /** Ends all following. */
  close(): Promise<void>
}

/** `connect` makes a connection for a follower alone, on which it waits. */
export function createRedisConfig(
  connection: RedisConnection,
  connect: () => RedisConnection,
  ring: KeyRing,
  log: Log,
): RedisConfig {
  const followers = new Set<ChangeFollower>()
  /** The newest publication of which the table was opened here. */
  let newest: Position = { epoch: 0, generation: 0 }

  /** The document is its own witness: epoch and generation beside it could be those of another one. */
  function openTable(sealed: string): z.output<typeof publishedTable> {
    const document = open(ring, TABLE, sealed, publishedTable)
    const { epoch, generation } = document
    if (epoch === newest.epoch && generation < newest.generation)
      throw new RecordUnreadable(
        `${TABLE} is of generation ${generation}, older than ${newest.generation} that was read`,
      )
    newest = { epoch, generation }
    return document
  }

  async function record<R>(key: string, schema: z.ZodType<R>): Promise<R | undefined> {
    const sealed = sealedReply.parse(await connection.command(['GET', key]))
    return sealed === null ? undefined : open(ring, key, sealed, schema)
  }

  async function position(): Promise<Position> {
    return positionReply.parse(await connection.run('config/position', [EPOCH, MANIFEST], []))
  }

  return {
    async newEpoch(above = 0) {
      return epochReply.parse(await connection.run('config/new-epoch', [EPOCH], [above]))
    },
    position,
    async publish(publication) {
      const { keys, args, size } = publishCall(publication, ring)
      return publishReply.parse(await connection.run('config/publish', keys, args, LARGE_MS + size / SLOW))
    },
    async manifest() {
      const reply = await connection.run('config/manifest', [EPOCH, MANIFEST, TABLE], [], LARGE_MS)
      const [epoch, fields, sealed] = manifestReply.parse(reply)
      const table = sealed === null ? {} : { table: tableDigest(ring, sealed) }
      return { epoch, ...table, ...digestsOf(fields, ring) }
    },
    async table() {
      const reply = tableReply.parse(await connection.run('config/table', [TABLE, MANIFEST], [], LARGE_MS))
      if (reply.sealed === null) return undefined
      const document = openTable(reply.sealed)
      // Publications that left the table as it was came after it.
      return {
        epoch: reply.epoch ?? document.epoch,
        generation: reply.generation ?? document.generation,
        table: document.table,
      }
    },
    key: (hash) => record(keyRecordKey(hash), keyRecord),
    account: (id) => record(accountRecordKey(id), accountRecord),
    async follow(listener) {
      const follower = new ChangeFollower(connect(), listener, log)
      followers.add(follower)
      await follower.start()
      return async () => {
        followers.delete(follower)
        await follower.stop()
      }
    },
    async beat({ proxy, epoch, generation }) {
      const args = [proxy, epoch, generation, BEATS_KEPT_MS]
      // Two scripts, because a user who may only read the rest may not name it to a script that writes.
      const [, stored] = await Promise.all([connection.run('config/beat', [PROXIES], args), position()])
      return stored
    },
    async heartbeats(withinMs) {
      const { now, beats } = heartbeatsReply.parse(await connection.run('config/heartbeats', [PROXIES], []))
      return beats
        .filter(({ at }) => at >= now - withinMs)
        .map(({ proxy, epoch, generation }) => ({ proxy, epoch, generation }))
    },
    async retire(proxy) {
      await connection.command(['HDEL', PROXIES, proxy])
    },
    async close() {
      await Promise.all([...followers].map((follower) => follower.stop()))
    },
  }
}

/** Of a table that does not open, or is under a key that seals no more, one that is equal to no other. */
function tableDigest(ring: KeyRing, sealed: string): string {
  try {
    const { text, kid } = ring.open(TABLE, sealed)
    if (kid !== ring.sealsWith()) return `sealed under ${kid}`
    return digest(publishedTable.parse(JSON.parse(text)).table)
  } catch {
    return 'unreadable'
  }
}

/** Throws RecordUnreadable, which never says what the record holds. */
function open<R>(ring: KeyRing, name: string, sealed: string, schema: z.ZodType<R>): R {
  try {
    return schema.parse(JSON.parse(ring.open(name, sealed).text))
  } catch (error) {
    throw new RecordUnreadable(`${name}: ${whatIsWrong(error)}`)
  }
}

function whatIsWrong(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [first] = error.issues
    return `does not fit at ${first?.path.join('.') || 'its root'}`
  }
  return error instanceof SyntaxError ? 'not JSON' : error instanceof Error ? error.message : 'does not open'
}
