/** Faults of a control plane that its users meet: history that is gone, and throttling. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { z } from 'zod'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { until } from '../harness/gateway.ts'
import { type InstallWorld, NAMESPACE } from './world.ts'

const position = z.object({ header: z.object({ revision: z.string() }) })

/** Makes etcd forget all but the newest versions, then restarts the API server, which so loses its own copies. */
export async function forgetHistory({ plane }: InstallWorld): Promise<void> {
  const etcd = async (path: string, body: object): Promise<unknown> => {
    const url = `http://127.0.0.1:${plane.ports.etcd}/v3/kv/${path}`
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const { revision } = position.parse(await etcd('range', { key: btoa('/') })).header
  await etcd('compaction', { revision, physical: true })
  await plane.processes.apiserver.restart()
}

/**
 * The API server answers 429 to everything that controllers of the release do with our kinds, until the returned
 * function is called, within a minute: it gives them room for one request at a time, and another account fills that
 * room with a list that it does not read.
 */
export async function throttle(world: InstallWorld): Promise<() => Promise<void>> {
  const { kubectl, plane } = world
  const data = 'x'.repeat(LARGE.bytes)
  const items = Array.from({ length: LARGE.count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `large-${index}`, labels: { size: 'large' } },
    data: { data },
  }))
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await mustKubectl(plane.kubectl, 'create', '--filename', '-', { input })
  await kubectl('create', 'serviceaccount', SLOW_READER)
  const view = ['--clusterrole=view', `--serviceaccount=default:${SLOW_READER}`]
  await kubectl('create', 'clusterrolebinding', SLOW_READER, ...view)
  const token = (await kubectl('create', 'token', SLOW_READER)).trim()
  await world.apply(JSON.stringify(LEVEL))
  await world.apply(JSON.stringify(SCHEMA))
  const list = async () => {
    const options = { agent: false, ca: plane.tls.ca, headers: { authorization: `Bearer ${token}` } }
    const sent = get(`${plane.url}/api/v1/namespaces/default/configmaps`, options)
    sent.on('error', () => undefined)
    const [answer]: IncomingMessage[] = await once(sent, 'response')
    return { status: answer?.statusCode, leave: () => sent.destroy() }
  }
  const filling = await list()
  // Its own second request shows that the room is full.
  await until(async () => {
    const second = await list()
    second.leave()
    return second.status === 429
  }, 'the API server to throttle')
  return async () => {
    filling.leave()
    await kubectl('delete', 'flowschema', SCHEMA.metadata.name)
    await kubectl('delete', 'prioritylevelconfiguration', LEVEL.metadata.name)
    await kubectl('delete', 'configmaps', '--selector=size=large')
  }
}

const SLOW_READER = 'slow-reader'
/** More than the buffers of a connection take. */
const LARGE = { bytes: 900_000, count: 16 }
const API = 'flowcontrol.apiserver.k8s.io/v1'
const LEVEL = {
  apiVersion: API,
  kind: 'PriorityLevelConfiguration',
  metadata: { name: 'no-room' },
  spec: {
    type: 'Limited',
    limited: {
      // The API server still lets one request in at a time.
      nominalConcurrencyShares: 0,
      lendablePercent: 0,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Reject' },
    },
  },
}
const account = (name: string, namespace: string) => ({
  kind: 'ServiceAccount',
  serviceAccount: { name, namespace },
})
const SCHEMA = {
  apiVersion: API,
  kind: 'FlowSchema',
  metadata: { name: 'no-room' },
  spec: {
    priorityLevelConfiguration: { name: 'no-room' },
    matchingPrecedence: 2,
    rules: [
      {
        subjects: [account('sluice-controller', NAMESPACE), account(SLOW_READER, 'default')],
        resourceRules: [
          {
            verbs: ['*'],
            apiGroups: ['sluice.dev'],
            resources: ['*'],
            namespaces: ['*'],
            clusterScope: true,
          },
          { verbs: ['list'], apiGroups: [''], resources: ['configmaps'], namespaces: ['default'] },
        ],
      },
    ],
  },
}
