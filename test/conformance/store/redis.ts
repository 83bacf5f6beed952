/** Stores in real Redis servers whose clock moves only when a test moves it; one server serves all tests of a file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../../contract/log.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { type KeyRing, readKeyRing } from '../../../store/sealing.ts'
import { createClock, startRedis, startRedisCluster } from '../../harness/redis.ts'
import type { CreateStore } from './under-test.ts'

export const silent: Log = { info: () => {}, warn: () => {}, error: () => {} }

export interface RedisUnderTest {
  /** An empty store. */
  create: CreateStore
  stop(): Promise<void>
}

/** One server. */
export async function redisUnderTest(): Promise<RedisUnderTest> {
  const clock = createClock()
  const server = await startRedis({ clock })
  const flush = async () => void (await server.command('FLUSHALL'))
  return underTest({ url: server.url, advance: clock.advance, flush }, async () => {
    await server.stop()
    clock.remove()
  })
}

/** Three servers. */
export async function clusterUnderTest(): Promise<RedisUnderTest> {
  const clock = createClock()
  // If a clock jumped, every node would take the others for dead.
  const cluster = await startRedisCluster({ clock, args: ['--cluster-node-timeout', '100000000'] })
  return underTest({ url: cluster.url, advance: clock.advance, flush: cluster.flush }, async () => {
    await cluster.stop()
    clock.remove()
  })
}

interface Server {
  url: string
  advance(ms: number): void
  flush(): Promise<void>
}

function underTest({ url, advance, flush }: Server, end: () => Promise<void>): RedisUnderTest {
  const sealing = keyRing(`one:${Buffer.alloc(32, 1).toString('base64')}`)
  return {
    async create() {
      await flush()
      // Other tests check the store's time limits; here a slow machine must not fail it.
      const store = createRedisStore({
        url,
        sealing,
        log: silent,
        instance: 'test',
        commandTimeoutMs: 10_000,
      })
      return { store, advance: async (ms) => advance(ms), dispose: () => store.close() }
    },
    stop: end,
  }
}

/** A ring from a file with these lines. */
export function keyRing(...lines: string[]): KeyRing {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-keys-'))
  const file = join(dir, 'keys')
  writeFileSync(file, lines.join('\n'))
  try {
    return readKeyRing(file, silent)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
