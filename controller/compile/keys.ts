import type { ApiKeySpec, Resource } from '../../contract/api/index.ts'
import { keyHash, objectId } from '../../contract/ids.ts'
import { type KeyRecord, RECORD_VERSION } from '../../contract/table/records.ts'
import type { ObjectStatus, SecretData, Snapshot } from '../snapshot.ts'
import type { Accounts } from './accounts.ts'
import { instant } from './amounts.ts'
import { byAge, type Findings, judge, noFindings } from './conditions.ts'
import { secretEntry } from './secrets.ts'

/** A key as it is looked up, and what may be shown of it. */
interface Credential {
  hash: string
  preview: string
}

const VISIBLE_ASCII = /^[\x21-\x7e]+$/
/** Below this a key can be guessed, and four of its characters are too many to show. */
const SHORT_KEY = 20

export function compileKeys(
  snapshot: Snapshot,
  accounts: Accounts,
): { keys: Map<string, KeyRecord>; statuses: ObjectStatus[] } {
  const keys = new Map<string, KeyRecord>()
  const statuses: ObjectStatus[] = []
  for (const resource of [...snapshot.apiKeys].sort(byAge)) {
    const findings = noFindings()
    const credentials = credentialsOf(resource, snapshot.secrets, findings)
    refuseLimits(resource.spec, findings)
    const expiresAt = expiryOf(resource.spec, findings)
    refuseClaimed(credentials, keys, resource.metadata.namespace, findings)
    const inForce = credentials.length > 0 && findings.refusals.length === 0
    if (inForce)
      for (const { hash, preview } of credentials) keys.set(hash, record(resource, preview, expiresAt))
    statuses.push(keyStatus(resource, credentials, accounts, findings, inForce))
  }
  return { keys, statuses }
}

function credentialsOf(
  { metadata, spec }: Resource<ApiKeySpec>,
  secrets: ReadonlyMap<string, SecretData>,
  findings: Findings,
): Credential[] {
  if (spec.hashes !== undefined)
    return spec.hashes.map((hash) => ({ hash, preview: `sha256:${hash.slice(0, 8)}` }))
  if (spec.secretRef === undefined) {
    const message = 'the key is not known; put it in a Secret and name that in spec.secretRef'
    findings.missing.push({ reason: 'RefNotFound', message })
    return []
  }
  const entry = secretEntry(secrets, metadata.namespace, 'spec.secretRef', spec.secretRef)
  if ('missing' in entry) {
    findings.missing.push(entry.missing)
    return []
  }
  const place = `the entry ${spec.secretRef.key} of the Secret ${spec.secretRef.name}`
  if (!VISIBLE_ASCII.test(entry.value)) {
    const message = `spec.secretRef: ${place} is no key; a key has visible ASCII characters only and no spaces`
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
function refuseClaimed(
  credentials: readonly Credential[],
  keys: ReadonlyMap<string, KeyRecord>,
  namespace: string,
  findings: Findings,
): void {
  const owner = credentials.map(({ hash }) => keys.get(hash)).find((claimed) => claimed !== undefined)
  if (owner === undefined) return
  // Another namespace's names are not for its tenants' eyes.
  const who = owner.namespace === namespace ? `the ApiKey ${owner.name}` : 'an ApiKey of another namespace'
  findings.refusals.push({
    reason: 'Conflicted',
    message: `${who} is older and has the same key; use another key`,
  })
}

function record(
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

function keyStatus(
  { metadata, spec }: Resource<ApiKeySpec>,
  credentials: readonly Credential[],
  accounts: Accounts,
  findings: Findings,
  inForce: boolean,
): ObjectStatus {
  const fault = spec.accountRef && accounts.fault(metadata.namespace, spec.accountRef.name)
  if (fault !== undefined) findings.missing.push(fault)
  if (spec.disabled === true)
    findings.notes.push({ reason: 'Disabled', message: 'the key is switched off by spec.disabled' })
  const preview = credentials[0]?.preview
  return judge('ApiKey', metadata, findings, inForce, {
    ...(preview !== undefined && { preview }),
    ...(spec.secretRef !== undefined && { secretName: spec.secretRef.name }),
  })
}
