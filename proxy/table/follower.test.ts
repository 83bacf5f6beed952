import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { KeyRecord, TableRecord } from '../../contract/table/records.ts'
import type { Change, ConfigStore, Gap, Publication } from '../../store/contract.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import { TableFollower } from './follower.ts'
import { published, testRoute, testTable } from './testing.ts'

const NONE = { put: new Map(), remove: [] }
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

function follow(config: ConfigStore = store) {
  const swaps: number[] = []
  const failures: unknown[] = []
  const follower = new TableFollower(config, 'proxy-1', {
    swapped: (table) => void swaps.push(table.generation),
    failed: (error) => void failures.push(error),
    keysChanged: () => undefined,
  })
  onTestFinished(() => follower.stop())
  return { follower, swaps, failures }
}

function serves(follower: TableFollower, model: string): boolean {
  return follower.table.match('default', model) !== undefined
}

/** What the follower says of itself to the store. */
async function beaten(): Promise<number | undefined> {
  return (await store.heartbeats(60_000)).find(({ proxy }) => proxy === 'proxy-1')?.generation
}

describe('start', () => {
  test('takes the table that is there, says so, and is ready', async () => {
    await publish({ table: tableOf('a') })
    const { follower, swaps } = follow()
    expect(follower.caughtUp).toBe(false)
    await follower.start()
    expect([follower.caughtUp, serves(follower, 'a'), swaps, await beaten()]).toEqual([true, true, [1], 1])
  })

  test('without a table it is not ready and tells nobody that it lives, until there is one', async () => {
    const { follower } = follow()
    await follower.start()
    expect([follower.caughtUp, await beaten()]).toEqual([false, undefined])
    await publish({ table: tableOf('a') })
    await vi.waitFor(async () => expect(await beaten()).toBe(1))
    expect([follower.caughtUp, serves(follower, 'a')]).toEqual([true, true])
  })

  test('what is published while it starts is not missed', async () => {
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
  test('of the table swaps it whole', async () => {
    await publish({ table: tableOf('a') })
    const { follower, swaps } = follow()
    await follower.start()
    const before = follower.table
    await publish({ table: tableOf('b') })
    await vi.waitFor(async () => expect(await beaten()).toBe(2))
    expect([serves(follower, 'a'), serves(follower, 'b'), swaps]).toEqual([false, true, [1, 2]])
    expect(before.match('default', 'a')).toBeDefined()
  })

  test('of a key is in force before the follower says so; the table stays', async () => {
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

  test('of an account is in force, and of others nothing is read again', async () => {
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

/** A store whose announcements and tables the test writes itself. */
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

describe('a table that goes back', () => {
  test.each([
    ['in its epoch is refused', { epoch: 2, generation: 4 }, false],
    ['to the first epoch of a store that was wiped is taken', { epoch: 1, generation: 9 }, true],
    ['in a newer epoch is taken', { epoch: 3, generation: 1 }, true],
  ])('%s', async (_, offered, taken) => {
    const { config, table, announce } = scripted()
    table.mockResolvedValue(published(tableOf('a'), { epoch: 2, generation: 5 }))
    const { follower, swaps } = follow(config)
    await follower.start()
    table.mockResolvedValue(published(tableOf('b'), offered))
    announce({ ...offered, table: true })
    await vi.waitFor(() => expect(table).toHaveBeenCalledTimes(2))
    // A later change has been taken only when the earlier one is through.
    announce({ epoch: 9, generation: 9 })
    await vi.waitFor(async () => expect(await beaten()).toBe(9))
    expect([serves(follower, 'b'), serves(follower, 'a')]).toEqual([taken, !taken])
    expect(swaps).toHaveLength(taken ? 2 : 1)
  })
})

describe('a store that fails', () => {
  beforeEach(() =>
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }),
  )

  test('the last good table stays until the store is back', async () => {
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

  test('nothing newer is said to be in force while an announced table is missing', async () => {
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

  test('many failures are tried again once a second, not once each', async () => {
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

  test('at the start: it is not ready, and then it is', async () => {
    await publish({ table: tableOf('a') })
    const { config, table } = scripted()
    table.mockRejectedValueOnce(new StoreUnavailable('away'))
    const { follower, failures } = follow(config)
    await follower.start()
    expect([follower.caughtUp, failures.length]).toEqual([false, 1])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([follower.caughtUp, serves(follower, 'a')]).toEqual([true, true])
  })

  test('a heartbeat that is lost is told and harms nothing', async () => {
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

test('it says every second that it lives, and when it stops, that it does not', async () => {
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
