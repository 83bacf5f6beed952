/** A Redis that is killed, hangs, holds invalid data, or is emptied. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyRecordKey, TABLE } from '../../store/keys.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { metric } from '../harness/fleet.ts'
import { digestOf } from '../harness/fleet-traffic.ts'
import { until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { PRICE, ROUNDS, startWorld, type World } from './world.ts'

const STREAMS = 10
const FAULT_MS = 3_500

let world: World
beforeAll(async () => {
  const redisArgs = ['--appendonly', 'yes']
  world = await startWorld({ controlPlane: await controlPlane(), proxies: 3, redisArgs })
})
afterAll(() => world.stop())

/** Metered streams through all proxies, each held and in the middle of its answer. */
async function openStreams() {
  const { bases } = world.fleet
  const body = chatBody('slow', { stream: true, max_tokens: 1_000 })
  const headers = jsonHeaders(world.credentials.metered.key)
  const answers = Array.from({ length: STREAMS }, (_, i) =>
    call(`${bases[i % bases.length]}/v1/chat/completions`, { headers, body }),
  )
  const held = async () =>
    ((await world.store.ledger.balance(world.account().id))?.held ?? 0) >= STREAMS * PRICE
  await until(held, 'the holds of the streams')
  return answers
}

async function allReady(): Promise<boolean> {
  const states = world.fleet.proxies.map(async ({ admin }) => (await fetch(`${admin}/readyz`)).ok)
  return (await Promise.all(states)).every((ready) => ready)
}

/** Writes behind the controller's back. */
const put = (key: string, value: unknown) => world.fleet.redis.command('SET', key, String(value))
const stored = (key: string) => world.fleet.redis.command('GET', key)

/** Like a lost connection, this makes every proxy read everything again. */
async function breakConnections(): Promise<void> {
  await world.fleet.redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
}

/** Writes it, again if it was repaired meanwhile, until every proxy has seen and reported it. */
async function attack(kind: 'table' | 'key', name: string, value: unknown): Promise<void> {
  const series = `sluice_records_unreadable_total{kind="${kind}"}`
  const counts = () =>
    Promise.all(world.fleet.proxies.map(async (proxy) => Number(await metric(proxy, series))))
  const before = await counts()
  const attacked = async () => {
    await put(name, value)
    await breakConnections()
    const all = async () => (await counts()).every((count, i) => count > (before[i] ?? 0))
    return until(all, 'alarms', 1_500).catch(() => false)
  }
  await until(attacked, `alarms about a ${kind}`)
}

const FAULTS = [
  ['kill -9', () => world.fleet.redis.kill(), () => world.fleet.redis.restart()],
  ['SIGSTOP', async () => world.fleet.redis.pause(), async () => world.fleet.redis.resume()],
] as const

describe.each(ROUNDS)('round %i', () => {
  describe.each(FAULTS)('%s of Redis', (_, begin, end) => {
    it('refuses metered callers, serves the others, and charges each stream once afterwards', async () => {
      const victim = await world.createVictim()
      const before = await world.charged()
      const streams = await openStreams()
      const traffic = world.traffic()
      await until(() => traffic.of('metered').length > 20, 'traffic')
      await begin()
      const since = performance.now()
      const edit = world.edit(victim)
      try {
        world.finishStreams()
        for (const { status, text } of await Promise.all(streams)) {
          expect(status).toBe(200)
          expect(text).toContain('[DONE]')
        }
        await until(() => performance.now() - since > FAULT_MS, 'the fault to last')
        expect(await allReady()).toBe(true)
        traffic.expectUnavailable(since)
        // Some may have been answered before.
        for (const caller of ['metered', 'unknown'] as const) {
          const statuses = traffic.of(caller, since + 500).map(({ status }) => status)
          expect([...new Set(statuses)], caller).toEqual([503])
        }
      } finally {
        await end()
      }
      const back = performance.now()
      await world.expectInForce(await edit)
      await world.expectHealthy()
      console.log(`recovered after ${Math.round(performance.now() - back)} ms`)
      const { served } = await traffic.stop()
      traffic.expectRight()
      await world.expectCharged(before, served + STREAMS)
    })
  })

  it("an attacker's records are ignored, reported and repaired", async () => {
    const { unmetered, metered } = world.credentials
    const victim = await world.createVictim()
    const old = await stored(TABLE)
    const before = await world.charged()
    await world.expectInForce(await world.edit(victim))
    const good = await stored(TABLE)
    const traffic = world.traffic()
    const [ofUnmetered, ofMetered] = [unmetered, metered].map(({ key }) => keyRecordKey(digestOf(key)))
    if (ofUnmetered === undefined || ofMetered === undefined) throw new Error('there are no keys')
    const record = String(await stored(ofMetered))

    for (const table of ['{"kid":"k1","iv":"AAAA","ct":"AAAA"}', String(good).slice(0, -40), old]) {
      await attack('table', TABLE, table)
      await until(async () => (await stored(TABLE)) !== table, 'the table to be repaired')
    }
    // The record of a key without an account, and half of the key's own.
    for (const bad of [await stored(ofUnmetered), record.slice(0, record.length / 2)])
      await attack('key', ofMetered, bad)
    // A new leader compares everything.
    const leader = await world.fleet.leader()
    leader.kill('SIGTERM')
    await leader.exited
    await leader.restart()
    const name = world.account().name.replace('account', 'metered')
    const repaired = async () =>
      (await world.store.config.key(digestOf(metered.key)).catch(() => undefined))?.name
    await until(async () => (await repaired()) === name, 'the record to be repaired')
    await world.expectInForce(await world.edit(await world.createVictim()))
    await world.expectHealthy()
    const { served } = await traffic.stop()
    traffic.expectRight()
    await world.expectCharged(before, served)
  })

  it('an emptied Redis is refilled, and every balance restored', async () => {
    const { kube, redis } = world.fleet
    const account = world.account()
    await until(async () => (await world.checkpointed()).has(account.id), 'the checkpoint')
    const victim = await world.createVictim()
    const before = await world.charged()
    const streams = await openStreams()
    const traffic = world.traffic()
    await until(() => traffic.of('metered').length > 20, 'traffic')
    await redis.command('FLUSHALL')
    const since = performance.now()
    const served = () => traffic.of('metered', since).filter(({ status }) => status === 200)
    await until(() => served().length > 5, 'the account to be served again')
    console.log(`restored after ${Math.round(performance.now() - since)} ms`)
    await until(
      () => traffic.of('unknown', since).some(({ status }) => status === 401),
      'unknown keys to be refused again',
    )
    await world.expectInForce(await world.edit(victim))
    world.finishStreams()
    for (const { status } of await Promise.all(streams)) expect(status).toBe(200)
    // Neither a new leader nor a restart gives the credit again.
    const leader = await world.fleet.leader()
    await leader.restart()
    await world.fleet.leader()
    await world.expectHealthy()
    const { served: all } = await traffic.stop()
    traffic.expectRight()
    await world.expectCharged(before, all + STREAMS)
    expect((await world.store.ledger.balance(account.id))?.credited).toBe(world.credit)
    expect(await kube.condition('Account', account.name, 'Ready')).toBe('True Ready')
  })
})
