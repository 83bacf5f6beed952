/** A bad resource harms only itself. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { askAll, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import type { KindName } from '../../harness/kube-http.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const GOOD = '200 up none good-target'
let fleet: Fleet
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startReportingUpstream('up')
  fleet = await startFleet({ controlPlane: await controlPlane(), controllers: 1 })
  const { kube } = fleet
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: upstream.baseURL,
    auth: { scheme: 'None' },
  })
  await kube.create('ModelRoute', 'good', route('good', 'good-target'))
  await kube.create('ApiKey', 'good', { hashes: [digestOf('sk-good')] })
  await serves('sk-good', 'good', GOOD)
}, 120_000)
afterAll(async () => {
  await fleet?.stop()
  await upstream.close()
})

const route = (model: string, target: string, channel = 'main') => ({
  model,
  channels: [{ name: channel, model: target }],
  free: true,
})

const serves = (key: string, model: string, summary: string) =>
  until(
    async () => (await askAll(fleet.bases, key, model)).every((each) => each === summary),
    `every proxy to say ${summary}`,
  )

const becomes = (kind: KindName, name: string, type: string, expected: string) =>
  until(
    async () => (await fleet.kube.condition(kind, name, type)) === expected,
    `${kind}/${name} to be ${type} ${expected}`,
  )

/** A good change beside the bad one takes effect, and the old ones still serve. */
async function othersGoOn(name: string): Promise<void> {
  await fleet.kube.create('ApiKey', name, { hashes: [digestOf(`sk-${name}`)] })
  await serves(`sk-${name}`, 'good', GOOD)
  await serves('sk-good', 'good', GOOD)
}

it('a route to a channel that does not exist', async () => {
  await fleet.kube.create('ModelRoute', 'nowhere', route('nowhere', 'x', 'no-such-channel'))
  await becomes('ModelRoute', 'nowhere', 'ResolvedRefs', 'False RefNotFound')
  await othersGoOn('beside-nowhere')
  expect(
    (await askAll(fleet.bases, 'sk-good', 'nowhere')).filter((summary) => summary.startsWith('200')),
  ).toEqual([])
})

it('a channel whose Secret does not exist', async () => {
  await fleet.kube.create('Channel', 'unsealed', {
    type: 'chat_completion',
    baseURL: upstream.baseURL,
    secretRef: { name: 'no-such-secret' },
  })
  await fleet.kube.create('ModelRoute', 'unsealed', route('unsealed', 'x', 'unsealed'))
  await becomes('Channel', 'unsealed', 'ResolvedRefs', 'False RefNotFound')
  await othersGoOn('beside-unsealed')
  const summaries = await askAll(fleet.bases, 'sk-good', 'unsealed')
  expect(summaries.filter((each) => each.startsWith('200'))).toEqual([])
  // It serves as soon as the Secret exists.
  await fleet.kube.secret('no-such-secret', { key: 'credential' })
  await serves('sk-good', 'unsealed', '200 up credential x')
})

it('a key whose account does not exist is refused, and no other', async () => {
  await fleet.kube.create('ApiKey', 'poor', {
    hashes: [digestOf('sk-poor')],
    accountRef: { name: 'no-such-account' },
  })
  await becomes('ApiKey', 'poor', 'ResolvedRefs', 'False RefNotFound')
  await othersGoOn('beside-poor')
  const summaries = await askAll(fleet.bases, 'sk-poor', 'good')
  expect(summaries.filter((each) => each.startsWith('200'))).toEqual([])
})

it('a second route for a model: the older one keeps serving, whatever their names', async () => {
  const { kube, bases } = fleet
  await secondAfter('good')
  await kube.create('ModelRoute', 'a-later', route('good', 'later-target'))
  await becomes('ModelRoute', 'a-later', 'Accepted', 'False Conflicted')
  await becomes('ModelRoute', 'good', 'Accepted', 'True Accepted')
  await othersGoOn('beside-later')
  // The later one takes over when the older is deleted, and keeps the model.
  await kube.remove('ModelRoute', 'good')
  await serves('sk-good', 'good', '200 up none later-target')
  await secondAfter('a-later')
  await kube.create('ModelRoute', 'a-latest', route('good', 'latest-target'))
  await becomes('ModelRoute', 'a-latest', 'Accepted', 'False Conflicted')
  await becomes('ModelRoute', 'a-later', 'Ready', 'True Ready')
  expect(await askAll(bases, 'sk-good', 'good')).toEqual(bases.map(() => '200 up none later-target'))
})

/** The API server reports ages in whole seconds. */
async function secondAfter(name: string): Promise<void> {
  const { metadata } = await fleet.kube.get('ModelRoute', name)
  const created = Date.parse(metadata.creationTimestamp)
  await until(() => Date.now() >= created + 1_000, 'another second')
}
