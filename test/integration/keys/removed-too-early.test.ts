/** A sealing key removed while records still need it: reported, harmless to known keys, and reversible. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { keyHash } from '../../../contract/ids.ts'
import { testKey } from '../../../proxy/auth/testing.ts'
import { until } from '../../harness/gateway.ts'
import { metric, startWorld, statusOf, UNKNOWN, UNMETERED, type World } from '../proxy/world.ts'
import { MountedSecret } from './mounted-secret.ts'

const NEVER_USED = 'sk-never-used-before'
const unreadable = (kind: string) => `sluice_records_unreadable_total{kind="${kind}"}`

let world: World
beforeAll(async () => {
  world = await startWorld()
  world.keys.set(keyHash(NEVER_USED), testKey({ name: 'never-used' }))
  await world.publish()
})
afterAll(() => world.stop())

it('causes no 401 for a good key, and is over once the key is put back', async () => {
  const proxy = await world.startProxy()
  expect(await statusOf(proxy, UNMETERED)).toBe(200)
  const before = readFileSync(world.sealingKeys, 'utf8')
  const after = `k2:${randomBytes(32).toString('base64')}\n`
  const secret = new MountedSecret(world.sealingKeys)
  secret.turn(after)
  await until(() => world.store.sealing.sealsWith() === 'k2', 'the file to be read')
  // Like a lost connection, this makes the proxy read everything again.
  await world.redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(async () => (await metric(proxy, unreadable('table'))) > 0, 'the alarm')
  const cold = await world.startProxy({ ready: false })
  for (let turn = 0; turn < 20; turn++) {
    expect(await statusOf(proxy, UNMETERED)).toBe(200)
    expect(await statusOf(proxy, NEVER_USED)).toBe(503)
    expect([401, 503]).toContain(await statusOf(proxy, UNKNOWN))
    expect(await statusOf(cold, UNMETERED)).toBe(503)
  }
  expect(await metric(proxy, unreadable('key'))).toBeGreaterThan(0)
  expect(proxy.log.join('')).toContain('a key that is not in the file of sealing keys')
  expect(proxy.log.join('')).not.toContain(after.slice(3).trim())

  secret.turn(after + before)
  await until(async () => (await statusOf(proxy, NEVER_USED)) === 200, 'a never used key')
  await until(() => cold.running.status().ready, 'the other proxy')
  expect([await statusOf(cold, UNMETERED), await statusOf(proxy, UNKNOWN)]).toEqual([200, 401])
})
