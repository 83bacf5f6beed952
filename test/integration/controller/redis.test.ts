/** The controller with a real Redis that loses everything, and with very many keys. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyHash, objectId } from '../../../contract/ids.ts'
import { RecordUnreadable, type Store } from '../../../store/contract.ts'
import { keyRecordKey, TABLE } from '../../../store/keys.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { readKeyRing } from '../../../store/sealing.ts'
import { until } from '../../harness/gateway.ts'
import { type RunningRedis, startRedis } from '../../harness/redis.ts'
import { createWorld, type World } from './world.ts'

const KEY = 'sk-client-0123456789-abcdefgh'
const silent = { info() {}, warn() {}, error() {} }
const dir = mkdtempSync(join(tmpdir(), 'sluice-controller-redis-'))
let redis: RunningRedis
let store: Store
let world: World

beforeAll(async () => {
  writeFileSync(join(dir, 'keys'), `k1:${randomBytes(32).toString('base64')}\n`)
  redis = await startRedis()
})

afterAll(async () => {
  await redis.stop()
  rmSync(dir, { recursive: true })
})

beforeEach(async () => {
  await redis.command('FLUSHALL')
  const sealing = readKeyRing(join(dir, 'keys'), silent)
  store = createRedisStore({ url: redis.url, sealing, log: silent, instance: 'test' })
  world = await createWorld()
})

afterEach(async () => {
  await world.end()
  await store.close()
})

const leads = (controller: { leading(): boolean }) =>
  until(() => controller.leading(), 'the controller to lead')

describe('a Redis that lost everything', () => {
  it('gets tables and keys back, while accounts that had money stay closed', async () => {
    world.proxy(store)
    const controller = world.start({ store, instance: 'one' })
    await leads(controller)
    await world.secret('client', { key: KEY })
    await world.apply('Account', 'team', {})
    await world.apply('Account', 'empty', {})
    await world.apply('Credit', 'start', { accountRef: { name: 'team' }, amount: '5' })
    await world.apply('Channel', 'local', { type: 'chat_completion', baseURL: 'http://127.0.0.1:9/v1' })
    await world.apply('ModelRoute', 'small', { model: 'small', channels: [{ name: 'local' }], free: true })
    await world.apply('ApiKey', 'alice', { secretRef: { name: 'client' }, accountRef: { name: 'team' } })
    await world.becomes('ApiKey', 'alice', 'Ready', 'True Ready')
    await world.becomes('ModelRoute', 'small', 'Ready', 'True Ready')
    await world.becomes('Credit', 'start', 'Ready', 'True Ready')
    const team = objectId(world.namespace, 'team')
    const empty = objectId(world.namespace, 'empty')
    await until(async () => (await store.ledger.balance(empty)) !== undefined, 'the empty account')
    const epoch = (await store.config.position()).epoch

    await redis.command('FLUSHALL')
    await until(() => store.config.key(keyHash(KEY)), 'the key to be back')
    expect((await store.config.table())?.table.namespaces[world.namespace]?.routes).toHaveLength(1)
    expect((await store.config.position()).epoch).toBeGreaterThan(epoch)
    await world.becomes('Account', 'team', 'Ready', 'False LedgerLost')
    await until(async () => (await store.ledger.balance(empty)) !== undefined, 'the empty account')
    expect(await store.ledger.balance(team)).toBeUndefined()
    expect((await world.get('Account', 'team')).status).toMatchObject({ credited: '5', balance: '5' })
    await world.becomes('Account', 'team', 'Accepted', 'True Accepted')
    await until(async () => (await world.events('team')).includes('Warning LedgerLost'), 'an event')

    // Another controller learns it from the statuses and gives no money either.
    await controller.stop()
    const second = world.start({ store, instance: 'two' })
    await leads(second)
    await world.apply('Account', 'fresh', {})
    await world.apply('Credit', 'fresh', { accountRef: { name: 'fresh' }, amount: '3' })
    await world.becomes('Credit', 'fresh', 'Ready', 'True Ready')
    expect((await store.ledger.balance(objectId(world.namespace, 'fresh')))?.posted).toBe(3_000_000_000)
    await until(
      async () => second.logged.some((line) => line.includes('lost the balance')),
      'the loss to be noticed',
    )
    expect(await store.ledger.balance(team)).toBeUndefined()
    await world.becomes('Account', 'team', 'Ready', 'False LedgerLost')
  })

  it('or was down during changes has them soon after it is back', async () => {
    world.proxy(store)
    await leads(world.start({ store, instance: 'one' }))
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await world.becomes('ApiKey', 'alice', 'Ready', 'True Ready')
    redis.pause()
    try {
      await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)], disabled: true })
      await world.becomes('ApiKey', 'alice', 'Programmed', 'False Pending')
    } finally {
      redis.resume()
    }
    await until(
      async () => (await store.config.key(keyHash(KEY)).catch(() => undefined))?.disabled === true,
      'the change',
    )
    await world.becomes('ApiKey', 'alice', 'Programmed', 'True Programmed')
  })
})

describe('a Redis that may evict balances', () => {
  afterEach(() => redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction'))

  it('is reported on the Lease and on the account that waits for another policy', async () => {
    world.proxy(store)
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const controller = world.start({ store, instance: 'one' })
    await leads(controller)
    await world.apply('Account', 'team', {})
    await world.becomes('Account', 'team', 'Ready', 'False StoreEvicts')
    await world.becomes('Account', 'team', 'AtRisk', 'True StoreEvicts')
    expect(await store.ledger.balance(objectId(world.namespace, 'team'))).toBeUndefined()
    await until(async () => (await world.events('team')).includes('Warning StoreEvicts'), 'an event')
    const onLease = () => world.events('sluice-controller')
    await until(async () => (await onLease()).includes('Warning StoreRisk'), 'an event on the Lease')
    expect(await controller.metrics.registry.metrics()).toContain('sluice_store_risk{risk="evicts_all"} 1')
  })
})

describe('records changed by others', () => {
  const SPOILT = 'records in the store were removed or changed by someone else; writing them again'
  /** Between two looks at the table, which come every two seconds, so that none sees only a part of what a test spoils. */
  const FIRST_LOOK_MS = 5_000
  const route = { model: 'small', channels: [{ name: 'local' }], free: true }

  /** A controller that has published a key and a route, and the table that it published before. */
  async function published() {
    const controller = world.start({ store, instance: 'one' })
    await leads(controller)
    const since = performance.now()
    await world.apply('Channel', 'local', { type: 'chat_completion', baseURL: 'http://127.0.0.1:9/v1' })
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await until(() => store.config.key(keyHash(KEY)), 'the key')
    const old = String(await redis.command('GET', TABLE))
    await world.apply('ModelRoute', 'small', route)
    await until(routed, 'the route')
    // A new leader compares everything after two seconds.
    await until(() => performance.now() - since > FIRST_LOOK_MS, 'the first comparison to end')
    return { controller, old }
  }

  const routed = async () => {
    const table = await store.config.table().catch(() => undefined)
    return table?.table.namespaces[world.namespace]?.routes.length === 1
  }
  const count = async ({ metrics }: { metrics: { registry: Registry } }, kind: string) => {
    const text = await metrics.registry.getSingleMetricAsString('sluice_store_repairs_total')
    return Number(new RegExp(`\\{kind="${kind}"\\} (\\d+)`).exec(text)?.[1])
  }

  it.each<[string, (old: string) => Promise<unknown>]>([
    ['a deleted table', () => redis.command('DEL', TABLE)],
    ['a garbage table', () => redis.command('SET', TABLE, 'garbage')],
    ['a table of an earlier publication', (old) => redis.command('SET', TABLE, old)],
  ])('are repaired within seconds and reported: %s', async (_what, spoil) => {
    const { controller, old } = await published()
    expect(await count(controller, 'table')).toBe(0)
    await spoil(old)
    await expect(store.config.table()).rejects.toThrow(RecordUnreadable)
    // Found together with the table.
    await redis.command('DEL', keyRecordKey(keyHash(KEY)))
    await expect(store.config.key(keyHash(KEY))).rejects.toThrow(RecordUnreadable)
    await until(routed, 'the table to be back')
    expect(await store.config.key(keyHash(KEY))).toMatchObject({ name: 'alice' })
    expect(controller.logged.filter((line) => line === SPOILT)).toHaveLength(1)
    expect([await count(controller, 'table'), await count(controller, 'key')]).toEqual([1, 1])
  })

  it('are repaired when another controller becomes leader: a deleted key record', async () => {
    const { controller } = await published()
    await controller.stop()
    await redis.command('DEL', keyRecordKey(keyHash(KEY)))
    await expect(store.config.key(keyHash(KEY))).rejects.toThrow(RecordUnreadable)
    const second = world.start({ store, instance: 'two' })
    await until(() => store.config.key(keyHash(KEY)).catch(() => undefined), 'the key to be back')
    expect(second.logged).toContain(SPOILT)
    expect([await count(second, 'table'), await count(second, 'key')]).toEqual([0, 1])
  })
})
