/** Limits of resources in a cluster: in force on every proxy, also after the proxy with the places was killed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { ask, digestOf } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'

/** A lease, and the time until the leader looks for expired ones. */
const PATIENCE_MS = 60_000
const KEYS = { metered: 'sk-limited-with-an-account', unmetered: 'sk-limited-without-an-account' }

let fleet: Fleet
let upstream: ScriptedUpstream
beforeAll(async () => {
  upstream = await startUpstream(chatAnswer())
  fleet = await startFleet({ controlPlane: await controlPlane(), controllers: 1, proxies: 3 })
  const { kube } = fleet
  const { baseURL } = upstream
  await kube.create('Channel', 'main', { type: 'chat_completion', baseURL, auth: { scheme: 'None' } })
  await kube.create('ModelRoute', 'm', { model: 'm', channels: [{ name: 'main' }], free: true })
  await kube.create('Account', 'team', {})
  await kube.create('Credit', 'money', { accountRef: { name: 'team' }, amount: '10' })
  await kube.create('ApiKey', 'metered', {
    ...{ hashes: [digestOf(KEYS.metered)], accountRef: { name: 'team' } },
    limits: { concurrentRequests: 3 },
  })
  await kube.create('ApiKey', 'unmetered', {
    hashes: [digestOf(KEYS.unmetered)],
    limits: { requestsPerDay: 4 },
  })
  for (const base of fleet.bases)
    await until(
      async () => (await status(base, KEYS.metered)) === '200',
      'a request to be served',
      PATIENCE_MS,
    )
})
afterAll(async () => {
  await fleet?.stop()
  await upstream?.close()
})

const status = async (base: string, key: string) => (await ask(base, key, 'm')).summary.split(' ')[0]
const baseOf = (i: number) => fleet.bases[i % fleet.bases.length] ?? ''

test('a key without an account has its limit over all proxies', async () => {
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push(await status(baseOf(i), KEYS.unmetered))
  expect(statuses).toEqual(['200', '200', '200', '200', '429', '429'])
})

test('a raised limit is in force without a restart', async () => {
  await fleet.kube.patch('ApiKey', 'unmetered', { limits: { requestsPerDay: 5 } })
  await until(async () => (await status(baseOf(0), KEYS.unmetered)) === '200', 'the fifth request')
  expect(await status(baseOf(1), KEYS.unmetered)).toBe('429')
})

test('places of a killed proxy are free when the leases of its holds end', async () => {
  const gate = Promise.withResolvers<void>()
  upstream.answer(async (call, res) => {
    await gate.promise
    await chatAnswer()(call, res)
  })
  const before = upstream.calls.length
  const [killed] = fleet.proxies
  if (killed === undefined) throw new Error('no proxy')
  const running = [0, 1].map(() => ask(killed.base, KEYS.metered, 'm').catch(() => undefined))
  const other = ask(baseOf(1), KEYS.metered, 'm')
  await until(() => upstream.calls.length === before + 3, 'the upstream calls')
  expect(await status(baseOf(2), KEYS.metered)).toBe('429')
  killed.kill('SIGKILL')
  await killed.exited
  await Promise.all(running)
  // The third request still runs: its place must not become free.
  upstream.answer(chatAnswer())
  await until(async () => (await status(baseOf(2), KEYS.metered)) === '200', 'a free place', PATIENCE_MS)
  gate.resolve()
  expect((await other).summary).toMatch(/^200/)
}, 120_000)
