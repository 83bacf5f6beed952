/** A controller with a real API server, in its own namespace, and proxies that only follow publications. */
import { z } from 'zod'
import { ClusterController } from '../../../controller/cluster.ts'
import { connectKube } from '../../../controller/kube/client.ts'
import { type KubeClient, KubeError } from '../../../controller/kube/types.ts'
import type { Store } from '../../../store/contract.ts'
import { controlPlane } from '../../harness/control-plane.ts'
import { until } from '../../harness/gateway.ts'

const PLURALS = {
  ApiKey: 'apikeys',
  Account: 'accounts',
  Credit: 'credits',
  Channel: 'channels',
  ModelRoute: 'modelroutes',
} as const
export type KindName = keyof typeof PLURALS

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number().optional(),
  lastTransitionTime: z.string(),
})
const resource = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.number(),
  }),
  status: z.looseObject({ conditions: z.array(condition).default([]) }).default({ conditions: [] }),
})
export type FoundResource = z.output<typeof resource>

/** Longer than a test waits: a controller that stops gives its Lease back. */
const LEASE_MS = 600_000

export interface World {
  kube: KubeClient
  namespace: string
  /** Creates the resource, or replaces its spec. */
  apply(kind: KindName, name: string, spec: object): Promise<FoundResource>
  secret(name: string, entries: Record<string, string>): Promise<void>
  get(kind: KindName, name: string): Promise<FoundResource>
  /** All resources of one kind. */
  list(kind: KindName): Promise<FoundResource[]>
  remove(kind: KindName, name: string): Promise<void>
  /** Waits until a condition of the current generation has this status and reason: "True Ready". */
  becomes(kind: KindName, name: string, type: string, expected: string): Promise<FoundResource>
  /** The events of a resource, as "Type Reason". */
  events(name: string): Promise<string[]>
  /** Starts a controller that stops with the world. */
  start(options: {
    store: Store
    instance: string
    namespaces?: string[]
  }): ClusterController & { logged: string[] }
  /** A proxy that serves at once whatever is in the store. Ends with the world or by the returned function. */
  proxy(store: Store, name?: string): () => Promise<void>
  end(): Promise<void>
}

export async function createWorld(): Promise<World> {
  const { kubeconfig, createNamespace } = await controlPlane()
  const namespace = await createNamespace()
  const log = { info() {}, warn() {}, error() {} }
  const kube = connectKube({ log, kubeconfig })
  const ends: (() => Promise<void>)[] = []
  const base = `/apis/sluice.dev/v1alpha1/namespaces/${namespace}`
  const secrets = `/api/v1/namespaces/${namespace}/secrets`

  const pathOf = (kind: KindName, name: string) => `${base}/${PLURALS[kind]}/${name}`
  const get = async (kind: KindName, name: string) =>
    resource.parse(await kube.request({ path: pathOf(kind, name) }))

  return {
    kube,
    namespace,
    get,
    async apply(kind, name, spec) {
      const body = { apiVersion: 'sluice.dev/v1alpha1', kind, metadata: { name, namespace }, spec }
      const query = { fieldManager: 'test', force: 'true' }
      const contentType = 'application/apply-patch+yaml'
      return resource.parse(
        await kube.request({ method: 'PATCH', path: pathOf(kind, name), query, contentType, body }),
      )
    },
    async secret(name, entries) {
      const data = Object.fromEntries(
        Object.entries(entries).map(([entry, value]) => [entry, Buffer.from(value).toString('base64')]),
      )
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, data }
      const query = { fieldManager: 'test', force: 'true' }
      const contentType = 'application/apply-patch+yaml'
      await kube.request({ method: 'PATCH', path: `${secrets}/${name}`, query, contentType, body })
    },
    async list(kind) {
      const all = z.object({ items: z.array(resource) })
      return all.parse(await kube.request({ path: `${base}/${PLURALS[kind]}` })).items
    },
    async remove(kind, name) {
      await kube.request({ method: 'DELETE', path: pathOf(kind, name) })
    },
    async becomes(kind, name, type, expected) {
      let last = 'nothing'
      try {
        return await until(async () => {
          const found = await get(kind, name)
          const { generation } = found.metadata
          const now = found.status.conditions.find((c) => c.type === type)
          last = `${now?.status} ${now?.reason} of ${now?.observedGeneration}: ${now?.message}`
          return `${now?.status} ${now?.reason}` === expected && now?.observedGeneration === generation
            ? found
            : undefined
        }, `${kind}/${name} to be ${type} ${expected}`)
      } catch (error) {
        throw new Error(`${kind}/${name}: ${type} is ${last}`, { cause: error })
      }
    },
    async events(name) {
      const event = z.object({
        type: z.string(),
        reason: z.string(),
        regarding: z.object({ name: z.string() }),
      })
      const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
      const { items } = z.object({ items: z.array(event) }).parse(await kube.request({ path }))
      return items.filter((e) => e.regarding.name === name).map((e) => `${e.type} ${e.reason}`)
    },
    start({ store, instance, namespaces = [] }) {
      const logged: string[] = []
      const note = (fields: object, message: string) => {
        const error = 'err' in fields ? ` (${fields.err})` : ''
        logged.push(`${message}${error}`)
      }
      const controller = new ClusterController({
        store,
        kube,
        env: {
          SLUICE_WATCH_NAMESPACES: [namespace, ...namespaces],
          SLUICE_SECRET_LABEL_SELECTOR: {},
          SLUICE_LEASE_NAME: 'sluice-controller',
          SLUICE_LEASE_DURATION: LEASE_MS,
        },
        namespace,
        instance,
        log: { info: note, warn: note, error: note },
      })
      controller.start()
      ends.push(() => controller.stop())
      return Object.assign(controller, { logged })
    },
    proxy(store, name = 'proxy') {
      let stopped = false
      const beating = (async () => {
        let position = { epoch: 0, generation: 0 }
        while (!stopped) {
          position = await store.config.beat({ proxy: name, ...position }).catch(() => position)
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
        await store.config.retire(name).catch(() => {})
      })()
      const stop = () => {
        stopped = true
        return beating
      }
      ends.push(stop)
      return stop
    },
    async end() {
      await Promise.all(ends.map((stop) => stop()))
      await kube
        .request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
        .catch((error: unknown) => {
          if (!(error instanceof KubeError)) throw error
        })
      await kube.close()
    },
  }
}
