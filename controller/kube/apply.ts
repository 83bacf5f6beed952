/** Server-side apply: the server merges, and remembers which fields are ours. */
import { type KubeClient, KubeError, type KubeObject } from './types.ts'

/** An object as it is applied. */
export type Applied = Pick<KubeObject, 'apiVersion' | 'kind'> & {
  metadata: { name: string; namespace?: string; uid?: string; [field: string]: unknown }
  [field: string]: unknown
}

export interface StatusTarget {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
  /** Of the object, without "/status". */
  path: string
}

/**
 * Fields that were ours and are not in `status` are removed. An equal status changes nothing, not even the
 * resourceVersion. 'gone': there is no such object any more.
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
 * Makes the object where there is none; takes over fields that others own. Resolves with the server's answer. Secrets:
 * `data`, as ownership of `stringData` is recorded under names that later applies do not find.
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
