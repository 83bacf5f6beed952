/** Looks up entries of Secrets. Messages never quote them. */
import type { SecretData } from '../snapshot.ts'
import type { Findings } from './conditions.ts'

/** `field` is the path of the reference `ref` in the spec. */
export type LookUp = (field: string, ref: { name: string; key: string }) => string | undefined

/** Looks up entries of the Secrets in `namespace`; undefined and a finding if there is none. */
export function secretEntries(
  secrets: ReadonlyMap<string, SecretData>,
  namespace: string,
  { missing }: Findings,
): LookUp {
  return (field, { name, key }) => {
    const secret = secrets.get(`${namespace}/${name}`)
    const value = secret?.get(key)
    if (value) return value
    let message = `${field} refers to the Secret ${name}, which does not exist or cannot be used`
    if (value === '') message = `${field}: the entry ${key} of the Secret ${name} is empty`
    else if (secret !== undefined) message = `${field}: the Secret ${name} has no entry ${key}`
    missing.push({ reason: 'RefNotFound', message })
    return undefined
  }
}
