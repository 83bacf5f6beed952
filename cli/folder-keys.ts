/** Keys that clients can use with a folder of resources, and whose values it holds. */
import type { ApiKeySpec, Resource } from '../contract/api/index.ts'
import type { Snapshot } from '../controller/snapshot.ts'

export interface FolderKey {
  namespace: string
  name: string
  value: string
}

/** Stand in the examples for everybody to read. */
const PUBLISHED = ['sk-quickstart-0123456789abcdef', 'sk-local-0123456789abcdef']

export const isPublished = ({ value }: FolderKey) => PUBLISHED.includes(value)

export function usableKeys(snapshot: Snapshot): FolderKey[] {
  return snapshot.apiKeys.flatMap((apiKey) => usable(snapshot, apiKey))
}

function usable(snapshot: Snapshot, { metadata, spec }: Resource<ApiKeySpec>): FolderKey[] {
  if (spec.disabled === true || spec.secretRef === undefined) return []
  const { namespace, name } = metadata
  const value = snapshot.secrets.get(`${namespace}/${spec.secretRef.name}`)?.get(spec.secretRef.key)
  return value === undefined || value === '' ? [] : [{ namespace, name, value }]
}
