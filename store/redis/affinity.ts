import type { AffinityStore } from '../contract.ts'
import { affinityKey } from '../keys.ts'
import type { RedisConnection } from './connection.ts'
import { lifetime } from './lifetime.ts'
import { stored } from './replies.ts'

export function createRedisAffinity(connection: RedisConnection): AffinityStore {
  return {
    async get(session) {
      return stored.parse(await connection.command(['GET', affinityKey(session)])) ?? undefined
    },
    async set(session, name, ttlMs) {
      await connection.command(['SET', affinityKey(session), name, 'PX', lifetime(ttlMs)])
    },
  }
}
