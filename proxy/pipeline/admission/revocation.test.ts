import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { KeyRecord } from '../../../contract/table/records.ts'
import { testKey } from '../../auth/testing.ts'
import { Revocation } from './revocation.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => vi.useRealTimers())

const ADDRESS = '192.0.2.7'

/** Keys by hash; an Error stands for a store that cannot answer. */
function setUp(keys: Record<string, KeyRecord | Error> = {}) {
  const keyOf = vi.fn(async (hash: string) => {
    const key = keys[hash]
    if (key instanceof Error) throw key
    return key
  })
  const revocation = new Revocation(keyOf)
  const inFlight = (hash: string, key = testKey(), address: string | undefined = ADDRESS) => {
    const use = new AbortController()
    return { use, end: revocation.watch({ hash, key }, address, use) }
  }
  return { keys, keyOf, revocation, inFlight }
}

const AWAY = new Error('away')
const MINUTE = 60_000

test('requests with a revoked key end, and no others', async () => {
  const { revocation, inFlight } = setUp({ off: testKey({ disabled: true }), good: testKey() })
  const [deleted, alsoDeleted, off, good] = ['deleted', 'deleted', 'off', 'good'].map((hash) =>
    inFlight(hash),
  )
  await revocation.recheck()
  for (const ended of [deleted, alsoDeleted, off])
    expect(ended?.use.signal.reason).toMatchObject({ code: 'unauthorized' })
  expect(good?.use.signal.aborted).toBe(false)
})

test('requests from an address that the key no longer allows end', async () => {
  const { revocation, inFlight } = setUp({ key: testKey({ allowedIPs: ['198.51.100.0/24'] }) })
  const [elsewhere, nowhere] = [inFlight('key'), inFlight('key', testKey(), undefined)]
  const there = inFlight('key', testKey(), '198.51.100.1')
  await revocation.recheck(['key'])
  for (const ended of [elsewhere, nowhere])
    expect(ended.use.signal.reason).toMatchObject({ code: 'ip_not_allowed' })
  expect(there.use.signal.aborted).toBe(false)
})

test.each([1_000, MINUTE + 1_000, 100 * 24 * 60 * MINUTE])(
  'a key that expires in %i ms ends its requests then, without a change of its record',
  async (ms) => {
    const key = testKey({ expiresAt: Date.now() + ms })
    const { inFlight } = setUp({ key })
    const { use } = inFlight('key', key)
    await vi.advanceTimersByTimeAsync(ms - 1)
    expect(use.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(2)
    expect(use.signal.reason).toMatchObject({ code: 'unauthorized' })
  },
)

test('a key with a later expiry lasts longer, one with an earlier expiry ends sooner', async () => {
  const now = Date.now()
  const { keys, revocation, inFlight } = setUp({})
  const [longer, shorter] = [inFlight('longer', testKey({ expiresAt: now + 1_000 })), inFlight('shorter')]
  keys.longer = testKey({ expiresAt: now + 5_000 })
  keys.shorter = testKey({ expiresAt: now + 500 })
  await revocation.recheck()
  await vi.advanceTimersByTimeAsync(501)
  expect([longer.use.signal.aborted, shorter.use.signal.aborted]).toEqual([false, true])
  await vi.advanceTimersByTimeAsync(4_400)
  expect(longer.use.signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(100)
  expect(longer.use.signal.aborted).toBe(true)
})

test('a key that cannot be read is read again until it can', async () => {
  const { keys, revocation, inFlight } = setUp({ key: AWAY })
  const { use } = inFlight('key')
  await revocation.recheck(['key'])
  expect(use.signal.aborted).toBe(false)
  delete keys.key
  await vi.runAllTimersAsync()
  expect(use.signal.aborted).toBe(true)
})

test('such a key is not read again once no request uses it', async () => {
  const { keyOf, revocation, inFlight } = setUp({ key: AWAY })
  const { end } = inFlight('key', testKey({ expiresAt: Date.now() + MINUTE }))
  await revocation.recheck(['key'])
  end()
  await vi.runAllTimersAsync()
  expect(keyOf).toHaveBeenCalledTimes(1)
  expect(vi.getTimerCount()).toBe(0)
})
