import { z } from 'zod'
import type { AffinityStore } from '../contract.ts'
import { affinityKey } from '../keys.ts'
import type { RedisConnection } from './connection.ts'
import { lifetime } from './lifetime.ts'

const channel = z
  .string()
  .nullable()
  .transform((text) => text ?? undefined)

export function createRedisAffinity(connection: RedisConnection): AffinityStore {
  return {
    async get(session) {
      return channel.parse(await connection.command(['GET', affinityKey(session)]))
    },
    async set(session, name, ttlMs) {
      await connection.command(['SET', affinityKey(session), name, 'PX', lifetime(ttlMs)])
    },
  }
}
