/** Parses a document into a resource or Secret, or explains its faults, as `kubectl apply` would. */
import { z } from 'zod'
import { instant, objectName } from '../../../contract/api/fields.ts'
import {
  API_VERSION,
  GROUP,
  KIND_NAMES,
  KINDS,
  type KindName,
  type Specs,
} from '../../../contract/api/index.ts'
import { nearest } from '../../../kit/nearest.ts'
import type { SecretData } from '../../snapshot.ts'
import { explain, type Fault, typeName, unknownField, wantedText } from '../explain.ts'
import { readSpec, type SpecReading } from '../spec.ts'
import { readSecret } from './secret.ts'
import { substitute } from './substitute.ts'

/** The content of a valid document, by kind. */
export type Content =
  | { [Name in KindName]: { kind: Name; spec: Specs[Name] } }[KindName]
  | { kind: 'Secret'; data: SecretData }

export interface Identity {
  kind: Content['kind']
  namespace: string
  name: string
}

/**
 * `anonymous`: kind or name are unknown; `foreign`: it belongs to other software and is not a mistyped resource of ours.
 * `bad`: an invalid document of a known resource.
 */
export type Reading =
  | { outcome: 'good'; identity: Identity; createdAt: number | undefined; content: Content }
  | { outcome: 'bad'; identity: Identity; createdAt: number | undefined; faults: Fault[] }
  | { outcome: 'anonymous'; foreign: boolean; subject: string | undefined; faults: Fault[] }

export interface ParseContext {
  /** Namespace of documents that set none; others must set the same one, unless `anyNamespace`. */
  namespace: string
  anyNamespace?: boolean
  env: Readonly<Record<string, string | undefined>>
  /** The content of a resource in force, for rules on updates. */
  inForce(identity: Identity): Content | undefined
}

const text = z.string()
const labels = z.record(text, text).nullish()
const nameSchema = objectName()
/** Metadata that an API server sets, ignored here. */
const SERVER_SET = [
  'uid',
  'generation',
  'resourceVersion',
  'managedFields',
  'ownerReferences',
  'finalizers',
  'selfLink',
  'generateName',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]
/** Metadata that Kubernetes allows; folder mode uses the first three fields. */
const metadataSchema = z.strictObject({
  name: nameSchema,
  namespace: text.nullish(),
  creationTimestamp: instant().nullish(),
  labels,
  annotations: labels,
  ...Object.fromEntries(SERVER_SET.map((field) => [field, z.unknown().optional()])),
})
const mapping = z.record(text, z.unknown())

const kindNames = [...KIND_NAMES, 'Secret']

/** True for `List`, as kubectl prints several resources, and for lists of one kind, such as `AccountList`. */
export function isListKind(kind: unknown): boolean {
  return kind === 'List' || kindNames.some((name) => kind === `${name}List`)
}

export function parseDocument(value: unknown, context: ParseContext): Reading {
  const document = mapping.safeParse(value)
  if (!document.success)
    return anonymous([{ path: [], message: `a document must be a mapping, not a ${typeName(value)}` }])
  const { apiVersion, kind } = document.data
  const metadata = mapping.safeParse(document.data.metadata)
  const name = metadata.success ? metadata.data.name : undefined
  const known = isKind(kind) ? kind : undefined
  const group = typeof apiVersion === 'string' ? apiVersion : ''
  if (known === undefined || isForeign(known, group)) return unknownKind(kind, name, group)
  const validName = nameSchema.safeParse(name)
  if (!metadata.success || !validName.success) {
    if (name === undefined || validName.error === undefined)
      return anonymous([{ path: ['metadata'], message: 'metadata.name is missing' }])
    return anonymous(explain(nameSchema, name, ['metadata', 'name'], validName.error))
  }
  const namespace = typeof metadata.data.namespace === 'string' ? metadata.data.namespace : context.namespace
  const identity = { kind: known, namespace, name: validName.data }
  const faults = headFaults(known, document.data, context.anyNamespace ? namespace : context.namespace)
  const head = metadataSchema.safeParse(metadata.data)
  if (!head.success) faults.push(...explain(metadataSchema, metadata.data, ['metadata'], head.error))
  const stamp = head.success ? head.data.creationTimestamp : undefined
  const createdAt = typeof stamp === 'string' ? Date.parse(stamp) : undefined
  const content = readContent(identity, document.data, context)
  faults.push(...content.faults)
  return faults.length === 0 && content.content !== undefined
    ? { outcome: 'good', identity, createdAt, content: content.content }
    : { outcome: 'bad', identity, createdAt, faults }
}

function isKind(kind: unknown): kind is Content['kind'] {
  return typeof kind === 'string' && kindNames.includes(kind)
}

/** True for a kind of another group with the same name. Without a group, the kind counts as ours. */
function isForeign(kind: Content['kind'], apiVersion: string): boolean {
  if (kind === 'Secret') return false
  const slash = apiVersion.indexOf('/')
  return slash > 0 && nearest(apiVersion.slice(0, slash), [GROUP]) === undefined
}

function unknownKind(kind: unknown, name: unknown, apiVersion: string): Reading {
  const subject = typeof kind === 'string' && typeof name === 'string' ? `${kind}/${name}` : undefined
  if (typeof kind !== 'string') {
    const message = kind === undefined ? 'kind is missing' : wantedText('kind', typeName(kind))
    return anonymous([{ path: ['kind'], message }])
  }
  if (isListKind(kind)) return anonymous([{ path: ['items'], message: 'items must be a list of resources' }])
  const close = nearest(kind, kindNames)
  const hint =
    close === undefined || close === kind ? `known: ${kindNames.join(', ')}` : `did you mean ${close}?`
  const of = apiVersion === '' ? '' : ` of ${apiVersion}`
  return {
    outcome: 'anonymous',
    foreign: !apiVersion.startsWith(`${GROUP}/`) && (close === undefined || close === kind),
    subject,
    faults: [{ path: ['kind'], message: `unknown kind ${kind}${of}; ${hint}` }],
  }
}

function anonymous(faults: Fault[]): Reading {
  return { outcome: 'anonymous', foreign: false, subject: undefined, faults }
}

/** Faults of apiVersion, namespace and the names of the top-level fields. */
function headFaults(kind: Content['kind'], document: Record<string, unknown>, namespace: string): Fault[] {
  const faults: Fault[] = []
  const wanted = kind === 'Secret' ? 'v1' : API_VERSION
  if (document.apiVersion !== wanted)
    faults.push({ path: ['apiVersion'], message: `apiVersion of a ${kind} must be ${wanted}` })
  const own = kind === 'Secret' ? ['type', 'data', 'stringData', 'immutable'] : ['spec', 'status']
  const fields = ['apiVersion', 'kind', 'metadata', ...own]
  for (const field of Object.keys(document))
    if (!fields.includes(field)) faults.push({ path: [field], message: unknownField(field, [], fields) })
  const metadata = mapping.safeParse(document.metadata)
  const given = metadata.success ? metadata.data.namespace : undefined
  if (typeof given === 'string' && given !== namespace) {
    const message = `namespace ${given} is not served; use ${namespace}, leave it out, or set SLUICE_NAMESPACE`
    faults.push({ path: ['metadata', 'namespace'], message })
  }
  return faults
}

interface ContentReading {
  content: Content | undefined
  faults: Fault[]
}

function readContent(
  identity: Identity,
  document: Record<string, unknown>,
  context: ParseContext,
): ContentReading {
  const old = context.inForce(identity)
  const spec = document.spec
  switch (identity.kind) {
    case 'Secret': {
      const { data, faults } = readSecret(document, context.env)
      return { content: { kind: 'Secret', data }, faults }
    }
    case 'ApiKey':
      return as('ApiKey', readSpec(KINDS.ApiKey, spec, old?.kind === 'ApiKey' ? old.spec : undefined))
    case 'Account':
      return as('Account', readSpec(KINDS.Account, spec, old?.kind === 'Account' ? old.spec : undefined))
    case 'Credit':
      return as('Credit', readSpec(KINDS.Credit, spec, old?.kind === 'Credit' ? old.spec : undefined))
    case 'ModelRoute':
      return as(
        'ModelRoute',
        readSpec(KINDS.ModelRoute, spec, old?.kind === 'ModelRoute' ? old.spec : undefined),
      )
    case 'Channel': {
      const filled = withBaseURL(spec, context.env)
      if (filled.fault !== undefined) return { content: undefined, faults: [filled.fault] }
      return as(
        'Channel',
        readSpec(KINDS.Channel, filled.spec, old?.kind === 'Channel' ? old.spec : undefined),
      )
    }
  }
}

function as<K extends string, Spec>(
  kind: K,
  reading: SpecReading<Spec>,
): { content: { kind: K; spec: Spec } | undefined; faults: Fault[] } {
  return {
    content: reading.spec === undefined ? undefined : { kind, spec: reading.spec },
    faults: reading.faults,
  }
}

function withBaseURL(
  spec: unknown,
  env: ParseContext['env'],
): { spec: unknown; fault?: undefined } | { fault: Fault } {
  const fields = mapping.safeParse(spec)
  if (!fields.success || typeof fields.data.baseURL !== 'string') return { spec }
  const filled = substitute(fields.data.baseURL, env)
  return filled.ok
    ? { spec: { ...fields.data, baseURL: filled.text } }
    : { fault: { path: ['spec', 'baseURL'], message: `spec.baseURL ${filled.message}` } }
}
