/** What a store in Redis says about its servers: what they may evict, and what outlives a restart. */
import { mkdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Keeping, type Store, StoreUnavailable } from '../../../store/contract.ts'
import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { savesIn } from '../../../store/redis/keeping.ts'
import { until } from '../../harness/gateway.ts'
import { ROOT } from '../../harness/program.ts'
import { type RunningRedis, startRedis, startRedisCluster } from '../../harness/redis.ts'
import { keyRing, silent } from './redis.ts'

const sealing = keyRing(`one:${Buffer.alloc(32, 1).toString('base64')}`)
const storeAt = (url: string) => createRedisStore({ url, sealing, log: silent, instance: 'test' })

/** Of a store with one server. */
async function keepingAt(store: Store, port: number): Promise<Keeping | undefined> {
  const found = await store.keeping()
  expect([...found.keys()]).toEqual([`127.0.0.1:${port}`])
  return found.get(`127.0.0.1:${port}`)
}

test('the store in memory has no servers', async () => {
  expect(await createEmbeddedStore().keeping()).toEqual(new Map())
})

describe('one server', () => {
  let server: RunningRedis
  let store: Store
  /** The controller's user of docs/redis.md, which may not send CONFIG. */
  let restricted: Store
  beforeAll(async () => {
    server = await startRedis()
    const document = readFileSync(`${ROOT}/docs/redis.md`, 'utf8')
    const rules = /^user sluice-controller (.+)$/m.exec(document)?.[1] ?? ''
    await server.command('ACL', 'SETUSER', 'sluice-controller', ...rules.split(' '))
    store = storeAt(server.url)
    restricted = storeAt(`redis://sluice-controller:change-me@127.0.0.1:${server.port}`)
  })
  afterAll(async () => {
    await store.close()
    await restricted.close()
    await server.stop()
  })

  const set = (name: string, value: string) => server.command('CONFIG', 'SET', name, value)
  const one = (from: Store) => keepingAt(from, server.port)

  test.each(['noeviction', 'allkeys-lru', 'allkeys-random', 'volatile-lfu', 'volatile-ttl'])(
    'reports the policy %s as soon as it is set',
    async (policy) => {
      await set('maxmemory-policy', policy)
      expect((await one(store))?.evictionPolicy).toBe(policy)
      expect((await one(restricted))?.evictionPolicy).toBe(policy)
    },
  )

  test('persists by snapshots, by an append-only file, or not at all', async () => {
    expect((await one(store))?.persistence).toBe('none')
    await set('save', '3600 1')
    expect((await one(store))?.persistence).toBe('rdb')
    await set('save', '')
    await set('appendonly', 'yes')
    expect((await one(store))?.persistence).toBe('aof')
    expect((await one(restricted))?.persistence).toBe('aof')
    await set('appendonly', 'no')
    expect((await one(store))?.persistence).toBe('none')
  })

  test('a user without CONFIG sees the snapshots that were saved', async () => {
    const other = await startRedis({ args: ['--save', '3600', '1'] })
    const user = ['reader', 'on', '>pw', '~*', '+@all', '-@dangerous', '+info']
    await other.command('ACL', 'SETUSER', ...user)
    const reader = storeAt(`redis://reader:pw@127.0.0.1:${other.port}`)
    try {
      expect(await keepingAt(reader, other.port)).toMatchObject({ persistence: 'unknown' })
      await other.command('BGSAVE')
      const saved = async () => (await keepingAt(reader, other.port))?.persistence === 'rdb'
      await until(saved, 'the snapshot to be seen')
    } finally {
      await reader.close()
      await other.stop()
    }
  })

  test('snapshots that fail are none', async () => {
    // A file name that is a folder.
    const failing = await startRedis({ args: ['--save', '3600', '1'] })
    const own = storeAt(failing.url)
    try {
      expect(await keepingAt(own, failing.port)).toMatchObject({ persistence: 'rdb' })
      const [, dir] = (await failing.command('CONFIG', 'GET', 'dir')) as string[]
      mkdirSync(`${dir}/dump.rdb`, { recursive: true })
      await failing.command('BGSAVE')
      const failed = async () => (await keepingAt(own, failing.port))?.persistence === 'none'
      await until(failed, 'the failed snapshot to be seen')
    } finally {
      await own.close()
      await failing.stop()
    }
  })

  test('a user without INFO learns nothing', async () => {
    await server.command('ACL', 'SETUSER', 'blind', 'on', '>pw', '~*', '+@all', '-info', '-config')
    const blind = storeAt(`redis://blind:pw@127.0.0.1:${server.port}`)
    try {
      // The client says on the console that it cannot see whether the server is loading.
      vi.spyOn(console, 'warn').mockImplementation(() => {})
      expect(await one(blind)).toEqual({ evictionPolicy: undefined, persistence: 'unknown' })
    } finally {
      await blind.close()
    }
  })

  test('a server that is away rejects', async () => {
    const gone = await startRedis()
    const own = storeAt(gone.url)
    await own.keeping()
    await gone.stop()
    await expect(own.keeping()).rejects.toThrow(StoreUnavailable)
    await own.close()
  })
})

describe('what INFO shows without the save points', () => {
  const NOW_S = 1_900_000_000
  const info = (changes: number, ageS: number, more: Record<string, string> = {}) =>
    new Map(
      Object.entries({
        server_time_usec: `${NOW_S}000000`,
        rdb_last_save_time: `${NOW_S - ageS}`,
        rdb_changes_since_last_save: `${changes}`,
        rdb_bgsave_in_progress: '0',
        rdb_saves: '0',
        ...more,
      }),
    )

  test.each([
    ['nothing was saved yet', info(5, 600), 'unknown'],
    ['a snapshot was saved', info(5, 600, { rdb_saves: '1' }), 'rdb'],
    ['changes wait for hours', info(5, 7_201), 'none'],
    ['changes wait for hours after a snapshot', info(5, 7_201, { rdb_saves: '1' }), 'none'],
    ['nothing has changed for hours', info(0, 90_000, { rdb_saves: '1' }), 'rdb'],
    ['a long snapshot is under way', info(5, 7_201, { rdb_saves: '1', rdb_bgsave_in_progress: '1' }), 'rdb'],
    ['nothing of it is reported', new Map<string, string>(), 'unknown'],
  ])('%s', (_, fields, expected) => {
    expect(savesIn(fields)).toBe(expected)
  })
})

describe('a Cluster', () => {
  test('reports each primary, and which does not answer', async () => {
    const cluster = await startRedisCluster()
    const store = storeAt(cluster.url)
    try {
      const [first, second, third] = cluster.nodes
      await second?.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
      await third?.command('CONFIG', 'SET', 'appendonly', 'yes')
      const at = (node: RunningRedis | undefined) => `127.0.0.1:${node?.port}`
      const found = await store.keeping()
      expect([...found.keys()].sort()).toEqual(cluster.nodes.map(at).sort())
      expect(found.get(at(first))).toEqual({ evictionPolicy: 'noeviction', persistence: 'none' })
      expect(found.get(at(second))).toMatchObject({ evictionPolicy: 'allkeys-lru' })
      expect(found.get(at(third))).toMatchObject({ persistence: 'aof' })
      first?.pause()
      const others = await store.keeping()
      first?.resume()
      expect([...others.keys()].sort()).toEqual([...found.keys()].sort())
      expect(others.get(at(first))).toBeUndefined()
      expect(others.get(at(second))).toMatchObject({ evictionPolicy: 'allkeys-lru' })
    } finally {
      await store.close()
      await cluster.stop()
    }
  })
})
