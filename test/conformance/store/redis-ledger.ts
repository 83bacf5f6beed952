import { KEEP_MS } from '../../../store/ledger/tombstones.ts'
import { createRedisConnection } from '../../../store/redis/connection.ts'
import { createRedisLedger } from '../../../store/redis/ledger.ts'
import { createClock, type RunningRedis, startRedis } from '../../harness/redis.ts'
import { createEmbedded } from './embedded.ts'
import type { StoreUnderTest } from './under-test.ts'

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
  let passed = 0
  const advance = (ms: number) => {
    passed += ms
    clock.advance(ms)
  }
  const connection = createRedisConnection({ url: server.url, name: 'test', log, commandTimeoutMs: 10_000 })
  return {
    server,
    async create() {
      await server.command('FLUSHALL')
      // Tombstones change buckets at the same time as in memory.
      advance(KEEP_MS - (passed % KEEP_MS))
      const embedded = await createEmbedded()
      return {
        store: { ...embedded.store, ledger: createRedisLedger(connection) },
        async advance(ms) {
          await embedded.advance(ms)
          advance(ms)
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
