/** Helm's --wait and Flux never see a broken resource as done, not even for a moment. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { digestOf } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import type { KindName } from '../../harness/kube-http.ts'
import { kstatus, program, type Verdict } from '../../kstatus/kstatus.ts'

let fleet: Fleet

beforeAll(async () => {
  program()
  fleet = await startFleet({ controlPlane: await controlPlane(), controllers: 1, proxies: 2 })
  const { kube } = fleet
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: 'http://127.0.0.1:9/v1',
    auth: { scheme: 'None' },
  })
  await kube.create('ModelRoute', 'm', { model: 'm', channels: [{ name: 'main' }], free: true })
  await kube.create('Account', 'team', {})
  await kube.create('Credit', 'start', { accountRef: { name: 'team' }, amount: '1' })
  await kube.create('ApiKey', 'alice', { accountRef: { name: 'team' }, hashes: [digestOf('sk-alice')] })
}, 600_000)
afterAll(() => fleet?.stop(), 60_000)

const textOf = async (kind: KindName, name: string) =>
  JSON.stringify(
    await fleet.kube.request(
      'GET',
      `/apis/sluice.dev/v1alpha1/namespaces/${fleet.namespace}/${kind.toLowerCase()}s/${name}`,
    ),
  )

const becomes = (kind: KindName, name: string, expected: string) =>
  until(
    async () => (await fleet.kube.condition(kind, name, 'Ready')) === expected,
    `${kind}/${name} to be Ready ${expected}`,
    15_000,
  )

it('reports every kind as current when it is ready', async () => {
  const resources = [
    ['Channel', 'main'],
    ['ModelRoute', 'm'],
    ['Account', 'team'],
    ['Credit', 'start'],
    ['ApiKey', 'alice'],
  ] as const
  for (const [kind, name] of resources) await becomes(kind, name, 'True Ready')
  const texts = await Promise.all(resources.map(([kind, name]) => textOf(kind, name)))
  expect(kstatus(texts)).toEqual(resources.map(() => 'Current'))
}, 60_000)

it.each<[KindName, string, object, object, string, Verdict]>([
  [
    'ModelRoute',
    'm',
    { channels: [{ name: 'nowhere' }] },
    { channels: [{ name: 'main' }] },
    'RefNotFound',
    'InProgress',
  ],
  ['Channel', 'main', { secretRef: { name: 'nowhere' } }, { secretRef: null }, 'RefNotFound', 'InProgress'],
  ['ApiKey', 'alice', { expiresAt: '2020-01-01T00:00:00Z' }, { expiresAt: null }, 'Expired', 'Failed'],
  ['Account', 'team', { budget: { amount: '1', timeZone: 'Mars' } }, { budget: null }, 'Invalid', 'Failed'],
])(
  'never reports a broken %s as current: %j',
  async (kind, name, breaks, mends, reason, verdict) => {
    const { kube } = fleet
    await becomes(kind, name, 'True Ready')
    await kube.patch(kind, name, breaks)
    const seen: string[] = []
    await until(
      async () => {
        seen.push(await textOf(kind, name))
        return (await kube.condition(kind, name, 'Ready')) === `False ${reason}`
      },
      'the fault to be reported',
      15_000,
    )
    seen.push(await textOf(kind, name))
    const verdicts = kstatus(seen)
    expect(verdicts).not.toContain('Current')
    expect(verdicts.at(-1)).toBe(verdict)
    await kube.patch(kind, name, mends)
    await becomes(kind, name, 'True Ready')
    expect(kstatus([await textOf(kind, name)])).toEqual(['Current'])
  },
  60_000,
)
