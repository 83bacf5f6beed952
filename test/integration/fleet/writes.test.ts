/** A change writes only itself; a restart writes nothing. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, metric, startFleet } from '../../harness/fleet.ts'
import { askAll, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { KIND_NAMES } from '../../harness/kube-http.ts'
import { monitorRedis } from '../../harness/redis-monitor.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const KEYS = 20
const MODEL_SAID = '200 up credential m'
let fleet: Fleet
/** Requests that were answered 200. */
let served = 0
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startReportingUpstream('up')
  fleet = await startFleet({ controlPlane: await controlPlane() })
  const { kube } = fleet
  await kube.secret('upstream', { key: 'credential' })
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: upstream.baseURL,
    secretRef: { name: 'upstream' },
  })
  await kube.create('ModelRoute', 'm', { model: 'm', channels: [{ name: 'main' }], free: true })
  await kube.create('Account', 'payer', {})
  await kube.create('Credit', 'payer', { accountRef: { name: 'payer' }, amount: '5' })
  // The controller creates the key of this one.
  await kube.create('ApiKey', 'made', { accountRef: { name: 'payer' } })
  for (let i = 0; i < KEYS; i++) await kube.create('ApiKey', `key-${i}`, { hashes: [digestOf(`sk-${i}`)] })
  await everythingReady()
}, 120_000)
afterAll(async () => {
  await fleet?.stop()
  await upstream.close()
})

/** Waits until every resource is Ready and no status write is pending. */
async function everythingReady(): Promise<void> {
  await until(async () => {
    for (const kind of KIND_NAMES)
      for (const { metadata } of await fleet.kube.list(kind))
        if (!(await fleet.kube.condition(kind, metadata.name, 'Ready'))?.startsWith('True')) return false
    return true
  }, 'all resources to be Ready')
}

/** resourceVersion of every resource and Secret. */
async function versions(): Promise<Record<string, string>> {
  const { kube, namespace } = fleet
  const found: Record<string, string> = {}
  for (const kind of KIND_NAMES)
    for (const { metadata } of await kube.list(kind))
      found[`${kind}/${metadata.name}`] = metadata.resourceVersion
  const secrets = z.object({
    items: z.array(z.object({ metadata: z.object({ name: z.string(), resourceVersion: z.string() }) })),
  })
  const { items } = secrets.parse(await kube.request('GET', `/api/v1/namespaces/${namespace}/secrets`))
  for (const { metadata } of items) found[`Secret/${metadata.name}`] = metadata.resourceVersion
  return found
}

/** Tables, records and ledgers in Redis, by key. */
async function stored(): Promise<Record<string, unknown>> {
  const { redis } = fleet
  const names = z.array(z.string()).parse(await redis.command('KEYS', 'sluice:*'))
  const kept = names.filter((name) => !/:(epoch|proxies)$|^sluice:log$/.test(name)).sort()
  return Object.fromEntries(
    await Promise.all(kept.map(async (name) => [name, String(await redis.command('DUMP', name))])),
  )
}

/** Sends a request with key-7 to every proxy; how many were served. The others must be refused for the model. */
async function served7(): Promise<number> {
  const summaries = await askAll(fleet.bases, 'sk-7', 'm')
  const refused = summaries.filter((summary) => summary !== MODEL_SAID)
  expect(refused.filter((summary) => summary !== '403 model_not_allowed')).toEqual([])
  const count = summaries.length - refused.length
  served += count
  return count
}

/** Requests in the usage that is kept in Redis. It is counted after the answers, for several requests at once. */
async function counted(): Promise<number> {
  const { redis } = fleet
  const names = z.array(z.string()).parse(await redis.command('KEYS', 'sluice:*:use:*:*'))
  const rows = await Promise.all(
    names.map(async (name) => z.array(z.string()).parse(await redis.command('HVALS', name))),
  )
  return rows.flat().reduce((sum, counts) => sum + Number(/\br(\d+)/.exec(counts)?.[1] ?? 0), 0)
}

it('writes one record for one change', async () => {
  const monitor = await monitorRedis(fleet.redis.port)
  try {
    await until(async () => (await served7()) === fleet.bases.length, 'every proxy to serve the key')
    await fleet.kube.patch('ApiKey', 'key-7', { models: ['other'] })
    await until(async () => (await served7()) === 0, 'the change to be in force')
    await everythingReady()
    const writes = monitor
      .commands()
      .filter((command) => /^(set|del|unlink|xadd) sluice:\{cfg\}/.test(command))
    expect(writes.sort()).toEqual([`set sluice:{cfg}:key:${digestOf('sk-7')}`, 'xadd sluice:{cfg}:changes'])
  } finally {
    monitor.stop()
  }
})

it('writes nothing when both controllers restart and nothing has changed', async () => {
  const { controllers } = fleet
  const isCheckpoint = (name: string) => /-ledger-[0-9a-f]{2}$/.test(name)
  await until(async () => Object.keys(await versions()).some(isCheckpoint), 'the checkpoint', 30_000)
  await until(async () => (await counted()) === served, 'the usage of earlier requests')
  const before = { versions: await versions(), stored: await stored() }
  expect(Object.keys(before.stored).length).toBeGreaterThan(KEYS)
  await fleet.stopAll(controllers)
  await fleet.startAll(controllers)
  const leader = await fleet.leader()
  // It has compared everything with the store and examined all heartbeats and statuses.
  await until(
    async () => ((await metric(leader, 'sluice_publications_total{result="unchanged"}')) ?? 0) > 0,
    'the new leader to compare',
  )
  await fleet.kube.create('ApiKey', 'after', { hashes: [digestOf('sk-after')] })
  await until(
    async () => (await fleet.kube.condition('ApiKey', 'after', 'Ready'))?.startsWith('True'),
    'a later change to be Ready',
  )
  // The server answers an unchanged status like a write but keeps its version. The Lease is a PUT.
  const patched = () => metric(leader, 'rest_client_requests_total{method="PATCH",code="200"}')
  const patches = await until(patched, 'the leader to report its writes')
  expect(patches).toBeLessThanOrEqual(2)
  const after = { versions: await versions(), stored: await stored() }
  const added = { ...before.versions, 'ApiKey/after': after.versions['ApiKey/after'] }
  expect(after.versions).toEqual(added)
  const changed = Object.keys(after.stored).filter((name) => after.stored[name] !== before.stored[name])
  // From that change.
  expect(changed.sort()).toEqual([
    'sluice:{cfg}:changes',
    `sluice:{cfg}:key:${digestOf('sk-after')}`,
    'sluice:{cfg}:manifest',
  ])
  expect(Object.keys(before.stored).filter((name) => !(name in after.stored))).toEqual([])
  expect(await askAll(fleet.bases, 'sk-1', 'm')).toEqual([MODEL_SAID, MODEL_SAID, MODEL_SAID])
}, 90_000)
