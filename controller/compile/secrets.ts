/** Looks up entries of Secrets. Messages never quote them. */
import type { SecretData } from '../snapshot.ts'
import type { Finding } from './conditions.ts'

export type SecretEntry = { value: string } | { missing: Finding }

/** The entry `ref` of a Secret in `namespace`; `field` is the path of the reference in the spec. */
export function secretEntry(
  secrets: ReadonlyMap<string, SecretData>,
  namespace: string,
  field: string,
  ref: { name: string; key: string },
): SecretEntry {
  const secret = secrets.get(`${namespace}/${ref.name}`)
  if (secret === undefined)
    return missing(`${field} refers to the Secret ${ref.name}, which does not exist or cannot be used`)
  const value = secret.get(ref.key)
  if (value === undefined) return missing(`${field}: the Secret ${ref.name} has no entry ${ref.key}`)
  if (value === '') return missing(`${field}: the entry ${ref.key} of the Secret ${ref.name} is empty`)
  return { value }
}

function missing(message: string): SecretEntry {
  return { missing: { reason: 'RefNotFound', message } }
}
