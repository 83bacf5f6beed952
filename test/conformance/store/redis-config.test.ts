/** Faults of tables and records that only a shared store outside of the process can have. */
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type Change,
  type ConfigStore,
  type Gap,
  RecordUnreadable,
  type Store,
} from '../../../store/contract.ts'
import { digest } from '../../../store/digest.ts'
import {
  accountRecordKey,
  CHANGES,
  keyRecordKey,
  LOG,
  MANIFEST,
  PROXIES,
  TABLE,
} from '../../../store/keys.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { type KeyRing, readKeyRing } from '../../../store/sealing.ts'
import { until } from '../../harness/gateway.ts'
import { type Clock, createClock, type RunningRedis, startRedis } from '../../harness/redis.ts'
import { accountOf, keyOf, publication, tableOf } from './fixtures.ts'
import { keyRing, silent } from './redis.ts'

const ONE = `one:${Buffer.alloc(32, 1).toString('base64')}`
const TWO = `two:${Buffer.alloc(32, 2).toString('base64')}`

let clock: Clock
let server: RunningRedis
let stores: Store[]
beforeAll(async () => {
  clock = createClock()
  server = await startRedis({ clock })
})
afterAll(async () => {
  await server.stop()
  clock.remove()
})
beforeEach(async () => {
  await server.command('FLUSHALL')
  stores = []
})
afterEach(async () => {
  for (const store of stores) await store.close()
})

function open(sealing: KeyRing = keyRing(ONE), logCapacity?: number): Store {
  const store = createRedisStore({
    url: server.url,
    sealing,
    log: silent,
    instance: 'test',
    logCapacity,
    // Without this, a slow test machine would fail the store.
    commandTimeoutMs: 10_000,
  })
  stores.push(store)
  return store
}

const put = (...names: string[]) => ({
  put: new Map(names.map((name) => [`hash-${name}`, keyOf(name)])),
  remove: [],
})

/** Replaces the record by an envelope and notes it in the manifest as if published. */
async function forge(key: string, field: string, sealed: string): Promise<void> {
  await server.command('SET', key, sealed)
  await server.command('HSET', MANIFEST, field, `one ${'0'.repeat(64)} ${hash('sha1', sealed, 'hex')}`)
}

async function followed({ config }: Store): Promise<(Change | Gap)[]> {
  const seen: (Change | Gap)[] = []
  await config.follow((change) => void seen.push(change))
  return seen
}

describe('sealing', () => {
  test('stored data reveals nothing', async () => {
    const { config } = open()
    const epoch = await config.newEpoch()
    const accounts = { put: new Map([['a1', accountOf('team')]]), remove: [] }
    await config.publish(publication(epoch, 1, { table: tableOf('small'), keys: put('alice'), accounts }))
    for (const key of [TABLE, keyRecordKey('hash-alice'), 'sluice:{cfg}:account:a1']) {
      const sealed = JSON.parse(String(await server.command('GET', key)))
      expect(Object.keys(sealed)).toEqual(['kid', 'iv', 'ct'])
    }
  })

  test('a record moved to the place of another is not read', async () => {
    const { config } = open()
    await config.publish(publication(await config.newEpoch(), 1, { keys: put('alice', 'bob') }))
    const alice = String(await server.command('GET', keyRecordKey('hash-alice')))
    await forge(keyRecordKey('hash-bob'), 'key:hash-bob', alice)
    await expect(config.key('hash-bob')).rejects.toThrow(/sealed for another name/)
    expect(await config.key('hash-alice')).toEqual(keyOf('alice'))
  })

  test.each([
    ['cut short', (sealed: string) => sealed.slice(0, -9)],
    ['empty', () => ''],
    ['in clear', () => JSON.stringify(keyOf('mallory'))],
    ['of an unknown version', () => ring.seal(keyRecordKey('hash-a'), '{"version":2}')],
    ['of another type', () => ring.seal(keyRecordKey('hash-a'), '[]')],
  ])('a record that is %s is unreadable, never absent', async (_what, change) => {
    const { config } = open(ring)
    await config.publish(publication(await config.newEpoch(), 1, { keys: put('a') }))
    const key = keyRecordKey('hash-a')
    await forge(key, 'key:hash-a', change(String(await server.command('GET', key))))
    await expect(config.key('hash-a')).rejects.toThrow(RecordUnreadable)
  })

  test('an inspection reports a table that does not open, whatever the manifest says', async () => {
    const { config } = open()
    await config.publish(publication(await config.newEpoch(), 1, { table: tableOf('small') }))
    await forge(TABLE, 'table', 'spoilt')
    await expect(config.table()).rejects.toThrow(RecordUnreadable)
    const { table, spoilt } = await config.inspect()
    expect(table).not.toMatch(/^[0-9a-f]{64}$/)
    expect(spoilt).toEqual({ table: 1, key: 0, account: 0 })
  })

  test('rotation: add a key, make it the first, rewrite what differs, remove the old key', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-rotation-'))
    const file = join(dir, 'keys')
    const ringOf = (...lines: string[]) => {
      writeFileSync(file, lines.join('\n'))
      return readKeyRing(file, silent)
    }
    try {
      const before = open(ringOf(ONE)).config
      const proxy = open(ringOf(ONE, TWO)).config
      const accounts = { put: new Map([['a1', accountOf('team')]]), remove: [] }
      const all = { table: tableOf('small'), keys: put('alice', 'bob'), accounts }
      const epoch = await before.newEpoch()
      await before.publish(publication(epoch, 1, all))

      const after = open(ringOf(TWO, ONE)).config
      const differs = await after.manifest()
      expect(differs.table).not.toBe(digest(tableOf('small')))
      expect([...differs.keys.keys(), ...differs.accounts.keys()].sort()).toEqual([
        'a1',
        'hash-alice',
        'hash-bob',
      ])
      for (const [id, stored] of [...differs.keys, ...differs.accounts])
        expect(stored, id).not.toMatch(/^[0-9a-f]{64}$/)
      expect(await after.key('hash-alice')).toEqual(keyOf('alice'))

      await after.publish(publication(epoch, 2, all))
      expect(await after.manifest()).toEqual({
        epoch,
        generation: 2,
        table: digest(tableOf('small')),
        keys: new Map(['alice', 'bob'].map((name) => [`hash-${name}`, digest(keyOf(name))])),
        accounts: new Map([['a1', digest(accountOf('team'))]]),
      })
      expect(await proxy.key('hash-alice')).toEqual(keyOf('alice'))
      const last = open(ringOf(TWO)).config
      expect((await last.table())?.table).toEqual(tableOf('small'))
      expect(await last.key('hash-bob')).toEqual(keyOf('bob'))
      await expect(before.key('hash-bob')).rejects.toThrow(RecordUnreadable)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

describe("changes behind the store's back", () => {
  const accounts = { put: new Map([['a1', accountOf('team')]]), remove: [] }
  const all = { table: tableOf('new'), keys: put('alice', 'bob'), accounts }
  const NOT_REAL = expect.not.stringMatching(/^[0-9a-f]{64}$/)

  async function published(): Promise<{ config: ConfigStore; epoch: number; old: string }> {
    const { config } = open()
    const epoch = await config.newEpoch()
    await config.publish(publication(epoch, 5, { ...all, table: tableOf('old') }))
    const old = String(await server.command('GET', TABLE))
    await config.publish(publication(epoch, 6, { table: tableOf('new') }))
    return { config, epoch, old }
  }

  test.each<[string, (key: string) => Promise<unknown>]>([
    ['was deleted', (key) => server.command('DEL', key)],
    ['is garbage', (key) => server.command('SET', key, 'garbage')],
    ['is not a string', (key) => server.command('DEL', key).then(() => server.command('LPUSH', key, 'x'))],
  ])(
    'a record that %s is unreadable, never absent, and is repaired by writing it again',
    async (_what, spoil) => {
      const { config, epoch } = await published()
      await spoil(keyRecordKey('hash-alice'))
      await spoil(accountRecordKey('a1'))
      for (const { key, account } of [config, open().config]) {
        await expect(key('hash-alice')).rejects.toThrow(RecordUnreadable)
        await expect(account('a1')).rejects.toThrow(RecordUnreadable)
        expect(await key('hash-bob')).toEqual(keyOf('bob'))
        expect(await key('hash-unknown')).toBeUndefined()
      }
      const { keys, accounts, spoilt, table } = await config.inspect()
      expect([...keys].sort()).toEqual([
        ['hash-alice', NOT_REAL],
        ['hash-bob', digest(keyOf('bob'))],
      ])
      expect([...accounts]).toEqual([['a1', NOT_REAL]])
      expect({ table, spoilt }).toEqual({
        table: digest(tableOf('new')),
        spoilt: { table: 0, key: 1, account: 1 },
      })
      await config.publish(publication(epoch, 7, { keys: put('alice'), accounts: all.accounts }))
      expect(await config.key('hash-alice')).toEqual(keyOf('alice'))
      expect((await config.inspect()).spoilt).toEqual({ table: 0, key: 0, account: 0 })
    },
  )

  test('the missing ones of hundreds of records are found', async () => {
    const { config } = open()
    const names = Array.from({ length: 450 }, (_, n) => `key-${n}`)
    const missing = names.filter((_, n) => n % 3 === 0)
    await config.publish(publication(await config.newEpoch(), 1, { keys: put(...names) }))
    await server.command('DEL', ...missing.map((name) => keyRecordKey(`hash-${name}`)))
    const { keys, spoilt } = await config.inspect()
    expect(spoilt).toEqual({ table: 0, key: 150, account: 0 })
    const expected = names.map((name) => [
      `hash-${name}`,
      missing.includes(name) ? NOT_REAL : digest(keyOf(name)),
    ])
    expect([...keys].sort()).toEqual(expected.sort())
  })

  test.each<[string, (old: string) => Promise<unknown>]>([
    ['was deleted', () => server.command('DEL', TABLE)],
    ['is garbage', () => server.command('SET', TABLE, 'garbage')],
    ['is outdated', (old) => server.command('SET', TABLE, old)],
    ['is not a string', () => server.command('DEL', TABLE).then(() => server.command('LPUSH', TABLE, 'x'))],
  ])('a table that %s is unreadable, even to a new reader, and is noticed', async (_what, spoil) => {
    const { config, epoch, old } = await published()
    expect(await config.intact()).toBe(true)
    await spoil(old)
    expect(await config.intact()).toBe(false)
    for (const { table } of [config, open().config]) await expect(table()).rejects.toThrow(RecordUnreadable)
    const { table, spoilt } = await config.inspect()
    expect({ table, spoilt }).toEqual({ table: NOT_REAL, spoilt: { table: 1, key: 0, account: 0 } })
    await config.publish(publication(epoch, 7, { table: tableOf('new') }))
    expect(await config.intact()).toBe(true)
    expect((await open().config.table())?.table).toEqual(tableOf('new'))
  })

  test('a revoked key whose record is copied back is not read', async () => {
    const { config, epoch } = await published()
    const alice = String(await server.command('GET', keyRecordKey('hash-alice')))
    await config.publish(publication(epoch, 7, { keys: { put: new Map(), remove: ['hash-alice'] } }))
    await server.command('SET', keyRecordKey('hash-alice'), alice)
    await expect(config.key('hash-alice')).rejects.toThrow(RecordUnreadable)
  })
})

describe('publications', () => {
  test('ten thousand keys at once are announced as too many to name', async () => {
    const store = open()
    const { config } = store
    const epoch = await config.newEpoch()
    const seen = await followed(store)
    const names = Array.from({ length: 10_000 }, (_, i) => `k${i}`)
    expect(await config.publish(publication(epoch, 1, { keys: put(...names) }))).toBe('published')
    expect((await config.manifest()).keys.size).toBe(10_000)
    expect((await config.keyHashes()).size).toBe(10_000)
    await server.command('DEL', keyRecordKey('hash-k17'))
    const { keys, spoilt } = await config.inspect()
    expect([keys.size, spoilt.key]).toEqual([10_000, 1])
    expect(await config.key('hash-k9999')).toEqual(keyOf('k9999'))
    await until(() => seen.length > 0, 'the announcement')
    // A follower that got no answer in time, on a machine that stalls, reports a gap of its own.
    expect(seen).toEqual(seen.map(() => ({ gap: true })))
    const remove = names.map((name) => `hash-${name}`)
    await config.publish(publication(epoch, 2, { keys: { put: new Map(), remove } }))
    expect((await config.manifest()).keys.size).toBe(0)
    expect(await server.command('KEYS', keyRecordKey('*'))).toEqual([])
  })

  test('a thousand keys are named', async () => {
    const store = open()
    const epoch = await store.config.newEpoch()
    const seen = await followed(store)
    const names = Array.from({ length: 1_000 }, (_, i) => `k${i}`)
    await store.config.publish(publication(epoch, 1, { keys: put(...names) }))
    await until(() => seen.length > 0, 'the announcement')
    expect(seen).toMatchObject([{ generation: 1, keys: names.map((name) => `hash-${name}`) }])
  })

  test('two leaders: of concurrent publications none of the older leader is accepted', async () => {
    const older = open().config
    const newer = open().config
    const old = await older.newEpoch()
    const epoch = await newer.newEpoch()
    const replies = await Promise.all([
      older.publish(publication(old, 100, { keys: put('old') })),
      newer.publish(publication(epoch, 5, { keys: put('new') })),
      older.publish(publication(old, 101, { keys: put('old') })),
    ])
    expect(replies).toEqual(['fenced', 'published', 'fenced'])
    expect([...(await newer.manifest()).keys.keys()]).toEqual(['hash-new'])
  })

  test('a generation in milliseconds keeps its digits', async () => {
    const { config } = open()
    const generation = 1_800_000_000_123
    const epoch = await config.newEpoch(9_007_199_254_740_000)
    expect(epoch).toBe(9_007_199_254_740_001)
    await config.publish(publication(epoch, generation, { table: tableOf('small') }))
    expect(await config.position()).toEqual({ epoch, generation })
    expect(await config.publish(publication(epoch, generation))).toBe('stale')
    expect(await config.table()).toMatchObject({ epoch, generation })
    await config.beat({ proxy: 'p', epoch, generation })
    expect(await config.heartbeats(1_000)).toEqual([{ proxy: 'p', epoch, generation }])
  })
})

describe('following', () => {
  test('a trimmed announcement is a gap', async () => {
    const store = open()
    const epoch = await store.config.newEpoch()
    await store.config.publish(publication(epoch, 1))
    const seen = await followed(store)
    for (const generation of [3, 4]) {
      const fields = ['epoch', epoch, 'generation', generation, 'before', generation - 1, 'touched', NOTHING]
      await server.command('XADD', CHANGES, '*', ...fields)
    }
    await until(() => seen.length === 2, 'both announcements')
    expect(seen).toEqual([{ gap: true }, { epoch, generation: 4, table: false, keys: [], accounts: [] }])
  })

  test('an unreadable announcement is a gap', async () => {
    const store = open()
    const seen = await followed(store)
    await server.command('XADD', CHANGES, '*', 'from', 'the future')
    await until(() => seen.length > 0, 'a gap')
    expect(seen).toEqual([{ gap: true }])
  })

  test.each([
    ['later', 1_000],
    ['in the same millisecond', 0],
    ['by a clock that was set back', -1_000],
  ])('a wipe is a gap if the first publication after it comes %s', async (_when, ms) => {
    const store = open()
    const { config } = store
    await config.publish(publication(await config.newEpoch(), 5))
    const seen = await followed(store)
    clock.advance(ms)
    await server.command('FLUSHALL')
    await config.publish(publication(await config.newEpoch(), 6))
    const look = () => {
      // The server's clock ends a blocking read.
      clock.advance(100)
      return seen.length > 0
    }
    await until(look, 'a gap')
    expect(seen).toEqual([{ gap: true }])
  })
})

test('an unreadable heartbeat hides no other', async () => {
  const { config } = open()
  await config.beat({ proxy: 'one', epoch: 1, generation: 5 })
  await server.command('HSET', PROXIES, 'odd', 'what another version writes')
  expect(await config.heartbeats(60_000)).toEqual([{ proxy: 'one', epoch: 1, generation: 5 }])
})

test('old heartbeats are dropped when a new proxy appears', async () => {
  const { config } = open()
  await config.beat({ proxy: 'old', epoch: 1, generation: 1 })
  clock.advance(61_000)
  await config.beat({ proxy: 'new', epoch: 1, generation: 1 })
  expect(await server.command('HKEYS', PROXIES)).toEqual(['new'])
})

test('the request log keeps its newest lines and drops old ones', async () => {
  const { state } = open(keyRing(ONE), 500)
  await Promise.all(Array.from({ length: 2_000 }, (_, i) => state.appendLog(`line ${i}`)))
  expect((await state.recentLog(500)).at(-1)).toBe('line 1500')
  expect(Number(await server.command('XLEN', LOG))).toBeLessThan(1_000)
})

test('state may be on another server', async () => {
  const other = await startRedis()
  const options = { url: server.url, sealing: keyRing(ONE), log: silent, instance: 'test' }
  const store = createRedisStore({ ...options, stateUrl: other.url })
  stores.push(store)
  try {
    await store.state.appendLog('line')
    await store.affinity.set('s', 'east', 1_000)
    await store.config.newEpoch()
    expect([await server.command('DBSIZE'), await other.command('DBSIZE')]).toEqual([1, 2])
    expect(await server.command('EXISTS', MANIFEST, LOG)).toBe(0)
  } finally {
    await other.stop()
  }
})

const NOTHING = JSON.stringify({ table: false, keys: [], accounts: [] })
const ring = keyRing(ONE)
