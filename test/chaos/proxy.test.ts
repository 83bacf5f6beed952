/** A proxy that is killed in the middle of a stream, and sealing keys that are rotated under traffic. */
import { randomBytes } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MANIFEST, TABLE } from '../../store/keys.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import { chatBody, jsonHeaders, open } from '../harness/http.ts'
import { LONG, PRICE, ROUNDS, startWorld, type World } from './world.ts'

/** A hold is renewed every 10 s, its lease is 30 s, and the controller looks for expired ones every 10 s. */
const RENEWED_MS = 11_000
const FREED_MS = 60_000

let world: World
beforeAll(async () => {
  world = await startWorld({ controlPlane: await controlPlane(), proxies: 3 })
})
afterAll(() => world.stop())

async function held(): Promise<number> {
  return (await world.store.ledger.balance(world.account().id))?.held ?? 0
}

/** A metered stream through the proxy whose first event has arrived. */
async function openStream(base: string): Promise<void> {
  const headers = jsonHeaders(world.credentials.metered.key)
  const body = chatBody('slow', { stream: true, max_tokens: 1_000 })
  const response = await open(`${base}/v1/chat/completions`, { headers, body })
  expect(response.statusCode).toBe(200)
  response.on('error', () => undefined).resume()
  await until(async () => (await held()) >= PRICE, 'the hold')
}

describe.each(ROUNDS)('round %i', () => {
  it('kill -9 of a proxy in the middle of a stream: the others continue, the hold stays until its lease ends', async () => {
    const [dead, ...others] = world.fleet.proxies
    if (dead === undefined) throw new Error('there is no proxy')
    const before = await world.charged()
    await openStream(dead.base)
    const began = performance.now()
    if (LONG) await until(() => performance.now() - began > RENEWED_MS, 'a renewal', 2 * RENEWED_MS)
    const traffic = world.traffic()
    await until(() => traffic.of('metered').length > 20, 'traffic')
    dead.kill('SIGKILL')
    await dead.exited
    const killed = performance.now()
    const others200 = () => traffic.of('metered', killed).filter(({ status }) => status === 200)
    await until(() => others200().length > 20, 'requests through the others')
    expect(new Set(others200().map(({ proxy }) => proxy))).toEqual(new Set(others.map(({ base }) => base)))
    expect(await held()).toBeGreaterThanOrEqual(PRICE)
    await dead.restart()
    await world.expectHealthy()
    const { served, broken } = await traffic.stop()
    traffic.expectRight([dead.base])
    world.finishStreams()
    if (!LONG) return
    await until(async () => (await held()) === 0, 'the holds to be freed', FREED_MS)
    console.log(`freed ${Math.round(performance.now() - killed)} ms after the kill`)
    // The part of the stream that was seen.
    await world.expectCharged(before, served + 1, broken)
  }, 180_000)
})

/** Writes the file of sealing keys and waits until every program has read it. */
async function rotate(write: (file: string) => void): Promise<void> {
  const { controllers, proxies, sealingKeysFile } = world.fleet
  const members = [...controllers, ...proxies]
  const count = (text: string) => text.split('"msg":"sealing keys were read again"').length
  const before = members.map((member) => count(member.output()))
  write(sealingKeysFile)
  const seen = () => members.every((member, i) => count(member.output()) > (before[i] ?? 0))
  await until(seen, 'all programs to read the sealing keys')
}

if (LONG)
  describe('sealing keys', () => {
    it('are rotated under traffic without a failed request', async () => {
      const line = `k2:${randomBytes(32).toString('base64')}\n`
      const victim = await world.createVictim()
      const traffic = world.traffic()
      await rotate((file) => appendFileSync(file, line))
      await rotate((file) => writeFileSync(file, line + readFileSync(file, 'utf8').replace(line, '')))
      // The leader compares everything within a minute; a new leader does at once.
      const leader = await world.fleet.leader()
      leader.kill('SIGTERM')
      await leader.exited
      await leader.restart()
      const { redis } = world.fleet
      const old = async () => {
        const digests = await redis.command('HVALS', MANIFEST)
        return JSON.stringify([digests, await redis.command('GET', TABLE)]).match(/k1[" ]|"k1/)
      }
      await until(async () => (await old()) === null, 'everything to be sealed again')
      await rotate((file) => writeFileSync(file, line))
      await world.expectInForce(await world.edit(victim))
      const [restarted] = world.fleet.proxies
      await restarted?.restart()
      await world.expectHealthy()
      await traffic.stop()
      traffic.expectRight(restarted === undefined ? [] : [restarted.base])
    }, 240_000)
  })
