import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { RecordCache } from './record-cache.ts'

interface Named {
  name: string
}

/** A source whose fetches end when the test says so. */
class Source {
  readonly asked: string[] = []
  readonly #open: PromiseWithResolvers<Named | undefined>[] = []

  readonly fetch = (id: string): Promise<Named | undefined> => {
    this.asked.push(id)
    const fetch = Promise.withResolvers<Named | undefined>()
    this.#open.push(fetch)
    return fetch.promise
  }

  answer(name: string | undefined): void {
    this.#open.shift()?.resolve(name === undefined ? undefined : { name })
  }

  fail(): void {
    this.#open.shift()?.reject(new Error('away'))
  }
}

let source: Source
let cache: RecordCache<Named>
beforeEach(() => {
  source = new Source()
  cache = new RecordCache(source.fetch)
})

/** Asks and answers at once. */
async function get(id: string, name: string | undefined): Promise<string | undefined> {
  const got = cache.get(id)
  source.answer(name)
  return (await got)?.name
}

test('one fetch serves all who ask meanwhile and later', async () => {
  const callers = Array.from({ length: 50 }, () => cache.get('a'))
  source.answer('first')
  const records = await Promise.all(callers)
  expect(new Set(records).size).toBe(1)
  expect(await cache.get('a')).toBe(records[0])
  expect(source.asked).toEqual(['a'])
})

test('ids do not mix', async () => {
  expect(await get('a', 'first')).toBe('first')
  expect(await get('b', 'second')).toBe('second')
  expect((await cache.get('a'))?.name).toBe('first')
})

describe('drop', () => {
  test('forgets one id', async () => {
    await get('a', 'old')
    await get('b', 'kept')
    cache.drop('a')
    expect(await get('a', 'new')).toBe('new')
    expect((await cache.get('b'))?.name).toBe('kept')
    expect(source.asked).toEqual(['a', 'b', 'a'])
  })

  test('an absent id may be there now', async () => {
    await get('a', undefined)
    cache.drop('a')
    expect(await get('a', 'new')).toBe('new')
  })

  test.each([
    ['drop', () => cache.drop('a')],
    ['clear', () => cache.clear()],
  ])('%s during a fetch: its answer is not kept, and new callers do not get it', async (_, forget) => {
    const before = cache.get('a')
    forget()
    const after = cache.get('a')
    source.answer('old')
    source.answer('new')
    expect((await before)?.name).toBe('old')
    expect((await after)?.name).toBe('new')
    expect((await cache.get('a'))?.name).toBe('new')
    expect(source.asked).toEqual(['a', 'a'])
  })

  test('during a fetch, with nobody asking until its answer is there', async () => {
    const before = cache.get('a')
    cache.drop('a')
    source.answer('old')
    await before
    expect(await get('a', 'new')).toBe('new')
  })

  test('an old fetch that ends last does not replace what a newer one found', async () => {
    const open: PromiseWithResolvers<Named | undefined>[] = []
    const late = new RecordCache<Named>(() => {
      const fetch = Promise.withResolvers<Named | undefined>()
      open.push(fetch)
      return fetch.promise
    })
    const before = late.get('a')
    late.drop('a')
    const after = late.get('a')
    open[1]?.resolve({ name: 'new' })
    await after
    open[0]?.resolve({ name: 'old' })
    await before
    expect((await late.get('a'))?.name).toBe('new')
  })

  test('an old fetch that fails last leaves a newer one alone', async () => {
    const before = cache.get('a')
    cache.drop('a')
    const after = cache.get('a')
    source.fail()
    await expect(before).rejects.toThrow('away')
    const joined = cache.get('a')
    source.answer('new')
    expect((await after)?.name).toBe('new')
    expect((await joined)?.name).toBe('new')
    expect(source.asked).toHaveLength(2)
  })
})

test('clear forgets everything', async () => {
  await get('a', 'old')
  await get('b', undefined)
  cache.clear()
  expect(await get('a', 'new')).toBe('new')
  expect(await get('b', 'new')).toBe('new')
})

test('a fetch that fails is told to all who wait and not kept', async () => {
  const callers = [cache.get('a'), cache.get('a')]
  source.fail()
  for (const caller of callers) await expect(caller).rejects.toThrow('away')
  expect(await get('a', 'there')).toBe('there')
})

describe('absent ids', () => {
  test('are kept for five seconds', async () => {
    // The cache looks at the clock once a millisecond, and a timer ends that.
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
    expect(source.asked).toEqual(['a'])
    pass(200)
    expect(await get('a', 'there')).toBe('there')
  })

  test('a flood of them pushes out no record, and each other only', async () => {
    const asked: string[] = []
    const flooded = new RecordCache<Named>(async (id) => {
      asked.push(id)
      return id === 'good' ? { name: 'kept' } : undefined
    })
    await flooded.get('good')
    // More than there is room for records.
    for (let i = 0; i < 110_000; i++) await flooded.get(`bad-${i}`)
    asked.length = 0
    for (const id of ['good', 'bad-109999', 'bad-0']) await flooded.get(id)
    expect(asked).toEqual(['bad-0'])
  })
})
