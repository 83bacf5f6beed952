/** The keys of an ApiKey, from Secrets or as hashes. Messages never quote them. */
import type { ApiKeySpec, Resource } from '../../contract/api/index.ts'
import { keyHash } from '../../contract/ids.ts'
import type { GeneratedKey, SecretData } from '../snapshot.ts'
import type { Findings } from './conditions.ts'
import type { Expiry } from './expiry.ts'
import { type LookUp, secretEntries } from './secrets.ts'

/** A key in force. */
export interface Credential {
  hash: string
  preview: string
  /** When it ends, in milliseconds since the epoch; Infinity: never. */
  until: number
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/
/** A shorter key can be guessed, and a preview of four characters would reveal too much of it. */
const SHORT_KEY = 20

/** An entry of a Secret that contains a key. */
interface Place {
  /** Path of the reference in the spec. */
  field: string
  name: string
  key: string
  until: number
}

interface CredentialInputs {
  generated: GeneratedKey | undefined
  secrets: ReadonlyMap<string, SecretData>
  expiry: Expiry
  now: number
}

/** The keys in force at `now`, each once. */
export function credentialsOf(
  { metadata, spec }: Resource<ApiKeySpec>,
  { generated, secrets, expiry, now }: CredentialInputs,
  findings: Findings,
): Credential[] {
  const { expiresAt, notAfter } = expiry
  if (spec.hashes !== undefined)
    return spec.hashes.map((hash) => ({ hash, preview: `sha256:${hash.slice(0, 8)}`, until: expiresAt }))
  const credentials = new Map<string, Credential>()
  const look = secretEntries(secrets, metadata.namespace, findings)
  for (const place of placesOf(spec, generated, notAfter, findings)) {
    const until = Math.min(place.until, expiresAt)
    if (until <= now) continue
    const credential = credentialAt({ ...place, until }, look, findings)
    if (credential === undefined) continue
    const same = credentials.get(credential.hash)
    if (same === undefined || same.until < until) credentials.set(credential.hash, credential)
  }
  return [...credentials.values()]
}

/** Names of the Secrets that an ApiKey is read from. */
export function secretNamesOf(spec: ApiKeySpec, generated: GeneratedKey | undefined): string[] {
  if (spec.secretRefs !== undefined) return spec.secretRefs.map(({ name }) => name)
  const name = spec.secretRef?.name ?? generated?.secretName
  return name === undefined ? [] : [name]
}

function placesOf(
  spec: ApiKeySpec,
  generated: GeneratedKey | undefined,
  notAfter: readonly number[],
  findings: Findings,
): Place[] {
  const until = Number.POSITIVE_INFINITY
  if (spec.secretRefs !== undefined)
    return spec.secretRefs.map(({ name, key }, i) => ({
      ...{ field: `spec.secretRefs[${i}]`, name, key },
      until: notAfter[i] ?? until,
    }))
  if (spec.secretRef !== undefined) return [{ field: 'spec.secretRef', ...spec.secretRef, until }]
  const ref = generatedRef(generated, findings)
  return ref === undefined ? [] : [{ field: 'the generated key', ...ref, until }]
}

function credentialAt(
  { field, name, key, until }: Place,
  look: LookUp,
  findings: Findings,
): Credential | undefined {
  const value = look(field, { name, key })
  if (value === undefined) return undefined
  if (!VISIBLE_ASCII.test(value)) {
    const message = `${field}: the entry ${key} of the Secret ${name} is not a key; a key has visible ASCII characters only and no spaces`
    findings.missing.push({ reason: 'Invalid', message })
    return undefined
  }
  const short = value.length < SHORT_KEY
  if (short && findings.notes.every(({ reason }) => reason !== 'ShortKey')) {
    const message = `the key has fewer than ${SHORT_KEY} characters and can be guessed; use a longer one`
    findings.notes.push({ reason: 'ShortKey', message })
  }
  return { hash: keyHash(value), preview: short ? '...' : `...${value.slice(-4)}`, until }
}

/** The entry with the generated key. */
function generatedRef(
  generated: GeneratedKey | undefined,
  findings: Findings,
): { name: string; key: string } | undefined {
  switch (generated?.state) {
    case 'made':
      return { name: generated.secretName, key: 'key' }
    case 'absent': {
      const message = `the key is being created in the Secret ${generated.secretName}`
      findings.missing.push({ reason: 'Pending', message })
      return undefined
    }
    case 'foreign': {
      const message = `no key is created because the Secret ${generated.secretName} exists and does not belong to this ApiKey; delete or rename it, or refer to it in spec.secretRef to use its key`
      findings.missing.push({ reason: 'Conflicted', message })
      return undefined
    }
    case undefined: {
      const message = 'the ApiKey has no key; put one in a Secret and refer to it in spec.secretRef'
      findings.missing.push({ reason: 'RefNotFound', message })
      return undefined
    }
  }
}
