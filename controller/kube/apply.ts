/** Server-side apply: the server merges changes and records which fields we own. */
import { type KubeClient, KubeError } from './types.ts'

interface StatusTarget {
  apiVersion: string
  kind: string
  namespace: string
  name: string
  /** Path of the object, without "/status". */
  path: string
}

/**
 * Removes fields that we own and that are not in `status`, and takes over fields that others own. An equal status changes nothing, not even the
 * resourceVersion. 'gone': the object does not exist any more.
 */
export async function applyStatus(
  client: KubeClient,
  { path, apiVersion, kind, namespace, name }: StatusTarget,
  status: object,
  fieldManager: string,
): Promise<'applied' | 'gone'> {
  try {
    await client.request({
      method: 'PATCH',
      path: `${path}/status`,
      query: { fieldManager, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion, kind, metadata: { namespace, name }, status },
    })
    return 'applied'
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return 'gone'
    throw error
  }
}
