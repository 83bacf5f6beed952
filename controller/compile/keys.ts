import type { ApiKeySpec, Resource } from '../../contract/api/index.ts'
import { objectId, ownAccountId } from '../../contract/ids.ts'
import { type AccountRecord, type KeyRecord, RECORD_VERSION } from '../../contract/table/records.ts'
import type { GeneratedKey, ObjectStatus, SecretData, Snapshot } from '../snapshot.ts'
import type { Accounts } from './accounts.ts'
import { compileBudgets } from './budgets.ts'
import { byAge, type Finding, type Findings, judge, nameOf, noFindings } from './conditions.ts'
import { type Credential, credentialsOf, secretNamesOf } from './credentials.ts'
import { expiryOf, isWithin, type Span } from './expiry.ts'
import { compileLimits } from './limits.ts'

interface Keyed extends Credential {
  record: KeyRecord
}

/** The verdict on an ApiKey by itself. Cached for each resource and its Secrets, because there may be thousands. */
interface Reading {
  secrets: (SecretData | undefined)[]
  generated: GeneratedKey | undefined
  /** When this reading is valid. */
  span: Span
  credentials: Keyed[]
  ownAccount: AccountRecord | undefined
  findings: Findings
  /** The status if no other ApiKey has the same key, and the fault of its account in it. */
  status?: { fault: string | undefined; object: ObjectStatus }
}

const readings = new WeakMap<Resource<ApiKeySpec>, Reading>()

export function compileKeys(
  snapshot: Snapshot,
  accounts: Accounts,
  now: number,
): {
  keys: Map<string, KeyRecord>
  accounts: Map<string, AccountRecord>
  claims: Map<string, string[]>
  untils: Map<string, number>
  statuses: ObjectStatus[]
} {
  const keys = new Map<string, KeyRecord>()
  const own = new Map<string, AccountRecord>()
  const claims = new Map<string, string[]>()
  const untils = new Map<string, number>()
  const statuses: ObjectStatus[] = []
  for (const resource of [...snapshot.apiKeys].sort(byAge)) {
    const reading = read(resource, snapshot, now)
    if (reading.span.until < Number.POSITIVE_INFINITY) untils.set(nameOf(resource), reading.span.until)
    if (reading.credentials.length > 0)
      claims.set(
        nameOf(resource),
        reading.credentials.map(({ hash }) => hash),
      )
    const claimed = claimedBy(reading.credentials, keys, resource.metadata.namespace)
    const inForce =
      claimed === undefined && reading.credentials.length > 0 && reading.findings.refusals.length === 0
    if (inForce) for (const { hash, record } of reading.credentials) keys.set(hash, record)
    if (inForce && reading.ownAccount !== undefined) own.set(reading.ownAccount.id, reading.ownAccount)
    statuses.push(statusOf(resource, reading, accounts, { claimed, inForce }))
  }
  return { keys, accounts: own, claims, untils, statuses }
}

function read(resource: Resource<ApiKeySpec>, snapshot: Snapshot, now: number): Reading {
  const { metadata, spec } = resource
  const generated = snapshot.generated?.get(nameOf(resource))
  const secrets = secretNamesOf(spec, generated).map((name) =>
    snapshot.secrets.get(`${metadata.namespace}/${name}`),
  )
  const known = readings.get(resource)
  const isCurrent =
    known !== undefined && isWithin(now, known.span) && known.generated?.state === generated?.state
  if (isCurrent && known.secrets.every((secret, i) => secret === secrets[i])) return known

  const findings = noFindings()
  const expiry = expiryOf(spec, now, findings)
  const bounds = { ...compileLimits(spec.limits), ...compileBudgets(spec.budget, findings) }
  const credentials = credentialsOf(
    resource,
    { generated, secrets: snapshot.secrets, expiry, now },
    findings,
  ).map((credential) => ({ ...credential, record: recordOf(resource, credential, bounds) }))
  const ownAccount = ownAccountOf(resource, bounds)
  const reading = { secrets, generated, span: expiry.span, credentials, ownAccount, findings }
  readings.set(resource, reading)
  return reading
}

/** If two ApiKeys have the same key, it would be unclear who pays: the older one keeps it. */
function claimedBy(
  credentials: readonly Keyed[],
  keys: ReadonlyMap<string, KeyRecord>,
  namespace: string,
): Finding | undefined {
  const owner = credentials.map(({ hash }) => keys.get(hash)).find((claimed) => claimed !== undefined)
  if (owner === undefined) return undefined
  // Tenants must not see names in other namespaces.
  const who = owner.namespace === namespace ? `the ApiKey ${owner.name}` : 'an ApiKey of another namespace'
  return { reason: 'Conflicted', message: `${who} is older and has the same key; use another key` }
}

type Bounds = Pick<KeyRecord, 'limits' | 'budgets'>

const isBound = ({ limits, budgets }: Bounds) => limits !== undefined || budgets !== undefined

function recordOf(
  { metadata, spec }: Resource<ApiKeySpec>,
  { preview, until }: Credential,
  bounds: Bounds,
): KeyRecord {
  // Also if the account is missing: without this, requests with the key would go unmetered.
  const account =
    spec.accountRef !== undefined
      ? objectId(metadata.namespace, spec.accountRef.name)
      : isBound(bounds)
        ? ownAccountId(metadata.namespace, metadata.name)
        : undefined
  return {
    version: RECORD_VERSION,
    id: objectId(metadata.namespace, metadata.name),
    namespace: metadata.namespace,
    name: metadata.name,
    preview,
    disabled: spec.disabled ?? false,
    ...(until !== Number.POSITIVE_INFINITY && { expiresAt: until }),
    models: [...(spec.models ?? [])],
    allowedIPs: [...(spec.allowedIPs ?? [])],
    ...(account !== undefined && { account }),
    ...bounds,
  }
}

/** Counts the requests of a key that has limits or budgets and no Account. */
function ownAccountOf({ metadata, spec }: Resource<ApiKeySpec>, bounds: Bounds): AccountRecord | undefined {
  const { namespace, name } = metadata
  if (spec.accountRef !== undefined || !isBound(bounds)) return undefined
  return {
    version: RECORD_VERSION,
    id: ownAccountId(namespace, name),
    namespace,
    name: `key/${name}`,
    disabled: false,
    enforced: false,
    overdraft: 0,
    ofKey: true,
  }
}

function statusOf(
  resource: Resource<ApiKeySpec>,
  reading: Reading,
  accounts: Accounts,
  { claimed, inForce }: { claimed: Finding | undefined; inForce: boolean },
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
    findings.notes.push({ reason: 'Disabled', message: 'the key is disabled by spec.disabled' })
  const { generated, credentials } = reading
  const made = generated?.state === 'made' ? generated : undefined
  const secretName = secretNamesOf(spec, made)[0]
  const fields = {
    ...(credentials.length > 0 && { preview: credentials.map(({ preview }) => preview).join(', ') }),
    ...(secretName !== undefined && { secretName }),
  }
  const object = judge('ApiKey', metadata, { findings, inForce, fields })
  if (claimed === undefined) reading.status = { fault: fault?.message, object }
  return object
}
