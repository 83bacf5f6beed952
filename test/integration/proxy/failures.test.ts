/** Proxies while Redis is down, slow, emptied or holds invalid data. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import { keyRecordKey, TABLE } from '../../../store/keys.ts'
import { until } from '../../harness/gateway.ts'
import { type Answer, call } from '../../harness/http.ts'
import { IMPATIENT, PATIENT } from '../../harness/redis.ts'
import {
  ACCOUNT,
  ask,
  balance,
  fund,
  METERED,
  metric,
  PRICE,
  startWorld,
  statusOf,
  type TestProxy,
  UNKNOWN,
  UNMETERED,
  type World,
} from './world.ts'

const FUNDS = 1_000_000_000

let world: World
let proxy: TestProxy
beforeEach(async () => {
  world = await startWorld()
  proxy = await world.startProxy({ env: IMPATIENT })
  // Caches the keys and the table; on a busy machine the first answer of Redis may come too late.
  await until(async () => (await statusOf(proxy, UNMETERED)) === 200, 'an unmetered request')
  await until(async () => (await statusOf(proxy, METERED, 'paid')) === 200, 'a paid request')
  await until(async () => (await balance(world)).posted === FUNDS - PRICE, 'the settle')
})
afterEach(() => world.stop())

/** Metered and unknown callers must retry later: no final refusal, and nothing is given away. */
function expectUnavailable(answer: Answer): void {
  expect({ status: answer.status, code: JSON.parse(answer.text).error.code }).toEqual({
    status: 503,
    code: 'store_unavailable',
  })
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
}

const isReady = async () => (await call(`${proxy.admin}/readyz`)).status === 200

/** Sends many requests and returns the slowest time. All must be unavailable. */
async function slowest(key: string, model?: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 12; i++) {
    const since = performance.now()
    const answer = await ask(proxy, key, model)
    times.push(performance.now() - since)
    expectUnavailable(answer)
  }
  return Math.max(...times)
}

/** The lower of two, so that one stall of a slow machine does not count. */
async function slowestOfTwo(key: string, model?: string): Promise<number> {
  return Math.min(await slowest(key, model), await slowest(key, model))
}

async function recovers(): Promise<void> {
  await until(async () => (await statusOf(proxy, METERED, 'paid')) === 200, 'metered requests')
  await until(async () => (await statusOf(proxy, UNKNOWN)) === 401, 'unknown keys')
  expect([await statusOf(proxy, UNMETERED), await isReady()]).toEqual([200, true])
}

test('a proxy waits for a slow Redis as long as SLUICE_REDIS_TIMEOUT says', async () => {
  const patient = await world.startProxy({ env: PATIENT })
  expect(await statusOf(patient, METERED, 'paid')).toBe(200)
  world.redis.pause()
  const waiting = statusOf(patient, METERED, 'paid')
  // The other proxy has the default.
  expectUnavailable(await ask(proxy, METERED, 'paid'))
  world.redis.resume()
  expect(await waiting).toBe(200)
})

describe.each([
  ['stopped', (redis: World['redis']) => redis.pause(), (redis: World['redis']) => redis.resume()],
  ['killed', (redis: World['redis']) => redis.kill(), undefined],
] as const)('a Redis that is %s', (_, begin, end) => {
  test('known unmetered keys are served, the rest is 503 within 300 ms, and it recovers on its own', async () => {
    const served = world.upstream.calls.length
    await begin(world.redis)
    expect(await slowestOfTwo(METERED, 'paid')).toBeLessThan(300)
    expect(await slowestOfTwo(UNKNOWN)).toBeLessThan(300)
    expect(world.upstream.calls).toHaveLength(served)
    for (let i = 0; i < 20; i++) expect(await statusOf(proxy, UNMETERED)).toBe(200)
    await until(async () => (await metric(proxy, 'sluice_store_available')) === 0, 'the metric')
    expect([await isReady(), proxy.running.status().store]).toEqual([true, 'away'])
    await delay(1_500)
    expect(await statusOf(proxy, UNMETERED)).toBe(200)
    expectUnavailable(await ask(proxy, METERED, 'paid'))

    if (end !== undefined) end(world.redis)
    else {
      await world.redis.restart()
      await until(() => world.store.config.position().catch(() => undefined), 'the store')
      await world.lead()
      await fund(world, FUNDS)
    }
    await recovers()
    expect(await metric(proxy, 'sluice_store_available')).toBe(1)
  })
})

test('a settle waits until Redis is back and is posted within seconds', async () => {
  const before = (await balance(world)).posted
  const gate = Promise.withResolvers<void>()
  const script = world.upstream
  script.answer(async (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (more: object) =>
      res.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'paid', ...more })}\n\n`,
      )
    event({ choices: [{ index: 0, delta: { content: 'one' }, finish_reason: null }] })
    await gate.promise
    event({ choices: [{ index: 0, delta: { content: 'two' }, finish_reason: 'stop' }] })
    event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })
    res.end('data: [DONE]\n\n')
  })
  const streams = Array.from({ length: 50 }, () => ask(proxy, METERED, 'paid', { stream: true }))
  await until(async () => (await balance(world)).held === 50 * PRICE, 'the holds')
  world.redis.pause()
  gate.resolve()
  for (const { status, text } of await Promise.all(streams)) {
    expect(status).toBe(200)
    expect(text).toContain('two')
    expect(text).toContain('[DONE]')
  }
  await until(async () => (await metric(proxy, 'sluice_settle_queue')) === 50, 'the queue')
  world.redis.resume()
  await until(async () => (await metric(proxy, 'sluice_settle_queue')) === 0, 'the empty queue')
  expect(await balance(world)).toEqual({ posted: before - 50 * PRICE, held: 0 })
})

test('a proxy that stops while Redis is down logs what it could not post', async () => {
  const gate = Promise.withResolvers<void>()
  world.upstream.answer(async (_, res) => {
    await gate.promise
    res.writeHead(200, { 'content-type': 'application/json' })
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
    const message = { role: 'assistant', content: 'x' }
    res.end(JSON.stringify({ id: 'c', object: 'chat.completion', choices: [{ index: 0, message }], usage }))
  })
  const answer = ask(proxy, METERED, 'paid')
  await until(async () => (await balance(world)).held === PRICE, 'the hold')
  world.redis.pause()
  gate.resolve()
  const { status, headers } = await answer
  expect(status).toBe(200)
  await until(async () => (await metric(proxy, 'sluice_settle_queue')) === 1, 'the queue')
  await proxy.stop(0)
  const line = proxy.log.map((text) => JSON.parse(text)).find(({ kind }) => kind === 'dead_settle')
  expect(line).toMatchObject({ account: ACCOUNT, requestId: headers['x-request-id'], amount: '0.000001' })
})

test('an emptied Redis removes no table or key; accounts stay closed until they are restored', async () => {
  await world.redis.command('FLUSHALL')
  const until3s = performance.now() + 3_000
  const seen = new Set<string>()
  while (performance.now() < until3s) {
    seen.add(`unmetered ${await statusOf(proxy, UNMETERED)}`)
    seen.add(`metered ${await statusOf(proxy, METERED, 'paid')}`)
    seen.add(`unknown ${await statusOf(proxy, UNKNOWN)}`)
    seen.add(`ready ${await isReady()}`)
  }
  expect(seen).toEqual(new Set(['unmetered 200', 'metered 503', 'unknown 503', 'ready true']))
  await world.lead()
  await until(async () => (await statusOf(proxy, UNKNOWN)) === 401, 'unknown keys')
  expect(await statusOf(proxy, UNMETERED)).toBe(200)
  expectUnavailable(await ask(proxy, METERED, 'paid'))
  await fund(world, FUNDS)
  expect(await statusOf(proxy, METERED, 'paid')).toBe(200)
})

test('no valid key is refused at the moment when an emptied Redis is refilled', async () => {
  const keys = Array.from({ length: 400 }, (_, i) => `sk-many-${i}`)
  const [record] = world.keys.values()
  if (record === undefined) throw new Error('no key')
  for (const key of keys) world.keys.set(keyHash(key), record)
  await world.publish()
  const seen = new Map<number, number>()
  let over = false
  const load = Array.from({ length: 8 }, async (_, lane) => {
    for (let i = lane; !over; i += 8) {
      // Cached keys and keys that this proxy has never seen.
      const status = await statusOf(proxy, keys[i % keys.length] ?? '')
      seen.set(status, (seen.get(status) ?? 0) + 1)
    }
  })
  const answers = () => [...seen.values()].reduce((sum, count) => sum + count, 0)
  const answered = async (count: number) => {
    const before = answers()
    await until(() => answers() >= before + count, `${count} answers`)
  }
  for (let round = 0; round < 5; round++) {
    await answered(40)
    await world.redis.command('FLUSHALL')
    await answered(8)
    await world.lead()
  }
  await answered(40)
  over = true
  await Promise.all(load)
  expect(seen.get(200)).toBeGreaterThan(40)
  expect([...seen.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
})

describe('invalid stored data', () => {
  /** Like a lost connection, this makes a proxy read everything again. */
  const breakConnections = async () => {
    await world.redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until(() => world.store.config.position().catch(() => undefined), 'the store')
  }

  test('a table that does not open is ignored and reported, and the next good one replaces it', async () => {
    await world.redis.command('SET', TABLE, '{"kid":"k1","iv":"AAAA","ct":"AAAA"}')
    const cold = await world.startProxy({ ready: false, env: IMPATIENT })
    await breakConnections()
    const series = 'sluice_records_unreadable_total{kind="table"}'
    for (const one of [proxy, cold]) await until(async () => (await metric(one, series)) > 0, 'the alarm')
    expect([await statusOf(proxy, UNMETERED), await isReady()]).toEqual([200, true])
    expect(cold.running.status().ready).toBe(false)
    expectUnavailable(await ask(cold, UNMETERED))
    await world.publish()
    await until(() => cold.running.status().ready, 'the other proxy')
    expect([await statusOf(proxy, UNMETERED), await statusOf(cold, UNMETERED)]).toEqual([200, 200])
    expect(proxy.log.join('')).toContain('a stored record cannot be used')
  })

  test('swapped records are ignored, and the last good ones stay in force', async () => {
    const { posted } = await balance(world)
    const unmetered = await world.redis.command('GET', keyRecordKey(keyHash(UNMETERED)))
    await world.redis.command('SET', keyRecordKey(keyHash(METERED)), String(unmetered))
    await breakConnections()
    const series = 'sluice_records_unreadable_total{kind="key"}'
    await until(async () => {
      expect([200, 503]).toContain(await statusOf(proxy, METERED, 'paid'))
      return (await metric(proxy, series)) > 0
    }, 'the alarm')
    // The same account still pays.
    await until(async () => (await statusOf(proxy, METERED, 'paid')) === 200, 'a request')
    expect((await balance(world)).posted).toBeLessThan(posted)
    // A proxy that never knew the key does not guess.
    const cold = await world.startProxy({ env: IMPATIENT })
    expectUnavailable(await ask(cold, METERED, 'paid'))
    expect(await statusOf(cold, UNMETERED)).toBe(200)
  })
})

test('a proxy that starts without Redis listens, is not ready, answers 503, and recovers on its own', async () => {
  await world.redis.kill()
  const cold = await world.startProxy({ ready: false, env: IMPATIENT })
  expect((await call(`${cold.admin}/readyz`)).status).toBe(503)
  expect((await call(`${cold.admin}/healthz`)).status).toBe(200)
  for (const key of [UNMETERED, METERED, UNKNOWN]) expectUnavailable(await ask(cold, key))
  expect(cold.running.status()).toMatchObject({ ready: false, reason: 'the store is away', store: 'away' })
  await world.redis.restart()
  await until(() => world.store.config.position().catch(() => undefined), 'the store')
  await delay(300)
  expect(cold.running.status().ready).toBe(false)
  expectUnavailable(await ask(cold, UNMETERED))
  await world.lead()
  await until(() => cold.running.status().ready, 'the proxy')
  // On a slow machine a just started Redis may be late with its first answers.
  await until(async () => (await statusOf(cold, UNMETERED)) === 200, 'the known key')
  await until(async () => (await statusOf(cold, UNKNOWN)) === 401, 'the unknown key')
})
