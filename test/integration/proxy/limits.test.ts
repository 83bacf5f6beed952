/** Rate limits over three proxies on one Redis: exact, in the commands that hold and settle, and counted by each proxy while Redis is away. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import type { LimitRecord } from '../../../contract/table/records.ts'
import { testAccount, testKey } from '../../../proxy/auth/testing.ts'
import { until } from '../../harness/gateway.ts'
import { type Clock, createClock } from '../../harness/redis.ts'
import { chatAnswer } from '../../harness/upstream.ts'
import { ACCOUNT, METERED, metric, startWorld, statusOf, type TestProxy, type World } from './world.ts'

const MINUTE_MS = 60_000
/** BURST_ROUNDS makes it as many as the promise. */
const REQUESTS = process.env.BURST_ROUNDS === undefined ? 300 : 1_000
const LIMIT = 100
const OWN = 'oooooooooooooooooooo'
const UNMETERED_LIMITED = 'sk-limited-without-an-account'

const perMinute = (most: number): LimitRecord => ({ id: 'rm', kind: 'requests', most, windowMs: MINUTE_MS })
const atATime = (most: number): LimitRecord => ({ id: 'c', kind: 'concurrent', most, windowMs: 0 })

let clock: Clock
let world: World
let proxies: TestProxy[]
beforeAll(async () => {
  clock = createClock()
  world = await startWorld({ clock })
  const env = {
    SLUICE_MAX_IN_FLIGHT_PER_CLIENT: '0',
    SLUICE_MAX_CONNECTIONS_PER_CLIENT: '0',
  }
  const own = { account: OWN, id: 'kkkkkkkkkkkkkkkkkkk9', name: 'limited' }
  world.keys.set(keyHash(UNMETERED_LIMITED), testKey({ ...own, limits: [perMinute(3)] }))
  world.accounts.set(OWN, testAccount({ id: OWN, name: 'key/limited', enforced: false, ofKey: true }))
  await world.store.ledger.open({ account: OWN, epoch: 1, create: true })
  await limit([])
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
/** Publishes limits for the metered key, which is a new one each time: its meters are empty. */
async function limit(limits: LimitRecord[]): Promise<void> {
  keys += 1
  const id = `kkkkkkkkkkkkkkk${String(keys).padStart(5, '0')}`
  world.keys.set(keyHash(METERED), testKey({ id, name: 'metered', account: ACCOUNT, limits }))
  const generation = await world.publish()
  if (proxies === undefined) return
  const isServed = () => proxies.every(({ running }) => running.status().generation >= generation)
  await until(isServed, 'the proxies to follow')
}

const proxyOf = (i: number): TestProxy => proxies[i % proxies.length] as TestProxy

/** Statuses of so many requests at once, over all proxies. */
async function burst(count = REQUESTS): Promise<Record<number, number>> {
  const statuses = await Promise.all(
    Array.from({ length: count }, (_, i) => statusOf(proxyOf(i), METERED, 'paid')),
  )
  return Object.fromEntries(
    [...new Set(statuses)].map((status) => [status, statuses.filter((one) => one === status).length]),
  )
}

test(`${REQUESTS} requests at once under a limit of 100 a minute: exactly 100 are served, then one each 600 ms`, async () => {
  await limit([perMinute(LIMIT)])
  const before = world.upstream.calls.length
  expect(await burst()).toEqual({ 200: LIMIT, 429: REQUESTS - LIMIT })
  expect(world.upstream.calls.length - before).toBe(LIMIT)
  clock.advance(599)
  expect(await burst(20)).toEqual({ 429: 20 })
  clock.advance(1)
  expect(await burst(20)).toEqual({ 200: 1, 429: 19 })
  clock.advance(MINUTE_MS)
  expect(await burst(300)).toEqual({ 200: LIMIT, 429: 300 - LIMIT })
}, 120_000)

test('five requests at a time: no sixth one reaches the upstream, and places are free again', async () => {
  await limit([atATime(5)])
  const gate = Promise.withResolvers<void>()
  world.upstream.answer(async (call, res) => {
    await gate.promise
    await chatAnswer()(call, res)
  })
  const before = world.upstream.calls.length
  const statuses: number[] = []
  const all = Array.from({ length: 100 }, async (_, i) => {
    statuses.push(await statusOf(proxyOf(i), METERED, 'paid'))
  })
  await until(() => statuses.length === 95, 'the refusals')
  expect(new Set(statuses)).toEqual(new Set([429]))
  expect(world.upstream.calls.length - before).toBe(5)
  gate.resolve()
  await Promise.all(all)
  expect(statuses.filter((status) => status === 200)).toHaveLength(5)
  world.upstream.answer(chatAnswer())
  const settled = async () => (await world.store.ledger.balance(ACCOUNT))?.held === 0
  await until(settled, 'the settles')
  expect(await burst(5)).toEqual({ 200: 5 })
})

test('while Redis is away a key without an account has its limits in each proxy; metered ones are refused', async () => {
  await limit([perMinute(1_000)])
  const [proxy] = proxies
  if (proxy === undefined) throw new Error('no proxy')
  expect(await statusOf(proxy, UNMETERED_LIMITED, 'paid')).toBe(200)
  world.redis.pause()
  try {
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push(await statusOf(proxy, UNMETERED_LIMITED, 'paid'))
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect(await statusOf(proxy, METERED, 'paid')).toBe(503)
  } finally {
    world.redis.resume()
  }
  await until(async () => (await statusOf(proxy, METERED, 'paid')) === 200, 'Redis')
  await until(async () => (await metric(proxy, 'sluice_settle_queue')) === 0, 'the settles')
  expect(proxy.log.some((line) => line.includes('dead_settle'))).toBe(false)
  // The store counts again: also what was sent to it while it did not answer.
  clock.advance(2 * MINUTE_MS)
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) statuses.push(await statusOf(proxy, UNMETERED_LIMITED, 'paid'))
  expect(statuses).toEqual([200, 200, 200, 429])
})
