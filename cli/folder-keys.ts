/** The usable keys of a folder of resources, with their values. */
import type { ApiKeySpec, Resource } from '../contract/api/index.ts'
import type { Snapshot } from '../controller/snapshot.ts'

export interface FolderKey {
  namespace: string
  name: string
  value: string
}

/** Public keys of the examples. */
const PUBLISHED = ['sk-quickstart-0123456789abcdef', 'sk-local-0123456789abcdef']

export const isPublished = ({ value }: FolderKey) => PUBLISHED.includes(value)

/** One key of each ApiKey that has not expired at `now`, in milliseconds since the epoch. */
export function usableKeys(snapshot: Snapshot, now: number): FolderKey[] {
  return snapshot.apiKeys.flatMap((apiKey) => usable(snapshot, apiKey, now))
}

function usable(snapshot: Snapshot, { metadata, spec }: Resource<ApiKeySpec>, now: number): FolderKey[] {
  if (spec.disabled === true || hasExpired(spec.expiresAt, now)) return []
  const { namespace, name } = metadata
  const refs = spec.secretRefs?.filter(({ notAfter }) => !hasExpired(notAfter, now)) ?? [spec.secretRef]
  for (const ref of refs) {
    const value = ref && snapshot.secrets.get(`${namespace}/${ref.name}`)?.get(ref.key)
    if (value) return [{ namespace, name, value }]
  }
  return []
}

const hasExpired = (moment: string | undefined, now: number) =>
  moment !== undefined && Date.parse(moment) <= now
