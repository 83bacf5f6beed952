/**
 * Admin ports of the pods of a cluster, through the API server's proxy
 * (https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/): a person who may `get` the
 * subresource pods/proxy needs no access to the pod network.
 */
import { z } from 'zod'
import { type KubeClient, KubeError } from '../../controller/kube/types.ts'
import { CommandFailure } from '../command.ts'
import { AdminFailure, type AdminPort, type Ports, refusalText } from './port.ts'

const ADMIN_PORT = 8081
const SELECTOR = 'app.kubernetes.io/name=sluice,app.kubernetes.io/component in (controller,proxy)'
const NAMESPACE = 'sluice'
const TOKEN_SECRET = 'sluice-admin'
const TIMEOUT_MS = 10_000
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

interface PodOptions {
  /** Undefined: `sluice`, else the namespace of the kubeconfig. */
  namespace: string | undefined
  /** Undefined: read it from the Secret sluice-admin, if possible. */
  token: string | undefined
}

type Kube = Pick<KubeClient, 'request' | 'close'> & { namespace: string | undefined }

const podList = z.object({
  items: z.array(
    z.object({ metadata: z.object({ name: z.string() }), status: z.object({ phase: z.string() }) }),
  ),
})
const tokenSecret = z.object({ data: z.object({ token: z.base64() }) })

/** Throws CommandFailure if no cluster answers, or it has no running pod of Sluice. */
export async function podPorts(
  options: PodOptions,
  connect: () => Promise<Kube> = fromKubeconfig,
): Promise<Ports> {
  const client = await connected(connect)
  try {
    const namespaces =
      options.namespace === undefined
        ? [...new Set([NAMESPACE, client.namespace ?? NAMESPACE])]
        : [options.namespace]
    for (const namespace of namespaces) {
      const pods = await runningPods(client, namespace)
      if (pods.length === 0) continue
      const token = options.token ?? (await storedToken(client, namespace))
      const ports = pods.map((pod) => podPort(client, namespace, pod, token))
      return { ports, close: () => client.close() }
    }
    throw new CommandFailure(`no pod of Sluice runs in the namespace ${namespaces.join(' or ')}`)
  } catch (error) {
    await client.close()
    throw error instanceof KubeError
      ? new CommandFailure(`cannot list the pods of the cluster: ${error.message}`)
      : error
  }
}

async function fromKubeconfig(): Promise<Kube> {
  const { connectKube } = await import('../../controller/kube/client.ts')
  return connectKube({ log: SILENT })
}

async function connected(connect: () => Promise<Kube>): Promise<Kube> {
  try {
    return await connect()
  } catch (error) {
    throw new CommandFailure(
      `cannot connect to a cluster (${error instanceof Error ? error.message : 'no kubeconfig'})`,
    )
  }
}

async function runningPods(client: Kube, namespace: string): Promise<string[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  const list = podList.parse(
    await client.request({ path, query: { labelSelector: SELECTOR }, timeoutMs: TIMEOUT_MS }),
  )
  return list.items.filter(({ status }) => status.phase === 'Running').map(({ metadata }) => metadata.name)
}

/** Undefined if the Secret does not exist or may not be read; the pods then answer that they need a token. */
async function storedToken(client: Kube, namespace: string): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${TOKEN_SECRET}`
  const secret = await client.request({ path, timeoutMs: TIMEOUT_MS }).catch((error: unknown) => {
    if (error instanceof KubeError) return undefined
    throw error
  })
  const parsed = tokenSecret.safeParse(secret)
  return parsed.success ? Buffer.from(parsed.data.data.token, 'base64').toString() : undefined
}

function podPort(client: Kube, namespace: string, pod: string, token: string | undefined): AdminPort {
  const base = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/http:${pod}:${ADMIN_PORT}/proxy`
  return {
    name: `pod/${pod}`,
    async get(path, query = {}) {
      const headers: Record<string, string> = token === undefined ? {} : { 'x-sluice-admin-token': token }
      try {
        return await client.request({ path: `${base}${path}`, query, headers, timeoutMs: TIMEOUT_MS })
      } catch (error) {
        if (!(error instanceof KubeError)) throw error
        throw new AdminFailure(error.status, failureText(error), error)
      }
    },
  }
}

function failureText({ status, reason, message }: KubeError): string {
  if (status === 0) return `cannot be reached through the API server (${message})`
  // An error of the API server has a reason; an answer of the pod, which it forwards, has none.
  return status === 403 && reason === undefined ? refusalText(status, '') : message
}
