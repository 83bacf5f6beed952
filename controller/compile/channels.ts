import type { ChannelSpec, Resource } from '../../contract/api/index.ts'
import type { ChannelType } from '../../contract/apis.ts'
import { CHANNEL_TYPE_FACTS } from '../../contract/channel-types.ts'
import { parseDuration } from '../../contract/duration.ts'
import { endpointsOf } from '../../contract/endpoints.ts'
import { featuresOf, type Overrides } from '../../contract/profiles.ts'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { withoutEnd } from '../../contract/text.ts'
import { present } from '../../kit/present.ts'
import type { ObjectStatus, SecretData, Snapshot } from '../snapshot.ts'
import { type Finding, type Findings, judge, nameOf, noFindings } from './conditions.ts'
import { secretEntries } from './secrets.ts'
import { tlsOf } from './tls.ts'

/** A channel that is in the table. */
interface Served {
  namespace: string
  record: ChannelRecord
  /** Features that the channel overrides, also for a profile that a route sets. */
  overrides: Overrides | undefined
}

export interface Channels {
  /** Channels in the table, by "namespace/name". */
  records: Map<string, Served>
  /** Types of all channels, in force or not, by "namespace/name"; undefined if the spec does not parse. */
  types: Map<string, ChannelType | undefined>
  /** "namespace/name" of disabled channels. */
  disabled: Set<string>
  statuses: ObjectStatus[]
  /** Why a route cannot use this channel; undefined if it can, or if the channel is disabled. */
  fault(namespace: string, name: string): Finding | undefined
}

/** A credential that a header can contain. */
const CREDENTIAL = /^[\x21-\x7e]+( +[\x21-\x7e]+)*$/

export function compileChannels(snapshot: Snapshot): Channels {
  const records: Channels['records'] = new Map()
  const disabled = new Set<string>()
  const statuses: ObjectStatus[] = []
  for (const resource of snapshot.channels) {
    const { record, status } = compileChannel(resource, snapshot.secrets)
    const name = nameOf(resource)
    if (status.inForce && resource.spec.disabled === true) disabled.add(name)
    else if (record !== undefined) {
      const { metadata, spec } = resource
      records.set(name, { namespace: metadata.namespace, record, overrides: spec.features })
    }
    statuses.push(status)
  }
  const types: Channels['types'] = new Map()
  for (const resource of snapshot.invalid)
    if (resource.kind === 'Channel') types.set(nameOf(resource), undefined)
  for (const resource of snapshot.channels) types.set(nameOf(resource), resource.spec.type)
  return {
    records,
    types,
    disabled,
    statuses,
    fault(namespace, name) {
      const full = `${namespace}/${name}`
      if (records.has(full) || disabled.has(full)) return undefined
      return types.has(full)
        ? { reason: 'RefNotInForce', message: `the Channel ${name} is not in force` }
        : { reason: 'RefNotFound', message: `the Channel ${name} does not exist` }
    },
  }
}

function compileChannel(
  resource: Resource<ChannelSpec>,
  secrets: ReadonlyMap<string, SecretData>,
): { record?: ChannelRecord; status: ObjectStatus } {
  const { metadata, spec } = resource
  const { maxConcurrentRequests, errorMessages, onDisconnect } = spec
  const findings = noFindings()
  const baseURL = normaliseBaseURL(spec)
  if (baseURL === undefined)
    findings.refusals.push({
      reason: 'Invalid',
      message: 'spec.baseURL is not a valid URL; check host and port',
    })
  const auth = spec.auth ?? CHANNEL_TYPE_FACTS[spec.type].auth
  const secret = credential(resource, secrets, findings)
  const tls = tlsOf(resource, secrets, findings)
  const inForce = findings.refusals.length === 0 && findings.missing.length === 0
  const served = inForce && spec.disabled !== true
  const features = featuresOf(spec.type, spec.profile, spec.features)
  const endpoints = served ? endpointsOf(spec.type, features, true) : []
  if (spec.disabled === true)
    findings.notes.push({ reason: 'Disabled', message: 'the channel is disabled by spec.disabled' })
  const status = judge('Channel', metadata, { findings, inForce, fields: { endpoints } })
  if (!inForce || baseURL === undefined) return { status }
  const record: ChannelRecord = {
    name: metadata.name,
    type: spec.type,
    baseURL,
    auth: {
      scheme: auth.scheme,
      ...('header' in auth && auth.header !== undefined && { header: auth.header }),
      ...(secret !== undefined && auth.scheme !== 'None' && { secret }),
    },
    headers: { ...spec.headers },
    query: { ...spec.query },
    profile: spec.profile ?? 'generic',
    features,
    timeoutsMs: {
      connect: parseDuration(spec.timeouts?.connect ?? '5s'),
      firstByte: parseDuration(spec.timeouts?.firstByte ?? '300s'),
      idle: parseDuration(spec.timeouts?.idle ?? '120s'),
      total: parseDuration(spec.timeouts?.total ?? '600s'),
      drain: parseDuration(spec.timeouts?.drain ?? '30s'),
    },
    ...present({ onDisconnect, maxConcurrentRequests, errorMessages, tls }),
    ejection: {
      consecutiveFailures: spec.ejection?.consecutiveFailures ?? 5,
      intervalMs: parseDuration(spec.ejection?.interval ?? '30s'),
      maxIntervalMs: parseDuration(spec.ejection?.maxInterval ?? '300s'),
    },
  }
  return { record, status }
}

/**
 * Removes trailing slashes. An empty path becomes /v1, except for messages, where the gateway appends the version itself.
 * Undefined if the text is not a URL.
 */
function normaliseBaseURL({ baseURL, type }: ChannelSpec): string | undefined {
  if (!URL.canParse(baseURL)) return undefined
  const trimmed = withoutEnd(baseURL, '/')
  const { version, addsVersion } = CHANNEL_TYPE_FACTS[type]
  return !addsVersion && /^https?:\/\/[^/]+$/.test(trimmed) ? `${trimmed}${version}` : trimmed
}

function credential(
  { metadata, spec }: Resource<ChannelSpec>,
  secrets: ReadonlyMap<string, SecretData>,
  findings: Findings,
): string | undefined {
  if (spec.secretRef === undefined) return undefined
  const value = secretEntries(secrets, metadata.namespace, findings)('spec.secretRef', spec.secretRef)
  if (value === undefined || CREDENTIAL.test(value)) return value
  const message = `spec.secretRef: the entry ${spec.secretRef.key} of the Secret ${spec.secretRef.name} must have visible ASCII characters only, so that a header can contain it`
  findings.missing.push({ reason: 'Invalid', message })
  return undefined
}
