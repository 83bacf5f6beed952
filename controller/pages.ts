/** What a controller shows on the admin port to those who may read it. */
import { AdminError, type AdminPage } from '../admin/server.ts'
import type { Heartbeat, Position } from '../store/contract.ts'
import type { Compiled, Removal } from './snapshot.ts'
import type { ListedStatus } from './status/board.ts'

export interface ControllerView {
  instance: string
  leading(): boolean
  /** Of a leader; undefined while it is not known. */
  position(): Position | undefined
  /** The last time in its term that most of the keys or routes went at once. */
  removal(): Removal | undefined
  /** Undefined when it does its work, else the reason why not. */
  notReady(): string | undefined
  /** Proxies that are alive; rejects with StoreUnavailable. */
  proxies(): Promise<readonly Heartbeat[]>
  compiled(): Compiled | undefined
  statuses(): Promise<ListedStatus[]>
}

/** One controller as `/status` shows it. */
export interface ControllerInstance {
  role: 'controller'
  instance: string
  leading: boolean
  epoch?: number
  generation?: number
  ready: boolean
  reason?: string
  /** Most of the keys or routes went at once, in this term. */
  removal?: { at: string; message: string; namespaces: readonly string[] }
  /** Absent while the store is away. */
  proxies?: readonly Heartbeat[]
}

export interface KeyPage {
  namespace: string
  name: string
  /** SHA-256 of the key; several while it is being replaced, none when it is not in force. */
  hashes: string[]
  preview?: string
}

/** `/resources`: every resource with its status; `/status`; `/keys?namespace=&name=`: the hashes of one ApiKey. */
export function controllerPages(view: ControllerView): Record<string, AdminPage> {
  return {
    '/resources': () => view.statuses(),
    '/status': async () => ({ instances: [await controllerInstance(view)] }),
    '/keys': async (query) => keyPage(view.compiled(), query),
  }
}

export async function controllerInstance(view: ControllerView): Promise<ControllerInstance> {
  const reason = view.notReady()
  const removal = view.removal()
  const proxies = await view.proxies().catch(() => undefined)
  return {
    role: 'controller',
    instance: view.instance,
    leading: view.leading(),
    ...view.position(),
    ready: reason === undefined,
    ...(reason !== undefined && { reason }),
    ...(removal !== undefined && { removal: { ...removal, at: new Date(removal.at).toISOString() } }),
    ...(proxies !== undefined && { proxies }),
  }
}

function keyPage(compiled: Compiled | undefined, query: URLSearchParams): KeyPage {
  const namespace = query.get('namespace')
  const name = query.get('name')
  if (namespace === null || name === null) throw new AdminError(400, 'name a namespace and a name')
  const known = compiled?.statuses.find(
    ({ kind, metadata }) => kind === 'ApiKey' && metadata.namespace === namespace && metadata.name === name,
  )
  if (compiled === undefined || known === undefined)
    throw new AdminError(404, `there is no ApiKey ${name} in the namespace ${namespace}`)
  const hashes = [...compiled.keys]
    .filter(([, record]) => record.namespace === namespace && record.name === name)
    .map(([hash]) => hash)
  const { preview } = known.fields
  return { namespace, name, hashes, ...(preview !== undefined && { preview }) }
}
