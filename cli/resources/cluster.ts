/** Resources of the cluster that the kubeconfig names. */
import { z } from 'zod'
import { API_VERSION, GROUP, KINDS } from '../../contract/api/index.ts'
import { type KubeCall, type KubeClient, KubeError } from '../../controller/kube/types.ts'
import { CommandFailure } from '../command.ts'
import { type NewResource, type Place, type PlaceOptions, stored, type WrittenKind } from './place.ts'

const TIMEOUT_MS = 30_000
const MERGE = 'application/merge-patch+json'
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
const items = z.object({ items: z.array(stored) })

type Kube = Pick<KubeClient, 'request' | 'close'> & { namespace: string | undefined }

/** Throws CommandFailure without a cluster. */
export async function clusterPlace(
  wanted: string | undefined,
  secretLabels: PlaceOptions['secretLabels'] = {},
  connect: () => Promise<Kube> = fromKubeconfig,
): Promise<Place> {
  const client = await connect().catch((error: unknown) => {
    const why = error instanceof Error ? error.message : 'no kubeconfig'
    throw new CommandFailure(`cannot connect to a cluster (${why}); --folder names a folder instead`)
  })
  const namespace = wanted ?? client.namespace ?? 'default'
  const pathOf = (kind: WrittenKind, name?: string) => {
    const base = kind === 'Secret' ? '/api/v1' : `/apis/${API_VERSION}`
    const plural = kind === 'Secret' ? 'secrets' : KINDS[kind].plural.toLowerCase()
    const all = `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    return name === undefined ? all : `${all}/${encodeURIComponent(name)}`
  }
  const send = async (what: string, call: KubeCall) => {
    try {
      return await client.request({ timeoutMs: TIMEOUT_MS, ...call })
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      throw new CommandFailure(`${what}: ${error.message}`)
    }
  }
  return {
    namespace,
    async get(kind, name) {
      try {
        return stored.parse(await client.request({ path: pathOf(kind, name), timeoutMs: TIMEOUT_MS }))
      } catch (error) {
        if (!(error instanceof KubeError)) throw error
        if (error.status === 404) return undefined
        throw new CommandFailure(`${kind} ${name}: ${error.message}`)
      }
    },
    async list(kind) {
      return items.parse(await send(`${kind}s`, { path: pathOf(kind) })).items
    },
    async create(resource) {
      const { kind, name } = resource
      const body = objectOf(resource, namespace, secretLabels)
      return stored.parse(await send(`${kind} ${name}`, { method: 'POST', path: pathOf(kind), body }))
    },
    async patch(kind, name, spec) {
      const call = { method: 'PATCH', path: pathOf(kind, name), body: { spec }, contentType: MERGE } as const
      await send(`${kind} ${name}`, call)
    },
    close: () => client.close(),
  }
}

function objectOf(
  { kind, name, spec, owner }: NewResource,
  namespace: string,
  secretLabels: NonNullable<PlaceOptions['secretLabels']>,
): object {
  const metadata = {
    ...{ name, namespace },
    ...(owner?.metadata.uid !== undefined && {
      ownerReferences: [
        { apiVersion: API_VERSION, kind: 'ApiKey', name: owner.metadata.name, uid: owner.metadata.uid },
      ],
    }),
  }
  if (kind !== 'Secret') return { apiVersion: API_VERSION, kind, metadata, spec }
  const labels = { 'app.kubernetes.io/managed-by': 'sluice', [`${GROUP}/secret`]: 'true', ...secretLabels }
  return { apiVersion: 'v1', kind, type: 'Opaque', metadata: { ...metadata, labels }, stringData: spec }
}

async function fromKubeconfig(): Promise<Kube> {
  const { connectKube } = await import('../../controller/kube/client.ts')
  return connectKube({ log: SILENT })
}
