import type { ApiKeySpec, Resource } from '../../contract/api/index.ts'
import { keyHash, objectId } from '../../contract/ids.ts'
import { type KeyRecord, RECORD_VERSION } from '../../contract/table/records.ts'
import type { GeneratedKey, ObjectStatus, SecretData, Snapshot } from '../snapshot.ts'
import type { Accounts } from './accounts.ts'
import { instant } from './amounts.ts'
import { byAge, type Finding, type Findings, judge, nameOf, noFindings } from './conditions.ts'
import { secretEntry } from './secrets.ts'

/** A key as it is looked up, and its record. */
interface Credential {
  hash: string
  preview: string
  record: KeyRecord
}

/** What one resource says by itself. Worked out once for each resource and Secret: there may be thousands. */
interface Reading {
  secret: SecretData | undefined
  generated: GeneratedKey | undefined
  credentials: Credential[]
  findings: Findings
  /** The status when nobody else has claimed the key, and the fault of its account that it tells. */
  status?: { fault: string | undefined; object: ObjectStatus }
}

const readings = new WeakMap<Resource<ApiKeySpec>, Reading>()

const VISIBLE_ASCII = /^[\x21-\x7e]+$/
/** Below this a key can be guessed, and four of its characters are too many to show. */
const SHORT_KEY = 20

export function compileKeys(
  snapshot: Snapshot,
  accounts: Accounts,
): { keys: Map<string, KeyRecord>; claims: Map<string, string[]>; statuses: ObjectStatus[] } {
  const keys = new Map<string, KeyRecord>()
  const claims = new Map<string, string[]>()
  const statuses: ObjectStatus[] = []
  for (const resource of [...snapshot.apiKeys].sort(byAge)) {
    const reading = read(resource, snapshot)
    if (reading.credentials.length > 0)
      claims.set(
        nameOf(resource),
        reading.credentials.map(({ hash }) => hash),
      )
    const claimed = claimedBy(reading.credentials, keys, resource.metadata.namespace)
    const inForce =
      claimed === undefined && reading.credentials.length > 0 && reading.findings.refusals.length === 0
    if (inForce) for (const { hash, record } of reading.credentials) keys.set(hash, record)
    statuses.push(statusOf(resource, reading, claimed, accounts, inForce))
  }
  return { keys, claims, statuses }
}

function read(resource: Resource<ApiKeySpec>, snapshot: Snapshot): Reading {
  const { metadata, spec } = resource
  const generated = snapshot.generated?.get(nameOf(resource))
  const secretName = spec.secretRef?.name ?? generated?.secretName
  const secret =
    secretName === undefined ? undefined : snapshot.secrets.get(`${metadata.namespace}/${secretName}`)
  const known = readings.get(resource)
  if (known !== undefined && known.secret === secret && known.generated?.state === generated?.state)
    return known

  const findings = noFindings()
  refuseLimits(spec, findings)
  const expiresAt = expiryOf(spec, findings)
  const credentials = credentialsOf(resource, generated, snapshot.secrets, findings).map(
    ({ hash, preview }) => ({ hash, preview, record: recordOf(resource, preview, expiresAt) }),
  )
  const reading = { secret, generated, credentials, findings }
  readings.set(resource, reading)
  return reading
}

function credentialsOf(
  { metadata, spec }: Resource<ApiKeySpec>,
  generated: GeneratedKey | undefined,
  secrets: ReadonlyMap<string, SecretData>,
  findings: Findings,
): Pick<Credential, 'hash' | 'preview'>[] {
  if (spec.hashes !== undefined)
    return spec.hashes.map((hash) => ({ hash, preview: `sha256:${hash.slice(0, 8)}` }))
  const ref = spec.secretRef ?? generatedRef(generated, findings)
  if (ref === undefined) return []
  const field = spec.secretRef === undefined ? 'the generated key' : 'spec.secretRef'
  const entry = secretEntry(secrets, metadata.namespace, field, ref)
  if ('missing' in entry) {
    findings.missing.push(entry.missing)
    return []
  }
  const place = `the entry ${ref.key} of the Secret ${ref.name}`
  if (!VISIBLE_ASCII.test(entry.value)) {
    const message = `${field}: ${place} is no key; a key has visible ASCII characters only and no spaces`
    findings.missing.push({ reason: 'Invalid', message })
    return []
  }
  const short = entry.value.length < SHORT_KEY
  if (short) {
    const message = `the key has fewer than ${SHORT_KEY} characters and can be guessed; use a longer one`
    findings.notes.push({ reason: 'ShortKey', message })
  }
  return [{ hash: keyHash(entry.value), preview: short ? '...' : `...${entry.value.slice(-4)}` }]
}

/** Where the key stands that is made for a resource which names none. */
function generatedRef(
  generated: GeneratedKey | undefined,
  findings: Findings,
): { name: string; key: string } | undefined {
  switch (generated?.state) {
    case 'made':
      return { name: generated.secretName, key: 'key' }
    case 'absent': {
      const message = `the key is being made, in the Secret ${generated.secretName}`
      findings.missing.push({ reason: 'Pending', message })
      return undefined
    }
    case 'foreign': {
      const message = `no key is made: the Secret ${generated.secretName} exists and does not belong to this ApiKey; delete or rename it, or name it in spec.secretRef to use the key in it`
      findings.missing.push({ reason: 'Conflicted', message })
      return undefined
    }
    case undefined: {
      const message = 'the key is not known; put it in a Secret and name that in spec.secretRef'
      findings.missing.push({ reason: 'RefNotFound', message })
      return undefined
    }
  }
}

function refuseLimits(spec: ApiKeySpec, findings: Findings): void {
  if (spec.limits === undefined) return
  const message = 'limits are not enforced yet, so the key is not served; remove spec.limits'
  findings.refusals.push({ reason: 'NotSupported', message })
}

function expiryOf(spec: ApiKeySpec, findings: Findings): number | undefined {
  if (spec.expiresAt === undefined) return undefined
  const expiresAt = instant(spec.expiresAt)
  if (expiresAt === undefined)
    findings.refusals.push({ reason: 'Invalid', message: 'spec.expiresAt is not a time that exists' })
  return expiresAt
}

/** Two resources with one key would be two answers to who pays: the older one keeps it. */
function claimedBy(
  credentials: readonly Credential[],
  keys: ReadonlyMap<string, KeyRecord>,
  namespace: string,
): Finding | undefined {
  const owner = credentials.map(({ hash }) => keys.get(hash)).find((claimed) => claimed !== undefined)
  if (owner === undefined) return undefined
  // Another namespace's names are not for its tenants' eyes.
  const who = owner.namespace === namespace ? `the ApiKey ${owner.name}` : 'an ApiKey of another namespace'
  return { reason: 'Conflicted', message: `${who} is older and has the same key; use another key` }
}

function recordOf(
  { metadata, spec }: Resource<ApiKeySpec>,
  preview: string,
  expiresAt: number | undefined,
): KeyRecord {
  return {
    version: RECORD_VERSION,
    id: objectId(metadata.namespace, metadata.name),
    namespace: metadata.namespace,
    name: metadata.name,
    preview,
    disabled: spec.disabled ?? false,
    ...(expiresAt !== undefined && { expiresAt }),
    models: [...(spec.models ?? [])],
    allowedIPs: [...(spec.allowedIPs ?? [])],
    // Also when the account is missing: the proxy then refuses the key, where it would otherwise go unmetered.
    ...(spec.accountRef !== undefined && { account: objectId(metadata.namespace, spec.accountRef.name) }),
  }
}

function statusOf(
  resource: Resource<ApiKeySpec>,
  reading: Reading,
  claimed: Finding | undefined,
  accounts: Accounts,
  inForce: boolean,
): ObjectStatus {
  const { metadata, spec } = resource
  const fault = spec.accountRef && accounts.fault(metadata.namespace, spec.accountRef.name)
  if (claimed === undefined && reading.status !== undefined && reading.status.fault === fault?.message)
    return reading.status.object
  const { refusals, missing, notes } = reading.findings
  const findings = {
    refusals: claimed === undefined ? refusals : [...refusals, claimed],
    missing: fault === undefined ? missing : [...missing, fault],
    notes: [...notes],
  }
  if (spec.disabled === true)
    findings.notes.push({ reason: 'Disabled', message: 'the key is switched off by spec.disabled' })
  const preview = reading.credentials[0]?.preview
  const { generated } = reading
  const secretName = spec.secretRef?.name ?? (generated?.state === 'made' ? generated.secretName : undefined)
  const object = judge('ApiKey', metadata, findings, inForce, {
    ...(preview !== undefined && { preview }),
    ...(secretName !== undefined && { secretName }),
  })
  if (claimed === undefined) reading.status = { fault: fault?.message, object }
  return object
}
