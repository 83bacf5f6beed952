import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import type { Standing, Stretch } from './knowledge.ts'
import { RecordCache, type RecordSource } from './record-cache.ts'

interface Named {
  name: string
}

const MAX_AGE = 600_000
const AWAY = new StoreUnavailable('away')
const UNREADABLE = new RecordUnreadable('does not open')

/** A source whose fetches end when the test says so. */
class Source implements RecordSource<Named> {
  readonly fetched: string[] = []
  readonly open: PromiseWithResolvers<Named | undefined>[] = []
  readonly alarms: Error[] = []
  readonly maxAgeMs = MAX_AGE
  stretch: Stretch = { until: 0 }
  standing: Standing = 'current'
  absent: () => Promise<boolean> = async () => true
  time = 1_000

  get knowledge() {
    return { stretch: this.stretch, standing: async () => this.standing }
  }

  readonly now = () => this.time
  readonly isAbsent = () => this.absent()
  readonly unreadable = (error: Error) => void this.alarms.push(error)

  readonly fetch = (id: string): Promise<Named | undefined> => {
    this.fetched.push(id)
    const fetch = Promise.withResolvers<Named | undefined>()
    this.open.push(fetch)
    return fetch.promise
  }

  answer(name: string | undefined): void {
    this.open.shift()?.resolve(name === undefined ? undefined : { name })
  }

  fail(error: Error = AWAY): void {
    this.open.shift()?.reject(error)
  }
}

let source: Source
let cache: RecordCache<Named>
beforeEach(() => {
  source = new Source()
  cache = new RecordCache(source)
})

/** Gets an id; the store answers with this name or fails with this error. */
async function get(id: string, answer: string | undefined | Error): Promise<string | undefined> {
  const got = Promise.resolve(cache.get(id))
  got.catch(() => undefined)
  // Its query for the position has been answered by then.
  await new Promise(setImmediate)
  if (answer instanceof Error) source.fail(answer)
  else source.answer(answer)
  return (await got)?.name
}

function gap(): void {
  source.stretch = { until: 0 }
  cache.gap()
}

test('one fetch serves all callers during it and after it', async () => {
  const callers = Array.from({ length: 50 }, () => cache.get('a'))
  source.answer('first')
  const records = await Promise.all(callers)
  expect(new Set(records).size).toBe(1)
  expect(await cache.get('a')).toBe(records[0])
  expect(source.fetched).toEqual(['a'])
})

test('each id has its own record', async () => {
  expect(await get('a', 'first')).toBe('first')
  expect(await get('b', 'second')).toBe('second')
  expect((await cache.get('a'))?.name).toBe('first')
})

describe('a change', () => {
  test('makes its id be read again', async () => {
    await get('a', 'old')
    await get('b', 'kept')
    cache.changed('a')
    expect(await get('a', 'new')).toBe('new')
    expect((await cache.get('b'))?.name).toBe('kept')
    expect(source.fetched).toEqual(['a', 'b', 'a'])
  })

  test('may add an absent id, and remove an existing one', async () => {
    await get('a', undefined)
    cache.changed('a')
    expect(await get('a', 'new')).toBe('new')
    cache.changed('a')
    expect(await get('a', undefined)).toBeUndefined()
    expect(await cache.get('a')).toBeUndefined()
  })

  test.each([
    ['change', () => cache.changed('a')],
    ['gap', gap],
  ])('or %s during a fetch: the answer is not kept, and later callers do not get it', async (_, forget) => {
    const before = cache.get('a')
    forget()
    const after = cache.get('a')
    source.answer('old')
    source.answer('new')
    expect((await before)?.name).toBe('old')
    expect((await after)?.name).toBe('new')
    expect((await cache.get('a'))?.name).toBe('new')
    expect(source.fetched).toEqual(['a', 'a'])
  })

  test('during a fetch, without callers until the answer is there: the answer is not kept', async () => {
    const before = cache.get('a')
    cache.changed('a')
    source.answer('old')
    await before
    expect(await get('a', 'new')).toBe('new')
  })

  test('an older fetch that ends last does not replace the result of a newer one', async () => {
    const before = cache.get('a')
    cache.changed('a')
    const after = cache.get('a')
    const [old, young] = source.open
    young?.resolve({ name: 'new' })
    await after
    old?.resolve({ name: 'old' })
    await before
    expect((await cache.get('a'))?.name).toBe('new')
  })

  test('an older fetch that fails last does not affect a newer one', async () => {
    const before = cache.get('a')
    cache.changed('a')
    const after = cache.get('a')
    source.fail()
    await expect(before).rejects.toThrow('away')
    const joined = cache.get('a')
    source.answer('new')
    expect((await after)?.name).toBe('new')
    expect((await joined)?.name).toBe('new')
    expect(source.fetched).toHaveLength(2)
  })

  test('that cannot be read is not hidden by the old record', async () => {
    await get('a', 'old')
    cache.changed('a')
    await expect(get('a', AWAY)).rejects.toBe(AWAY)
    source.standing = 'away'
    await expect(get('a', AWAY)).rejects.toBe(AWAY)
  })

  test('to a record that does not open keeps the last good one, with an alarm', async () => {
    await get('a', 'good')
    cache.changed('a')
    expect(await get('a', UNREADABLE)).toBe('good')
    expect(source.alarms).toEqual([UNREADABLE])
  })
})

describe('after a gap', () => {
  test('everything is read again at its next use, once', async () => {
    await get('a', 'old')
    await get('b', undefined)
    gap()
    expect(await get('a', 'new')).toBe('new')
    expect((await cache.get('a'))?.name).toBe('new')
    expect(await get('b', 'new')).toBe('new')
    expect(source.fetched).toEqual(['a', 'b', 'a', 'b'])
  })

  test.each([AWAY, UNREADABLE])('the last known record serves if that fails: %s', async (error) => {
    await get('a', 'old')
    gap()
    expect(await get('a', error)).toBe('old')
    // Not read for each request, but soon again.
    expect((await cache.get('a'))?.name).toBe('old')
    expect(source.fetched).toHaveLength(2)
    source.time += 250
    expect(await get('a', 'new')).toBe('new')
  })

  test('a new gap forgets an earlier failure', async () => {
    await get('a', 'old')
    gap()
    expect(await get('a', AWAY)).toBe('old')
    gap()
    expect(await get('a', 'new')).toBe('new')
  })

  test.each(['away', 'behind'] as const)(
    'a store that is %s is not queried for known records',
    async (standing) => {
      await get('a', 'known')
      gap()
      source.standing = standing
      expect((await cache.get('a'))?.name).toBe('known')
      expect(source.fetched).toEqual(['a'])
    },
  )

  test('the last known record serves until it is too old, counted from its last confirmation', async () => {
    await get('a', 'old')
    source.time += 5 * MAX_AGE
    source.stretch.until = source.time
    gap()
    source.standing = 'away'
    source.time += MAX_AGE - 1
    expect((await cache.get('a'))?.name).toBe('old')
    source.time += 1
    await expect(cache.get('a')).rejects.toBeInstanceOf(StoreUnavailable)
    source.standing = 'current'
    expect(await get('a', 'new')).toBe('new')
    expect((await cache.get('a'))?.name).toBe('new')
  })
})

test('without any gap a record is too old after that long without confirmation', async () => {
  await get('a', 'old')
  source.time += MAX_AGE
  await expect(get('a', AWAY)).rejects.toBe(AWAY)
})

describe('an absence', () => {
  test('counts only while the store counts', async () => {
    source.absent = () => Promise.reject(AWAY)
    await expect(get('a', undefined)).rejects.toBe(AWAY)
    source.absent = async () => true
    expect(await get('a', undefined)).toBeUndefined()
    expect(source.fetched).toHaveLength(2)
  })

  test('removes no record while the store does not count', async () => {
    await get('a', 'known')
    gap()
    source.absent = () => Promise.reject(AWAY)
    expect(await get('a', undefined)).toBe('known')
  })

  test('is looked up once more after the store began anew', async () => {
    const answers = [false, true]
    source.absent = async () => answers.shift() ?? true
    const got = cache.get('a')
    source.answer(undefined)
    await vi.waitFor(() => expect(source.fetched).toHaveLength(2))
    source.answer('there')
    expect((await got)?.name).toBe('there')
  })

  test('a record does not count either while the store is behind', async () => {
    source.standing = 'behind'
    await expect(get('a', 'of a backup')).rejects.toBeInstanceOf(StoreUnavailable)
  })
})

test('a failed fetch fails for all waiting callers and is not kept', async () => {
  const callers = [cache.get('a'), cache.get('a')]
  source.fail()
  for (const caller of callers) await expect(caller).rejects.toThrow('away')
  expect(await get('a', 'there')).toBe('there')
})

test('an unexpected error is never hidden', async () => {
  await get('a', 'known')
  gap()
  await expect(get('a', new TypeError('a fault'))).rejects.toThrow(TypeError)
})

describe('absent ids', () => {
  test.each(['away', 'behind'] as const)(
    'are no longer reported as absent while the store is %s',
    async (standing) => {
      await get('a', undefined)
      source.standing = standing
      await expect(cache.get('a')).rejects.toBeInstanceOf(StoreUnavailable)
      expect(source.fetched).toEqual(['a'])
      source.standing = 'current'
      expect(await cache.get('a')).toBeUndefined()
    },
  )

  test('are kept for five seconds', async () => {
    // The cache reads the clock once a millisecond; a timer makes it read again.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    onTestFinished(() => void vi.restoreAllMocks().useRealTimers())
    const pass = (ms: number) => {
      clock.mockReturnValue(performance.now() + ms)
      vi.advanceTimersByTime(ms)
    }
    await get('a', undefined)
    pass(4_900)
    expect(await cache.get('a')).toBeUndefined()
    expect(source.fetched).toEqual(['a'])
    pass(200)
    expect(await get('a', 'there')).toBe('there')
  })

  test('a flood of them evicts only each other, and no record', async () => {
    const fetched: string[] = []
    const flooded = new RecordCache<Named>({
      isAbsent: async () => true,
      unreadable: () => undefined,
      knowledge: source.knowledge,
      maxAgeMs: MAX_AGE,
      now: () => 0,
      fetch: async (id) => {
        fetched.push(id)
        return id === 'good' ? { name: 'kept' } : undefined
      },
    })
    await flooded.get('good')
    // More than the cache has room for records.
    for (let i = 0; i < 110_000; i++) await flooded.get(`bad-${i}`)
    fetched.length = 0
    for (const id of ['good', 'bad-109999', 'bad-0']) await flooded.get(id)
    expect(fetched).toEqual(['bad-0'])
  })
})
