/** Server-side apply: the server merges changes and records which fields we own. */
import { type KubeClient, KubeError, type KubeObject } from './types.ts'

/** An object to apply. */
export type Applied = Pick<KubeObject, 'apiVersion' | 'kind'> & {
  metadata: { name: string; namespace?: string; uid?: string; [field: string]: unknown }
  [field: string]: unknown
}

export interface StatusTarget {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
  /** Path of the object, without "/status". */
  path: string
}

/**
 * Removes fields that we own and that are not in `status`. An equal status changes nothing, not even the
 * resourceVersion. 'gone': the object does not exist any more.
 */
export async function applyStatus(
  client: KubeClient,
  { path, apiVersion, kind, namespace, name }: StatusTarget,
  status: object,
  fieldManager: string,
): Promise<'applied' | 'gone'> {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  try {
    await applyObject(client, `${path}/status`, { apiVersion, kind, metadata, status }, fieldManager)
    return 'applied'
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return 'gone'
    throw error
  }
}

/**
 * Creates the object if there is none, and takes over fields that others own. Resolves with the server's answer. For
 * Secrets, set `data`: the server records ownership of `stringData` under names that later applies do not find.
 */
export function applyObject(
  client: KubeClient,
  path: string,
  object: Applied,
  fieldManager: string,
): Promise<unknown> {
  return client.request({
    method: 'PATCH',
    path,
    query: { fieldManager, force: 'true' },
    contentType: 'application/apply-patch+yaml',
    body: object,
  })
}
