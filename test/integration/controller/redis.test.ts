/** The controller with a real Redis that loses everything, and with very many keys. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyHash, objectId } from '../../../contract/ids.ts'
import { testNote } from '../../../proxy/ledger/testing.ts'
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
  const spent = async (account: string, actual: number) => {
    await store.ledger.reserve(reservation(account, 'r1'))
    await store.ledger.settle({ account, id: 'r1', note: testNote(), actual, reservedAt: Date.now() })
    await store.ledger.touch([account])
  }
  const reservation = (account: string, id: string) => ({
    ...{ account, id, amount: 10, seen: 0, enforced: true, overdraft: 0, leaseMs: 60_000 },
    note: testNote(),
  })
  const posted = async (name: string) => (await store.ledger.balance(objectId(world.namespace, name)))?.posted

  it('gets tables, keys and balances back', async () => {
    world.proxy(store)
    await leads(world.start({ store, instance: 'one' }))
    await world.secret('client', { key: KEY })
    await world.apply('Account', 'team', {})
    await world.apply('Account', 'empty', {})
    await world.apply('Account', 'unspent', {})
    await world.apply('Credit', 'start', { accountRef: { name: 'team' }, amount: '5' })
    await world.apply('Credit', 'deleted', { accountRef: { name: 'team' }, amount: '2' })
    await world.apply('Credit', 'unspent', { accountRef: { name: 'unspent' }, amount: '3' })
    await world.apply('Channel', 'local', { type: 'chat_completion', baseURL: 'http://127.0.0.1:9/v1' })
    await world.apply('ModelRoute', 'small', { model: 'small', channels: [{ name: 'local' }], free: true })
    await world.apply('ApiKey', 'alice', { secretRef: { name: 'client' }, accountRef: { name: 'team' } })
    await world.becomes('ApiKey', 'alice', 'Ready', 'True Ready')
    await world.becomes('ModelRoute', 'small', 'Ready', 'True Ready')
    for (const name of ['start', 'deleted', 'unspent'])
      await world.becomes('Credit', name, 'Ready', 'True Ready')
    await spent(objectId(world.namespace, 'team'), 1_000_000_000)
    await until(async () => (await world.get('Account', 'team')).status.spent === '1', 'the status', 30_000)
    await world.remove('Credit', 'deleted')
    const epoch = (await store.config.position()).epoch

    await redis.command('FLUSHALL')
    await until(() => store.config.key(keyHash(KEY)), 'the key to be back')
    expect((await store.config.table())?.table.namespaces[world.namespace]?.routes).toHaveLength(1)
    expect((await store.config.position()).epoch).toBeGreaterThan(epoch)
    await until(async () => (await posted('team')) === 6_000_000_000, 'the balance', 30_000)
    await until(async () => (await posted('unspent')) === 3_000_000_000, 'the unspent balance')
    await until(async () => (await posted('empty')) === 0, 'the empty account')
    await world.becomes('Account', 'team', 'Ready', 'True Ready')

    // A Credit that was deleted before the loss gives nothing when it is created again.
    await world.apply('Credit', 'deleted', { accountRef: { name: 'team' }, amount: '2' })
    await world.becomes('Credit', 'deleted', 'Ready', 'True AlreadyApplied')
    expect(await posted('team')).toBe(6_000_000_000)
  })

  it('and whose checkpoint is lost as well keeps accounts closed that had spent', async () => {
    world.proxy(store)
    const controller = world.start({ store, instance: 'one' })
    await leads(controller)
    await world.apply('Account', 'team', {})
    await world.apply('Credit', 'start', { accountRef: { name: 'team' }, amount: '5' })
    await world.becomes('Credit', 'start', 'Ready', 'True Ready')
    await spent(objectId(world.namespace, 'team'), 1_000_000_000)
    await until(async () => (await world.get('Account', 'team')).status.spent === '1', 'the status', 30_000)
    await controller.stop()
    const path = `/api/v1/namespaces/${world.namespace}/secrets`
    const labelSelector = 'sluice.dev/checkpoint=ledger'
    await world.kube.request({ method: 'DELETE', path, query: { labelSelector } })
    await redis.command('FLUSHALL')

    const second = world.start({ store, instance: 'two' })
    await leads(second)
    await world.becomes('Account', 'team', 'Ready', 'False LedgerLost')
    expect(await posted('team')).toBeUndefined()
    expect((await world.get('Account', 'team')).status).toMatchObject({ credited: '5', balance: '4' })
    await world.becomes('Account', 'team', 'Accepted', 'True Accepted')
    await until(async () => (await world.events('team')).includes('Warning LedgerLost'), 'an event')
    await world.apply('Account', 'fresh', {})
    await world.apply('Credit', 'fresh', { accountRef: { name: 'fresh' }, amount: '3' })
    await world.becomes('Credit', 'fresh', 'Ready', 'True Ready')
    expect(await posted('fresh')).toBe(3_000_000_000)
    expect(second.logged.some((line) => line.includes('lost the balance'))).toBe(true)
    expect(await posted('team')).toBeUndefined()
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

  const atOnce = (...commands: string[][]) => {
    const script = 'for _, command in ipairs(cjson.decode(ARGV[1])) do redis.call(unpack(command)) end'
    return redis.command('EVAL', script, '0', JSON.stringify(commands))
  }

  it.each<[string, (old: string) => string[]]>([
    ['a deleted table', () => ['DEL', TABLE]],
    ['a garbage table', () => ['SET', TABLE, 'garbage']],
    ['a table of an earlier publication', (old) => ['SET', TABLE, old]],
  ])('are repaired within seconds and reported: %s', async (_what, spoil) => {
    const { controller, old } = await published()
    expect(await count(controller, 'table')).toBe(0)
    // One comparison finds both.
    await atOnce(spoil(old), ['DEL', keyRecordKey(keyHash(KEY))])
    await expect(store.config.table()).rejects.toThrow(RecordUnreadable)
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
