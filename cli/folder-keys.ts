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

/** One of each ApiKey that has not ended at `now`, in milliseconds since the epoch. */
export function usableKeys(snapshot: Snapshot, now: number): FolderKey[] {
  return snapshot.apiKeys.flatMap((apiKey) => usable(snapshot, apiKey, now))
}

function usable(snapshot: Snapshot, { metadata, spec }: Resource<ApiKeySpec>, now: number): FolderKey[] {
  if (spec.disabled === true || hasEnded(spec.expiresAt, now)) return []
  const { namespace, name } = metadata
  const refs = spec.secretRefs?.filter(({ notAfter }) => !hasEnded(notAfter, now)) ?? [spec.secretRef]
  for (const ref of refs) {
    const value = ref && snapshot.secrets.get(`${namespace}/${ref.name}`)?.get(ref.key)
    if (value) return [{ namespace, name, value }]
  }
  return []
}

const hasEnded = (moment: string | undefined, now: number) =>
  moment !== undefined && Date.parse(moment) <= now
