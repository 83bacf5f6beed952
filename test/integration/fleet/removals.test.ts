/** Most keys and routes are removed at once: proxies stop serving them, and other changes do not wait. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { ask, askAll, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const MANY = 30
const LEASE_SECONDS = 5

let fleet: Fleet
let first: ScriptedUpstream
let second: ScriptedUpstream

beforeAll(async () => {
  first = await startReportingUpstream('first')
  second = await startReportingUpstream('second')
  fleet = await startFleet({
    controlPlane: await controlPlane(),
    env: { SLUICE_LEASE_DURATION: `${LEASE_SECONDS}s` },
  })
  const { kube } = fleet
  for (const name of ['main', 'other']) await kube.create('Channel', name, channel(first))
  await kube.create('ModelRoute', 'kept', route('kept'))
  await kube.create('ApiKey', 'kept', { hashes: [digestOf('sk-kept')] })
  await createMany()
  await serves('sk-kept', 'kept', '200 first none kept')
}, 120_000)
afterAll(async () => {
  await fleet?.stop()
  await Promise.all([first.close(), second.close()])
}, 60_000)

const channel = ({ baseURL }: ScriptedUpstream) => ({
  type: 'chat_completion',
  baseURL,
  auth: { scheme: 'None' },
})
const route = (model: string, name = 'main') => ({ model, channels: [{ name }], free: true })
const path = (plural: string) => `/apis/sluice.dev/v1alpha1/namespaces/${fleet.namespace}/${plural}`

async function createMany(): Promise<void> {
  const { kube } = fleet
  const labels = { team: 'leaving' }
  const create = (kind: string, plural: string, name: string, spec: object) =>
    kube.request('POST', path(plural), {
      apiVersion: 'sluice.dev/v1alpha1',
      kind,
      metadata: { name, labels },
      spec,
    })
  for (let n = 0; n < MANY; n++) {
    await create('ApiKey', 'apikeys', `many-${n}`, { hashes: [digestOf(`sk-many-${n}`)] })
    await create('ModelRoute', 'modelroutes', `many-${n}`, route(`many-${n}`))
  }
  await serves(`sk-many-${MANY - 1}`, `many-${MANY - 1}`, `200 first none many-${MANY - 1}`)
}

/** Waits until all proxies give this answer at once. */
async function serves(key: string, model: string, summary: string): Promise<void> {
  let last: string[] = []
  await until(
    async () => {
      last = await askAll(fleet.bases, key, model)
      return last.every((each) => each === summary)
    },
    `every proxy to say ${summary}`,
    10_000,
  ).catch((error: unknown) => {
    throw new Error(`the proxies say ${last.join(', ')}`, { cause: error })
  })
}

it('without a leading controller: the next leader removes them, and other changes take effect', async () => {
  const { kube } = fleet
  const leader = await fleet.leader()
  leader.kill('SIGKILL')
  await leader.exited
  for (const plural of ['apikeys', 'modelroutes'])
    await kube.request('DELETE', `${path(plural)}?labelSelector=team%3Dleaving`)
  await kube.patch('Channel', 'other', channel(second))
  await kube.create('ModelRoute', 'fresh', route('fresh', 'other'))
  const next = await fleet.leader()
  expect(next.name).not.toBe(leader.name)
  for (const n of [0, MANY - 1]) await serves(`sk-many-${n}`, 'kept', '401 unauthorized')
  await serves('sk-kept', 'fresh', '200 second none fresh')
  const lines = () =>
    next
      .output()
      .split('\n')
      .filter((line) => line.includes('were removed at once'))
  const logged = await until(() => lines().length > 0 && lines(), 'a line in the log')
  expect(logged).toHaveLength(1)
  expect(logged[0]).toContain(`${MANY} of ${MANY + 1} keys`)
  expect(logged[0]).toContain(`"namespaces":["${fleet.namespace}"]`)
  await until(
    async () =>
      (await fleet.kubectl('get', 'events', '-o', 'jsonpath={..reason}')).stdout.includes('MostRemoved'),
    'an event',
  )
  const status = await fetch(`${next.admin}/status`).then((answer) => answer.text())
  expect(status).toContain(`${MANY} of ${MANY + 1} keys`)
  await leader.restart()
}, 90_000)

it('all ModelRoutes under a leader: no model is served or listed, and later edits take effect', async () => {
  const { kube } = fleet
  const [unknown] = await askAll(fleet.bases, 'sk-kept', 'no-such-model')
  expect(unknown).toMatch(/^502 /)
  await kube.request('DELETE', path('modelroutes'))
  await serves('sk-kept', 'kept', unknown ?? '')
  for (const base of fleet.bases) {
    const headers = { authorization: 'Bearer sk-kept' }
    const models = await fetch(`${base}/v1/models`, { headers }).then((answer) => answer.json())
    expect(models).toMatchObject({ data: [] })
  }
  await kube.patch('Channel', 'main', channel(second))
  await kube.create('ModelRoute', 'later', route('later'))
  await serves('sk-kept', 'later', '200 second none later')
  expect((await ask(fleet.bases[0] ?? '', 'sk-kept', 'kept')).summary).toBe(unknown)
}, 60_000)
