import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { KeyRecord, TableRecord } from '../../contract/table/records.ts'
import type { Change, ConfigStore, Gap, Publication } from '../../store/contract.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import { TableFollower } from './follower.ts'
import { published, testRoute, testTable } from './testing.ts'

const NONE = { put: new Map(), remove: [] }
const MAX_AGE = 600_000
const key: KeyRecord = {
  version: 1,
  id: 'key-id',
  namespace: 'default',
  name: 'alice',
  preview: '...1234',
  disabled: false,
  models: [],
  allowedIPs: [],
}

let store: ConfigStore
let generation = 0
beforeEach(async () => {
  store = createEmbeddedStore().config
  generation = 0
  await store.newEpoch()
})
afterEach(() => vi.useRealTimers())

function tableOf(...models: string[]): TableRecord {
  return testTable(models.map((model) => testRoute(model)))
}

/** Publishes the next generation. */
async function publish(changes: Partial<Publication>): Promise<void> {
  generation += 1
  const reply = await store.publish({ epoch: 1, generation, keys: NONE, accounts: NONE, ...changes })
  expect(reply).toBe('published')
}

function keyChange(record: KeyRecord): Partial<Publication> {
  return { keys: { put: new Map([['hash', record]]), remove: [] } }
}

/** Tests of ages move it. */
let time = 0

function follow(config: ConfigStore = store) {
  const swaps: number[] = []
  const failures: unknown[] = []
  const alarms: string[] = []
  const follower = new TableFollower(
    config,
    { proxy: 'proxy-1', keyMaxAgeMs: MAX_AGE, now: () => time },
    {
      swapped: (table) => void swaps.push(table.generation),
      failed: (error) => void failures.push(error),
      unreadable: (kind) => void alarms.push(kind),
      behind: () => void alarms.push('behind'),
      keysChanged: () => undefined,
    },
  )
  onTestFinished(() => follower.stop())
  return { follower, swaps, failures, alarms }
}

function serves(follower: TableFollower, model: string): boolean {
  return follower.table.match('default', model) !== undefined
}

/** The heartbeats in the store. */
async function beaten(): Promise<number | undefined> {
  return (await store.heartbeats(60_000)).find(({ proxy }) => proxy === 'proxy-1')?.generation
}

describe('start', () => {
  test('applies the stored table, reports it, and is ready', async () => {
    await publish({ table: tableOf('a') })
    const { follower, swaps } = follow()
    expect(follower.caughtUp).toBe(false)
    await follower.start()
    expect([follower.caughtUp, serves(follower, 'a'), swaps, await beaten()]).toEqual([true, true, [1], 1])
  })

  test('without a table it is not ready and sends no heartbeat until there is one', async () => {
    const { follower } = follow()
    await follower.start()
    expect([follower.caughtUp, await beaten()]).toEqual([false, undefined])
    await publish({ table: tableOf('a') })
    await vi.waitFor(async () => expect(await beaten()).toBe(1))
    expect([follower.caughtUp, serves(follower, 'a')]).toEqual([true, true])
  })

  test('does not miss a publication during its start', async () => {
    await publish({ table: tableOf('a') })
    const { follower } = follow({
      ...store,
      async follow(listener) {
        const unfollow = await store.follow(listener)
        await publish({ table: tableOf('b') })
        return unfollow
      },
    })
    await follower.start()
    await vi.waitFor(async () => expect(await beaten()).toBe(2))
    expect(serves(follower, 'b')).toBe(true)
  })
})

describe('a change', () => {
  test('of the table replaces it as a whole', async () => {
    await publish({ table: tableOf('a') })
    const { follower, swaps } = follow()
    await follower.start()
    const before = follower.table
    await publish({ table: tableOf('b') })
    await vi.waitFor(async () => expect(await beaten()).toBe(2))
    expect([serves(follower, 'a'), serves(follower, 'b'), swaps]).toEqual([false, true, [1, 2]])
    expect(before.match('default', 'a')).toBeDefined()
  })

  test('of a key is in force before the follower reports it; the table stays', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { follower, swaps } = follow()
    await follower.start()
    expect(await follower.key('hash')).toEqual(key)
    await publish(keyChange({ ...key, disabled: true }))
    await vi.waitFor(async () => expect(await beaten()).toBe(2))
    expect((await follower.key('hash'))?.disabled).toBe(true)
    await publish({ keys: { put: new Map(), remove: ['hash'] } })
    await vi.waitFor(async () => expect(await beaten()).toBe(3))
    expect(await follower.key('hash')).toBeUndefined()
    expect(swaps).toEqual([1])
  })

  test('of a key does not wait for a table that is still being read', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config, table, announce } = scripted()
    const { follower } = follow(config)
    await follower.start()
    expect(await follower.key('hash')).toEqual(key)
    const reading = Promise.withResolvers<undefined>()
    table.mockReturnValueOnce(reading.promise)
    announce({ generation: 2, table: true })
    await vi.waitFor(() => expect(table).toHaveBeenCalledTimes(2))
    await publish(keyChange({ ...key, disabled: true }))
    announce({ generation: 3, keys: ['hash'] })
    expect((await follower.key('hash'))?.disabled).toBe(true)
    reading.resolve(undefined)
  })

  test('of an account is in force, and other accounts are not read again', async () => {
    const account = { version: 1 as const, id: 'a', namespace: 'default', name: 'team' }
    const record = { ...account, disabled: false, enforced: true, overdraft: 0 }
    const put = (changes: object) => ({ put: new Map([['a', { ...record, ...changes }]]), remove: [] })
    await publish({ table: tableOf('a'), accounts: put({}), ...keyChange(key) })
    const reads = vi.spyOn(store, 'key')
    const { follower } = follow()
    await follower.start()
    expect([(await follower.account('a'))?.overdraft, await follower.key('hash')]).toEqual([0, key])
    await publish({ accounts: put({ overdraft: 5 }) })
    await vi.waitFor(async () => expect(await beaten()).toBe(2))
    expect([(await follower.account('a'))?.overdraft, await follower.key('hash')]).toEqual([5, key])
    expect(reads).toHaveBeenCalledOnce()
  })
})

/** A store whose announcements and tables the test controls. */
function scripted() {
  let listener: (change: Change | Gap) => void = () => undefined
  const table = vi.fn(store.table)
  const config: ConfigStore = {
    ...store,
    table,
    async follow(given) {
      listener = given
      return async () => undefined
    },
  }
  const announce = (change: Partial<Change>) =>
    listener({ epoch: 1, generation: 1, table: false, keys: [], accounts: [], ...change })
  return { config, table, announce, gap: () => listener({ gap: true }) }
}

test('after a gap everything is read again', async () => {
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const { config, gap } = scripted()
  const { follower } = follow(config)
  await follower.start()
  expect(await follower.key('hash')).toEqual(key)
  await publish({ table: tableOf('b'), ...keyChange({ ...key, disabled: true }) })
  expect(serves(follower, 'a')).toBe(true)
  gap()
  await vi.waitFor(async () => expect(await beaten()).toBe(2))
  expect(serves(follower, 'b')).toBe(true)
  expect((await follower.key('hash'))?.disabled).toBe(true)
})

test('a publication during a full read is not reported as in force before its announcement', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const { config, table, announce, gap } = scripted()
  const { follower } = follow(config)
  await follower.start()
  const reading = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  table.mockImplementationOnce(async () => {
    reading.resolve()
    await go.promise
    return store.table()
  })
  gap()
  await reading.promise
  expect((await follower.key('hash'))?.disabled).toBe(false)
  await publish(keyChange({ ...key, disabled: true }))
  go.resolve()
  await vi.advanceTimersByTimeAsync(0)
  expect([table.mock.calls.length, follower.applied.generation]).toEqual([2, 1])
  announce({ generation: 2, keys: ['hash'] })
  await vi.advanceTimersByTimeAsync(0)
  expect([(await follower.key('hash'))?.disabled, await beaten()]).toEqual([true, 2])
})

describe('a table that goes back', () => {
  test.each([
    ['in its epoch is refused, with an alarm', { epoch: 2, generation: 4 }, false],
    ['to an earlier epoch is refused, with an alarm', { epoch: 1, generation: 4 }, false],
    ['to the first epoch of a store that was wiped is taken', { epoch: 1, generation: 9 }, true],
    ['in a newer epoch is taken', { epoch: 3, generation: 1 }, true],
  ])('%s', async (_, offered, taken) => {
    const { config, table, announce } = scripted()
    let stored = { epoch: 2, generation: 5 }
    table.mockImplementation(async () => published(tableOf(stored === offered ? 'b' : 'a'), stored))
    const { follower, swaps, alarms } = follow({
      ...config,
      position: async () => stored,
      beat: async (heartbeat) => {
        await store.beat(heartbeat)
        return stored
      },
    })
    await follower.start()
    stored = offered
    announce({ ...offered, table: true })
    await vi.waitFor(() => expect([...swaps.slice(1), ...alarms]).toHaveLength(1))
    expect([serves(follower, 'b'), serves(follower, 'a')]).toEqual([taken, !taken])
    expect(alarms).toEqual(taken ? [] : ['table'])
    // Only a generation that is in force may be reported.
    await vi.waitFor(async () => expect(await beaten()).toBe(taken ? offered.generation : 5))
  })
})

/** Forwards to one store until `use` replaces it by another, without an announcement. */
function replaceable() {
  let inner = store
  const listeners = new Set<(change: Change | Gap) => void>()
  const config: ConfigStore = {
    ...store,
    position: () => inner.position(),
    table: () => inner.table(),
    key: (hash) => inner.key(hash),
    account: (id) => inner.account(id),
    manifest: () => inner.manifest(),
    keyHashes: () => inner.keyHashes(),
    beat: (heartbeat) => inner.beat(heartbeat),
    heartbeats: (withinMs) => inner.heartbeats(withinMs),
    retire: (proxy) => inner.retire(proxy),
    async follow(listener) {
      listeners.add(listener)
      await store.follow(listener)
      return async () => undefined
    },
  }
  return {
    config,
    use(other: ConfigStore) {
      inner = other
    },
    gap() {
      for (const listener of listeners) listener({ gap: true })
    },
    announce(change: Change) {
      for (const listener of listeners) listener(change)
    },
  }
}

/** Refills the store as the controller does, from its own memory. */
async function refill(other: ConfigStore, changes: Partial<Publication>): Promise<void> {
  const epoch = await other.newEpoch(1)
  const reply = await other.publish({ epoch, generation: 100, keys: NONE, accounts: NONE, ...changes })
  expect(reply).toBe('published')
}

describe('a store that was emptied', () => {
  beforeEach(() =>
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
  )

  test('removes no table and no key, gives no answer for other keys, and counts again once it is refilled', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config, use, gap } = replaceable()
    const { follower, alarms, failures } = follow(config)
    await follower.start()
    expect(await follower.key('hash')).toEqual(key)
    expect(await follower.key('unknown')).toBeUndefined()

    const emptied = createEmbeddedStore().config
    use(emptied)
    // Before the follower has noticed.
    await expect(follower.key('another')).rejects.toBeInstanceOf(StoreUnavailable)
    gap()
    await vi.advanceTimersByTimeAsync(3_000)
    expect([serves(follower, 'a'), follower.caughtUp, await follower.key('hash')]).toEqual([true, true, key])
    await expect(follower.key('unknown')).rejects.toBeInstanceOf(StoreUnavailable)
    // A leader that has not published yet changes nothing.
    await emptied.newEpoch(1)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await follower.key('hash')).toEqual(key)
    await expect(follower.key('unknown')).rejects.toBeInstanceOf(StoreUnavailable)

    await refill(emptied, { table: tableOf('b'), ...keyChange({ ...key, disabled: true }) })
    await vi.advanceTimersByTimeAsync(1_000)
    expect([serves(follower, 'a'), serves(follower, 'b')]).toEqual([false, true])
    expect((await follower.key('hash'))?.disabled).toBe(true)
    expect(await follower.key('unknown')).toBeUndefined()
    expect(follower.applied).toEqual({ epoch: 3, generation: 100 })
    expect([alarms, failures]).toEqual([['behind'], []])
  })

  test('counts again as soon as its first publication is announced', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config, use, announce } = replaceable()
    const { follower, alarms } = follow(config)
    await follower.start()
    expect(await follower.key('hash')).toEqual(key)
    const emptied = createEmbeddedStore().config
    use(emptied)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(alarms).toEqual(['behind'])
    await refill(emptied, { table: tableOf('a'), ...keyChange({ ...key, disabled: true }) })
    const { epoch, generation: stored } = await emptied.position()
    announce({ epoch, generation: stored, table: true, keys: ['hash'], accounts: [] })
    // Before the next heartbeat.
    expect((await follower.key('hash'))?.disabled).toBe(true)
    expect(await follower.key('unknown')).toBeUndefined()
  })

  test('and refilled at once is noticed by its position alone', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config, use } = replaceable()
    const { follower } = follow(config)
    await follower.start()
    expect(await follower.key('hash')).toEqual(key)
    const other = createEmbeddedStore().config
    await refill(other, { table: tableOf('b') })
    use(other)
    // A key that was never looked up is looked up in the new store, not refused because the old one lacked it.
    expect(await follower.key('unknown')).toBeUndefined()
    expect([serves(follower, 'b'), await follower.key('hash')]).toEqual([true, undefined])
  })

  test('or restored from an older copy does not bring back a revoked key', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const copy = createEmbeddedStore().config
    await copy.newEpoch()
    const early = {
      put: new Map([
        ['hash', key],
        ['early', key],
      ]),
      remove: [],
    }
    await copy.publish({ epoch: 1, generation: 1, table: tableOf('a'), keys: early, accounts: NONE })
    await publish(keyChange({ ...key, disabled: true }))
    const { config, use, gap } = replaceable()
    const { follower, alarms } = follow(config)
    await follower.start()
    expect((await follower.key('hash'))?.disabled).toBe(true)
    use(copy)
    gap()
    await vi.advanceTimersByTimeAsync(2_000)
    expect((await follower.key('hash'))?.disabled).toBe(true)
    await expect(follower.key('early')).rejects.toBeInstanceOf(StoreUnavailable)
    expect(alarms).toContain('behind')
    expect(alarms).toContain('table')
  })
})

describe('without any announcement', () => {
  beforeEach(() =>
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
  )

  test('a publication is noticed from the answers to heartbeats', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config } = scripted()
    const { follower } = follow(config)
    await follower.start()
    expect(await follower.key('hash')).toEqual(key)
    await publish({ table: tableOf('b'), ...keyChange({ ...key, disabled: true }) })
    await vi.advanceTimersByTimeAsync(2_100)
    expect(serves(follower, 'b')).toBe(true)
    expect((await follower.key('hash'))?.disabled).toBe(true)
    expect(await beaten()).toBe(2)
  })

  test('a new leader with nothing to publish causes no reads', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const reads = vi.spyOn(store, 'key')
    const { follower, swaps } = follow()
    await follower.start()
    await follower.key('hash')
    await store.newEpoch()
    await vi.advanceTimersByTimeAsync(2_000)
    await follower.key('hash')
    expect([reads.mock.calls.length, swaps, follower.applied]).toEqual([1, [1], { epoch: 2, generation: 1 }])
  })
})

describe('a table that does not open', () => {
  beforeEach(() =>
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
  )

  test('leaves the last good one in force, is read again, and does not affect keys', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config, table, announce } = scripted()
    const reads = vi.spyOn(config, 'key')
    const { follower, alarms, failures } = follow(config)
    await follower.start()
    await follower.key('hash')
    table.mockRejectedValue(new RecordUnreadable('does not open'))
    await publish({ table: tableOf('b') })
    announce({ generation: 2, table: true })
    // Much longer than a record serves without confirmation.
    for (let i = 0; i < 10; i++) {
      time += MAX_AGE / 5
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect([serves(follower, 'a'), await beaten(), await follower.key('hash')]).toEqual([true, 1, key])
    expect(reads).toHaveBeenCalledOnce()
    expect([new Set(alarms), failures]).toEqual([new Set(['table']), []])
    expect(alarms.length).toBeGreaterThan(5)
    table.mockImplementation(store.table)
    await vi.advanceTimersByTimeAsync(1_000)
    expect([serves(follower, 'b'), await beaten()]).toEqual([true, 2])
  })

  test('a table that is missing alone does not count as empty', async () => {
    await publish({ table: tableOf('a') })
    const { config, table, gap } = scripted()
    const { follower, alarms } = follow(config)
    await follower.start()
    table.mockResolvedValue(undefined)
    gap()
    await vi.advanceTimersByTimeAsync(0)
    expect([serves(follower, 'a'), alarms]).toEqual([true, ['table']])
  })
})

test('the age of the knowledge counts from the last answer that confirmed it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const away = vi.fn(async () => {})
  const guarded = <A extends unknown[], R>(method: (...args: A) => Promise<R>) => {
    return async (...args: A) => {
      await away()
      return method(...args)
    }
  }
  const config = {
    ...store,
    position: guarded(store.position),
    table: guarded(store.table),
    key: guarded(store.key),
    beat: guarded(store.beat),
  }
  const { follower } = follow(config)
  await follower.start()
  await follower.key('hash')
  time += 3 * MAX_AGE
  await vi.advanceTimersByTimeAsync(1_000)
  expect([follower.ageMs, follower.reachable, await follower.key('hash')]).toEqual([0, true, key])

  away.mockRejectedValue(new StoreUnavailable('away'))
  follower.readAgain()
  time += MAX_AGE - 1
  await vi.advanceTimersByTimeAsync(1_000)
  expect([follower.ageMs, follower.reachable, follower.caughtUp]).toEqual([MAX_AGE - 1, false, true])
  expect(await follower.key('hash')).toEqual(key)
  await expect(follower.key('unknown')).rejects.toBeInstanceOf(StoreUnavailable)
  time += 1
  await expect(follower.key('hash')).rejects.toBeInstanceOf(StoreUnavailable)

  away.mockResolvedValue(undefined)
  await vi.advanceTimersByTimeAsync(1_000)
  expect([follower.reachable, await follower.key('hash'), await follower.key('unknown')]).toEqual([
    true,
    key,
    undefined,
  ])
})

test('a flood of unknown keys costs the store a bounded number of look-ups, and no good key suffers', async () => {
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const reads = vi.spyOn(store, 'key')
  const lists = vi.spyOn(store, 'keyHashes')
  const { follower } = follow()
  await follower.start()
  const flood = await Promise.all(Array.from({ length: 5_000 }, (_, i) => follower.key(`bad-${i}`)))
  expect(new Set(flood)).toEqual(new Set([undefined]))
  expect(reads).toHaveBeenCalledTimes(2_000)
  expect(lists).toHaveBeenCalledOnce()
  // Never looked up before, or created during the flood.
  expect(await follower.key('hash')).toEqual(key)
  await publish({ keys: { put: new Map([['young', key]]), remove: [] } })
  await vi.waitFor(async () => expect(await follower.key('young')).toEqual(key))
  // As long as the list is kept no key is looked up, even if the budget would allow it.
  time += 1_000
  reads.mockClear()
  for (let i = 0; i < 1_000; i++) await follower.key(`worse-${i}`)
  expect(reads).not.toHaveBeenCalled()
  expect(lists).toHaveBeenCalledOnce()
})

test('while the list is read, callers within the bound do not wait, and changes meanwhile are in it', async () => {
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const read = Promise.withResolvers<void>()
  const keyHashes = vi.fn(async () => {
    const before = await store.keyHashes()
    await read.promise
    return before
  })
  const { follower } = follow({ ...store, keyHashes })
  await follower.start()
  const ask = (from: number, to: number) =>
    Promise.all(Array.from({ length: to - from }, (_, i) => follower.key(`bad-${from + i}`)))
  expect(new Set(await ask(0, 1_999))).toEqual(new Set([undefined]))
  expect(await follower.key('hash')).toEqual(key)
  expect(keyHashes).toHaveBeenCalledOnce()
  // Beyond the bound.
  const waiting = ask(1_999, 3_000)
  await publish({ keys: { put: new Map([['young', key]]), remove: [] } })
  const young = follower.key('young')
  read.resolve()
  expect(new Set(await waiting)).toEqual(new Set([undefined]))
  expect(await young).toEqual(key)
})

test('existing keys do not count towards the bound', async () => {
  const hashes = Array.from({ length: 1_000 }, (_, i) => `good-${i}`)
  const put = new Map(hashes.map((hash) => [hash, key]))
  await publish({ table: tableOf('a'), keys: { put, remove: [] } })
  const lists = vi.spyOn(store, 'keyHashes')
  const { follower } = follow()
  await follower.start()
  for (const hash of hashes) expect(await follower.key(hash)).toEqual(key)
  expect(lists).not.toHaveBeenCalled()
})

test('while the store is away a flood gets 503, for unknown keys and for those on the list', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const beat = vi.fn(store.beat)
  const { follower } = follow({ ...store, beat })
  await follower.start()
  const bad = Array.from({ length: 1_000 }, (_, i) => `bad-${i}`)
  await Promise.all([...bad, 'hash'].map((hash) => follower.key(hash)))
  const answerFor = async (hash: string) => {
    try {
      return (await follower.key(hash)) ?? '401'
    } catch (error) {
      return error instanceof StoreUnavailable ? '503' : error
    }
  }
  expect(new Set(await Promise.all(bad.map(answerFor)))).toEqual(new Set(['401']))
  beat.mockRejectedValue(new StoreUnavailable('away'))
  await vi.advanceTimersByTimeAsync(1_000)
  const never = bad.map((hash) => `never-${hash}`)
  expect(new Set(await Promise.all([...bad, ...never].map(answerFor)))).toEqual(new Set(['503']))
  expect(await answerFor('hash')).toEqual(key)
  beat.mockImplementation(store.beat)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(new Set(await Promise.all(bad.map(answerFor)))).toEqual(new Set(['401']))
})

test('the list of all keys is dropped after a flood and read at most once a minute', async () => {
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const lists = vi.spyOn(store, 'keyHashes')
  const { follower } = follow()
  await follower.start()
  let sent = 0
  const flood = () => Promise.all(Array.from({ length: 500 }, () => follower.key(`bad-${sent++}`)))
  const other = (id: number) => publish({ keys: { put: new Map([[`other-${id}`, key]]), remove: [] } })
  for (let i = 0; i < 12; i++) {
    await flood()
    await other(i)
    time += 10_000
  }
  expect(lists).toHaveBeenCalledTimes(1)
  time += 60_000
  await other(12)
  await flood()
  expect(lists).toHaveBeenCalledTimes(2)
  for (let i = 0; i <= 12; i++) expect(await follower.key(`other-${i}`)).toEqual(key)
})

test('after the store was emptied a flood gets 503 as well', async () => {
  await publish({ table: tableOf('a'), ...keyChange(key) })
  const { config, use } = replaceable()
  const { follower } = follow(config)
  await follower.start()
  for (let i = 0; i < 2_000; i++) await follower.key(`bad-${i}`)
  use(createEmbeddedStore().config)
  await expect(follower.key('hash')).rejects.toBeInstanceOf(StoreUnavailable)
})

describe('a store that fails', () => {
  beforeEach(() =>
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
  )

  test('the last good table stays in force until the store is back', async () => {
    await publish({ table: tableOf('a') })
    const { config, table, announce } = scripted()
    const { follower, failures } = follow(config)
    await follower.start()
    table.mockRejectedValue(new StoreUnavailable('away'))
    await publish({ table: tableOf('b') })
    announce({ generation: 2, table: true })
    await vi.advanceTimersByTimeAsync(0)
    expect(failures).toEqual([new StoreUnavailable('away')])
    expect([serves(follower, 'a'), follower.caughtUp]).toEqual([true, true])

    await vi.advanceTimersByTimeAsync(3_000)
    expect(failures.length).toBeGreaterThan(1)
    expect([serves(follower, 'a'), await beaten()]).toEqual([true, 1])

    table.mockImplementation(store.table)
    await vi.advanceTimersByTimeAsync(1_000)
    expect([serves(follower, 'b'), await beaten()]).toEqual([true, 2])
  })

  test('nothing newer is reported as in force while an announced table is missing', async () => {
    await publish({ table: tableOf('a'), ...keyChange(key) })
    const { config, table, announce } = scripted()
    const { follower } = follow(config)
    await follower.start()
    expect((await follower.key('hash'))?.disabled).toBe(false)

    table.mockRejectedValueOnce(new StoreUnavailable('away'))
    await publish({ table: tableOf('b') })
    announce({ generation: 2, table: true })
    await publish(keyChange({ ...key, disabled: true }))
    announce({ generation: 3, keys: ['hash'] })
    await vi.advanceTimersByTimeAsync(0)
    expect((await follower.key('hash'))?.disabled).toBe(true)
    expect([serves(follower, 'b'), await beaten()]).toEqual([false, 1])

    await vi.advanceTimersByTimeAsync(1_000)
    expect([serves(follower, 'b'), await beaten()]).toEqual([true, 3])
  })

  test('many failures lead to one retry a second, not to one for each', async () => {
    await publish({ table: tableOf('a') })
    const { config, table, announce } = scripted()
    const { follower } = follow(config)
    await follower.start()
    table.mockRejectedValue(new StoreUnavailable('away'))
    for (let i = 0; i < 20; i++) announce({ generation: 2 + i, table: true })
    await vi.advanceTimersByTimeAsync(0)
    table.mockClear()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(table).toHaveBeenCalledTimes(5)
  })

  test('at the start it is not ready until the store is back', async () => {
    await publish({ table: tableOf('a') })
    const { config, table } = scripted()
    table.mockRejectedValueOnce(new StoreUnavailable('away'))
    const { follower, failures } = follow(config)
    await follower.start()
    expect([follower.caughtUp, failures.length]).toEqual([false, 1])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([follower.caughtUp, serves(follower, 'a')]).toEqual([true, true])
  })

  test('a lost heartbeat is reported and does no harm', async () => {
    await publish({ table: tableOf('a') })
    const { config } = scripted()
    const beat = vi.fn(store.beat)
    const { follower, failures } = follow({ ...config, beat })
    await follower.start()
    beat.mockRejectedValueOnce(new StoreUnavailable('away'))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(failures).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2_000)
    expect([failures.length, beat.mock.calls.length, serves(follower, 'a')]).toEqual([1, 4, true])
  })
})

test('it sends a heartbeat every second, and removes it when it stops', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  await publish({ table: tableOf('a') })
  const beat = vi.spyOn(store, 'beat')
  const { follower, swaps } = follow()
  await follower.start()
  beat.mockClear()
  await vi.advanceTimersByTimeAsync(4_000)
  expect(beat).toHaveBeenCalledTimes(4)
  await follower.stop()
  expect(await beaten()).toBeUndefined()
  beat.mockClear()
  await publish({ table: tableOf('b') })
  await vi.advanceTimersByTimeAsync(4_000)
  expect(beat).not.toHaveBeenCalled()
  expect(swaps).toEqual([1])
})

test('a stop during the start leaves no listener behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  await publish({ table: tableOf('a') })
  const began = Promise.withResolvers<() => Promise<void>>()
  const begin = vi
    .fn<ConfigStore['follow']>()
    .mockRejectedValueOnce(new StoreUnavailable('away'))
    .mockReturnValueOnce(began.promise)
  const { follower } = follow({ ...store, follow: begin })
  const started = follower.start()
  await vi.waitFor(() => expect(begin).toHaveBeenCalledTimes(2))
  const stopped = follower.stop()
  await vi.advanceTimersByTimeAsync(0)
  const unfollow = vi.fn(async () => undefined)
  began.resolve(unfollow)
  await Promise.all([started, stopped])
  expect(unfollow).toHaveBeenCalledOnce()
})
