/** The client, reflector, elector and events against a real API server. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { applyStatus } from '../../../controller/kube/apply.ts'
import { connectKube } from '../../../controller/kube/client.ts'
import { EventRecorder } from '../../../controller/kube/events.ts'
import { Elector } from '../../../controller/kube/lease.ts'
import { Reflector } from '../../../controller/kube/reflector.ts'
import { type KubeClient, KubeError } from '../../../controller/kube/types.ts'
import { mustKubectl } from '../../../tools/cluster/kubectl.ts'
import { controlPlane, type TestControlPlane } from '../../harness/control-plane.ts'
import { until } from '../../harness/gateway.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }
const metadataOf = (body: unknown) =>
  z.object({ metadata: z.object({ uid: z.string(), resourceVersion: z.string() }) }).parse(body).metadata

let plane: TestControlPlane
let client: KubeClient
let namespace: string

beforeAll(async () => {
  plane = await controlPlane()
  client = connectKube({ log, kubeconfig: plane.kubeconfig })
  namespace = await plane.createNamespace()
}, 120_000)
afterAll(() => client?.close())

/** Follows the ConfigMaps of the test's namespace that have the label `test`. */
function follow(label: string, through = client) {
  const seen = new Map<string, string>()
  const batches: number[] = []
  const reflector = new Reflector<string>({
    client: through,
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    labelSelector: `test=${label}`,
    log,
    keep: (object) => z.object({ value: z.string() }).parse(object.data).value,
    changed: (changes) => {
      batches.push(changes.length)
      for (const change of changes) {
        if (change.type === 'put') seen.set(change.key.replace(`${namespace}/`, ''), change.object)
        else seen.delete(change.key.replace(`${namespace}/`, ''))
      }
    },
  })
  reflector.start()
  return { reflector, seen, batches }
}

async function createConfigMap(label: string, name: string, value: string): Promise<void> {
  const body = { metadata: { name, labels: { test: label } }, data: { value } }
  await client.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/configmaps`, body })
}

test('a streaming list and a paged list give the same, each in one batch; changes follow', async () => {
  const names = Array.from({ length: 1_100 }, (_, i) => `many-${i}`)
  const waiting = [...names]
  const creator = async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop())
      await createConfigMap('many', name, `€ of ${name}`)
  }
  await Promise.all(Array.from({ length: 12 }, creator))

  let requests = 0
  const counting = (streaming: boolean): KubeClient => ({
    close: () => client.close(),
    request: (call) => {
      requests++
      return client.request(call)
    },
    stream: (call) => {
      if (!streaming && call.query?.sendInitialEvents) throw new KubeError('refused', 400)
      return client.stream(call)
    },
  })
  const streamed = follow('many', counting(true))
  await streamed.reflector.synced
  expect(requests).toBe(0)
  const paged = follow('many', counting(false))
  await paged.reflector.synced
  expect(requests).toBe(2)
  for (const { batches, seen, reflector } of [streamed, paged]) {
    expect(batches).toEqual([1_100])
    expect(seen).toEqual(new Map(names.map((name) => [name, `€ of ${name}`])))
    expect(reflector.health()).toMatchObject({ synced: true, relists: 0 })
  }

  const path = `/api/v1/namespaces/${namespace}/configmaps/many-7`
  const contentType = 'application/merge-patch+json'
  await client.request({ method: 'PATCH', path, contentType, body: { data: { value: 'new' } } })
  await client.request({ method: 'DELETE', path: path.replace('many-7', 'many-8') })
  for (const { seen } of [streamed, paged])
    await until(() => seen.get('many-7') === 'new' && !seen.has('many-8'), 'the changes')
  await Promise.all([streamed.reflector.stop(), paged.reflector.stop()])
})

test('waits for a kind that does not exist yet', async () => {
  const group = `test-${randomBytes(4).toString('hex')}.example.com`
  const reflector = new Reflector({
    client,
    path: `/apis/${group}/v1/things`,
    log,
    keep: ({ metadata }) => metadata.name,
    changed: () => {},
    backoff: { firstMs: 50, lastMs: 200 },
  })
  reflector.start()
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  }
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await client.request({ method: 'POST', path: crds, body: crd })
  await reflector.synced
  expect(reflector.size).toBe(0)
  await reflector.stop()
  await client.request({ method: 'DELETE', path: `${crds}/things.${group}` })
})

function stand(through: KubeClient, name: string, identity: string, leaseMs: number) {
  let leading: number | undefined
  const elector = new Elector({
    client: through,
    namespace,
    name,
    identity,
    leaseMs,
    log,
    onLeading: () => {
      leading = performance.now()
    },
  })
  return { elector, outcome: elector.run(), leadingSince: () => leading }
}

test('a leader that stops hands over before its Lease ends', async () => {
  // Longer than the test waits.
  const leaseMs = 600_000
  const a = stand(client, 'handover', 'a', leaseMs)
  await until(a.leadingSince, 'a to lead')
  const b = stand(client, 'handover', 'b', leaseMs)
  const holder = await mustKubectl(plane.kubectl, '-n', namespace, 'get', 'lease', 'handover', '-o', 'yaml')
  expect(holder).toContain('holderIdentity: a')
  expect(b.leadingSince()).toBeUndefined()
  await a.elector.release()
  expect(await a.outcome).toBe('stopped')
  await until(b.leadingSince, 'b to lead')
  await b.elector.release()
})

test('a dead leader is replaced after the length of its Lease', async () => {
  const leaseMs = 4_000
  const own = connectKube({ log, kubeconfig: plane.kubeconfig })
  const a = stand(own, 'takeover', 'a', leaseMs)
  await until(a.leadingSince, 'a to lead')
  const b = stand(client, 'takeover', 'b', leaseMs)
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/takeover`
  const renewed = async () => metadataOf(await client.request({ path: leases })).resourceVersion
  const first = await renewed()
  await until(async () => (await renewed()) !== first, 'a renewal')
  await own.close()
  expect(await a.outcome).toBe('lost')
  expect(b.leadingSince()).toBeUndefined()
  await until(b.leadingSince, 'b to lead')
  await b.elector.release()
})

const apiKeys = () => `/apis/sluice.dev/v1alpha1/namespaces/${namespace}/apikeys`

async function createApiKey(name: string): Promise<{ uid: string; resourceVersion: string }> {
  const body = { apiVersion: 'sluice.dev/v1alpha1', kind: 'ApiKey', metadata: { name }, spec: {} }
  return metadataOf(await client.request({ method: 'POST', path: apiKeys(), body }))
}

test('a status is applied once; repeating it changes nothing; a deleted object is not an error', async () => {
  const { resourceVersion } = await createApiKey('status')
  const path = `${apiKeys()}/status`
  const target = { apiVersion: 'sluice.dev/v1alpha1', kind: 'ApiKey', namespace, name: 'status', path }
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Ready',
    message: 'ready',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const status = { conditions: [condition] }
  expect(await applyStatus(client, target, status, 'test')).toBe('applied')
  const after = z
    .object({ metadata: z.object({ resourceVersion: z.string() }), status: z.looseObject({}) })
    .parse(await client.request({ path }))
  expect(after.metadata.resourceVersion).not.toBe(resourceVersion)
  expect(after.status).toMatchObject(status)
  expect(await applyStatus(client, target, status, 'test')).toBe('applied')
  expect(metadataOf(await client.request({ path })).resourceVersion).toBe(after.metadata.resourceVersion)

  await client.request({ method: 'DELETE', path })
  expect(await applyStatus(client, target, status, 'test')).toBe('gone')
})

test('an event shows in kubectl, and a repeat as a count', async () => {
  const { uid } = await createApiKey('events')
  const failures: object[] = []
  const recorder = new EventRecorder({
    client,
    instance: 'controller-1',
    log: { ...log, warn: (fields) => void failures.push(fields) },
  })
  const regarding = { apiVersion: 'sluice.dev/v1alpha1', kind: 'ApiKey', namespace, name: 'events', uid }
  const record = { regarding, type: 'Normal', action: 'CreateSecret', reason: 'KeyCreated' } as const
  const shown = () => mustKubectl(plane.kubectl, '-n', namespace, 'get', 'events')
  const series = async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
    const list = z.object({ items: z.array(z.looseObject({})) }).parse(await client.request({ path }))
    return list.items
  }
  recorder.record({ ...record, note: 'the key is in a Secret' })
  await until(
    async () => /KeyCreated +apikey\/events +the key is in a Secret/.test(await shown()),
    'the event',
  )
  recorder.record({ ...record, note: 'the key is in a Secret' })
  await until(async () => (await series()).some((event) => event.series !== undefined), 'the series')
  expect(await series()).toMatchObject([
    { series: { count: 2 }, reportingController: 'sluice.dev/controller' },
  ])
  const described = await mustKubectl(plane.kubectl, '-n', namespace, 'describe', 'apikey', 'events')
  expect(described).toMatch(/Normal +KeyCreated .*sluice\.dev\/controller.* the key is in a Secret/)
  expect(failures).toEqual([])
  await recorder.stop()
})

test('errors of the server come with its reason and without values', async () => {
  const conflict = client.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { metadata: { name: namespace } },
  })
  await expect(conflict).rejects.toMatchObject({ status: 409, reason: 'AlreadyExists' })
  const spec = { hashes: ['sk-not-a-hash-but-a-key'] }
  const body = { apiVersion: 'sluice.dev/v1alpha1', kind: 'ApiKey', metadata: { name: 'bad' }, spec }
  const invalid: unknown = await client
    .request({ method: 'POST', path: apiKeys(), body })
    .catch((error) => error)
  expect(invalid).toMatchObject({ status: 422, reason: 'Invalid' })
  expect(String(invalid)).toContain('spec.hashes[0]')
  expect(String(invalid)).not.toContain('sk-not')
})
