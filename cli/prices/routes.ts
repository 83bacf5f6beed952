/** The ModelRoutes that a command compares: those of resource files, or those of a cluster. */
import { z } from 'zod'
import { API_VERSION, KINDS, type ModelRouteSpec } from '../../contract/api/index.ts'
import { type KubeClient, KubeError } from '../../controller/kube/types.ts'
import { problemText } from '../../controller/source/folder/problem.ts'
import { CommandFailure, type Terminal } from '../command.ts'
import { check, readPath } from '../validate.ts'
import type { PriceBlock } from './convert.ts'

export interface PricedRoute {
  /** namespace/name */
  id: string
  /** What clients send. */
  model: string
  /** What the upstreams get, as far as it is known without a request. */
  upstream: string[]
  price: PriceBlock | undefined
  free: boolean
}

export interface RouteOptions {
  /** Resource files or folders; absent: the cluster of the kubeconfig. */
  file?: string[]
  namespace?: string
}

const TIMEOUT_MS = 10_000
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }
type Kube = Pick<KubeClient, 'request' | 'close'>

const routeList = z.object({
  items: z.array(
    z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }), spec: z.unknown() }),
  ),
})

/** Throws CommandFailure if there is no ModelRoute, or one cannot be read. */
export async function readRoutes(
  { file, namespace }: RouteOptions,
  { env }: Pick<Terminal, 'env'>,
  connect: () => Promise<Kube> = fromKubeconfig,
): Promise<PricedRoute[]> {
  const routes =
    file === undefined
      ? await routesOfCluster(namespace, connect)
      : await routesOfFiles(file, namespace ?? 'default', env)
  if (routes.length === 0)
    throw new CommandFailure(`there is no ModelRoute in ${file?.join(' or ') ?? 'the cluster'}`)
  return routes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

async function routesOfFiles(
  paths: readonly string[],
  namespace: string,
  env: Terminal['env'],
): Promise<PricedRoute[]> {
  const files = (await Promise.all(paths.map(readPath))).flat()
  const unique = [...new Map(files.map((one) => [one.path, one])).values()]
  const { problems, snapshot } = check(unique, namespace, env)
  // Other resources may need settings that only the gateway has.
  const problem = problems.find(({ subject = 'ModelRoute/' }) => subject.startsWith('ModelRoute/'))
  if (problem !== undefined) throw new CommandFailure(problemText(problem))
  return snapshot.modelRoutes.map(({ metadata, spec }) =>
    routeOf(`${metadata.namespace}/${metadata.name}`, spec),
  )
}

async function routesOfCluster(
  namespace: string | undefined,
  connect: () => Promise<Kube>,
): Promise<PricedRoute[]> {
  const client = await connect().catch((error: unknown) => {
    const why = error instanceof Error ? error.message : 'no kubeconfig'
    throw new CommandFailure(`cannot connect to a cluster (${why}); name resource files with -f`)
  })
  try {
    const within = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
    const path = `/apis/${API_VERSION}${within}/${KINDS.ModelRoute.plural.toLowerCase()}`
    const { items } = routeList.parse(await client.request({ path, timeoutMs: TIMEOUT_MS }))
    return items.map(({ metadata, spec }) => {
      const id = `${metadata.namespace}/${metadata.name}`
      const parsed = KINDS.ModelRoute.spec.safeParse(spec)
      if (!parsed.success)
        throw new CommandFailure(`the ModelRoute ${id} has a spec that this version cannot read`)
      return routeOf(id, parsed.data)
    })
  } catch (error) {
    if (!(error instanceof KubeError)) throw error
    throw new CommandFailure(`cannot list the ModelRoutes of the cluster: ${error.message}`)
  } finally {
    await client.close()
  }
}

async function fromKubeconfig(): Promise<Kube> {
  const { connectKube } = await import('../../controller/kube/client.ts')
  return connectKube({ log: SILENT })
}

/** A name with `*` stands for many models, which may have different prices. */
function routeOf(id: string, { model, channels, price, free }: ModelRouteSpec): PricedRoute {
  const names = channels.map((channel) => channel.model ?? model).filter((name) => !name.includes('*'))
  return { id, model, upstream: [...new Set(names)], price, free: free ?? false }
}
