/** A budget over three proxies on one Redis: exact, renewed by the calendar of its time zone, and refused while Redis is away. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import type { BudgetRecord } from '../../../contract/table/records.ts'
import { testAccount, testKey } from '../../../proxy/auth/testing.ts'
import { until } from '../../harness/gateway.ts'
import { type Clock, createClock } from '../../harness/redis.ts'
import { ACCOUNT, METERED, PRICE, startWorld, statusOf, type TestProxy, type World } from './world.ts'

const OWN = 'oooooooooooooooooooo'
const ALONE = 'sk-with-a-budget-without-an-account'
const KEY_ID = 'kkkkkkkkkkkkkkkkkkk9'

const ofBerlin = (most: number): BudgetRecord => ({
  ...{ id: 'day', most, period: 'Day', timeZone: 'Europe/Berlin', softLimit: [80] },
})

const CLOCK = 'sk-to-learn-the-time'

let clock: Clock
/** The store's time. */
let now = Date.UTC(2030, 0, 1)
let world: World
let proxies: TestProxy[]
beforeAll(async () => {
  clock = createClock()
  world = await startWorld({ clock })
  const env = {
    SLUICE_MAX_IN_FLIGHT_PER_CLIENT: '0',
    SLUICE_MAX_CONNECTIONS_PER_CLIENT: '0',
  }
  world.keys.set(
    keyHash(ALONE),
    testKey({ account: OWN, id: KEY_ID, name: 'alone', budgets: [ofBerlin(5 * PRICE)] }),
  )
  world.accounts.set(OWN, testAccount({ id: OWN, name: 'key/alone', enforced: false, ofKey: true }))
  world.accounts.set(ACCOUNT, testAccount({ id: ACCOUNT, budgets: [ofBerlin(40 * PRICE)] }))
  await world.store.ledger.open({ account: OWN, epoch: 1, create: true })
  world.keys.set(
    keyHash(CLOCK),
    testKey({ account: OWN, id: 'kkkkkkkkkkkkkkkkkkk8', name: 'clock', budgets: [ofBerlin(1_000 * PRICE)] }),
  )
  await world.publish()
  proxies = [
    await world.startProxy({ env }),
    await world.startProxy({ env }),
    await world.startProxy({ env }),
  ]
})
afterAll(async () => {
  await world?.stop()
  clock?.remove()
})

let keys = 0
/** A new key without an account, whose budget pays for three requests in each period. */
async function keyWith(period: BudgetRecord['period'], most = 3 * PRICE): Promise<string> {
  keys += 1
  const [key, name] = [`sk-of-a-${period}-${keys}`, `own-${keys}`]
  const account = `ooooooooooooooooooo${keys}`
  const budgets = [{ ...ofBerlin(most), id: period.toLowerCase(), period }]
  world.keys.set(keyHash(key), testKey({ account, id: `kkkkkkkkkkkkkkkkkk3${keys}`, name, budgets }))
  world.accounts.set(account, testAccount({ id: account, name: `key/${name}`, enforced: false, ofKey: true }))
  await world.store.ledger.open({ account, epoch: 1, create: true })
  const generation = await world.publish()
  await until(
    () => proxies.every(({ running }) => running.status().generation >= generation),
    'the proxies to follow',
  )
  return key
}

async function burst(key: string, count: number): Promise<Record<number, number>> {
  const statuses = await Promise.all(
    Array.from({ length: count }, (_, i) => statusOf(proxies[i % 3] as TestProxy, key, 'paid')),
  )
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test.each([
  [METERED, 40, 'of an account'],
  [ALONE, 5, 'of a key without an account'],
])('150 requests at once with %s: exactly %i are paid by the budget %s', async (key, paid) => {
  expect(await burst(key, 150)).toEqual({ 200: paid, 402: 150 - paid })
})

/** Spends the whole budget, and shows that it renews at each of these times, not before. */
async function renews(key: string, times: readonly string[]): Promise<void> {
  expect(await burst(key, 9)).toEqual({ 200: 3, 402: 6 })
  for (const time of times) {
    await moveTo(Date.parse(time) - 1_000)
    expect(await burst(key, 3), `before ${time}`).toEqual({ 402: 3 })
    await moveTo(Date.parse(time))
    expect(await burst(key, 9), `at ${time}`).toEqual({ 200: 3, 402: 6 })
  }
}

/** Proxies learn the time from replies of the ledger. */
async function moveTo(time: number): Promise<void> {
  clock.advance(time - now)
  now = time
  for (const proxy of proxies) expect(await statusOf(proxy, CLOCK, 'paid')).toBe(200)
}

// In 2030 clocks in Berlin go forward on 31 March, an hour after midnight in UTC.
test.each<[string, string[]]>([
  ['Day', ['2030-01-01T23:00:00Z', '2030-01-02T23:00:00Z']],
  ['Week', ['2030-01-06T23:00:00Z', '2030-01-13T23:00:00Z']],
  ['Month', ['2030-01-31T23:00:00Z', '2030-02-28T23:00:00Z', '2030-03-31T22:00:00Z', '2030-04-30T22:00:00Z']],
  ['Day', ['2030-10-26T22:00:00Z', '2030-10-27T23:00:00Z']],
])(
  'a budget for a %s in Berlin renews at %j',
  async (period, times) => {
    await moveTo(Date.parse(times[0] ?? '') - 3_600_000)
    await renews(await keyWith(period as BudgetRecord['period']), times)
  },
  60_000,
)

test('while Redis is away, a key with a budget is refused, also without an account', async () => {
  world.redis.pause()
  try {
    expect(await burst(ALONE, 3)).toEqual({ 503: 3 })
  } finally {
    world.redis.resume()
  }
  await until(async () => (await statusOf(proxies[0] as TestProxy, ALONE, 'paid')) === 402, 'Redis to answer')
})
