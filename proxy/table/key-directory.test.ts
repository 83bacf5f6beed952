import { expect, test, vi } from 'vitest'
import { StoreUnavailable } from '../../store/contract.ts'
import { KeyDirectory } from './key-directory.ts'

/** A directory whose reads of the list fail with this error. */
function without(list: unknown) {
  let now = 0
  const readAll = vi.fn(() => Promise.reject(list))
  const failed = vi.fn()
  const directory = new KeyDirectory({
    readAll,
    standing: async () => 'current',
    now: () => now,
    failed,
  })
  const miss = async (times: number) => {
    let found = 0
    for (let i = 0; i < times; i++)
      found += (await directory.find(`${i}`, async () => undefined).catch(() => 1)) === undefined ? 0 : 1
    return found
  }
  return { directory, readAll, failed, miss, pass: (ms: number) => (now += ms) }
}

test('if the store refuses the list, it is read again once a second, and keys are looked up as before', async () => {
  const { directory, readAll, failed, miss, pass } = without(new Error('NOPERM'))
  expect(await miss(5_000)).toBe(0)
  expect([readAll.mock.calls.length, failed.mock.calls.length]).toEqual([1, 1])
  expect(await directory.find('good', async () => 'record')).toBe('record')
  pass(1_000)
  expect(await miss(5_000)).toBe(0)
  expect(readAll.mock.calls.length).toBe(2)
})

test('while the store is away keys beyond the bound get no answer', async () => {
  const { readAll, failed, miss } = without(new StoreUnavailable('away'))
  const refused = await miss(5_000)
  // Keys within the bound are looked up: their look-ups would report that the store is away.
  expect(refused).toBe(3_000)
  expect([readAll.mock.calls.length, failed.mock.calls.length]).toEqual([1, 0])
})
