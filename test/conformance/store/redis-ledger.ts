import { createRedisConnection } from '../../../store/redis/connection.ts'
import { createRedisLedger } from '../../../store/redis/ledger.ts'
import { createClock, type RunningRedis, startRedis } from '../../harness/redis.ts'
import { createEmbedded } from './embedded.ts'
import type { StoreUnderTest } from './suite.ts'

export interface RedisLedgers {
  server: RunningRedis
  /** The store in memory with its ledger in Redis, which is emptied first. One at a time. */
  create(): Promise<StoreUnderTest>
  stop(): Promise<void>
}

/** A Redis of its own whose clock moves only when a test moves it. */
export async function startRedisLedgers(): Promise<RedisLedgers> {
  const clock = createClock()
  const server = await startRedis({ clock })
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const connection = createRedisConnection({ url: server.url, name: 'test', log, commandTimeoutMs: 10_000 })
  return {
    server,
    async create() {
      await server.command('FLUSHALL')
      const embedded = await createEmbedded()
      return {
        store: { ...embedded.store, ledger: createRedisLedger(connection) },
        async advance(ms) {
          await embedded.advance(ms)
          clock.advance(ms)
        },
        dispose: () => embedded.dispose(),
      }
    },
    async stop() {
      await connection.close()
      await server.stop()
      clock.remove()
    },
  }
}
