/** What the controller keeps of an object from the API server. */
import type { z } from 'zod'
import {
  type Condition,
  KIND_NAMES,
  KINDS,
  type Kind,
  type KindName,
  type Metadata,
  type Resource,
  type Specs,
} from '../../../contract/api/index.ts'
import { SharedList } from '../../../kit/shared-list.ts'
import type { KubeObject } from '../../kube/types.ts'
import type { FoundStatus, InvalidResource } from '../../snapshot.ts'
import { readSpec } from '../spec.ts'
import { withoutUnknown } from './unknown-fields.ts'

/** A resource of the cluster: either `resource`, or `invalid`. */
export interface Kept<Spec, Name extends KindName = KindName> {
  uid: string
  /** Undefined if there is none that matches the schema. */
  status: FoundStatus | undefined
  /** Deleted as soon as its finalizers are removed; in force until then. */
  deleting: boolean
  resource?: Resource<Spec> & { kind: Name }
  invalid?: InvalidResource
  /** Names of fields that this version does not know and ignores. */
  unknownFields?: string[]
}

/**
 * `old`: what was kept before. While uid and generation are the same, so is the spec, and the same `resource` object is
 * returned, so that results cached for it stay valid.
 */
export function keepObject<Name extends KindName>(
  name: Name,
  kind: Kind<z.ZodType<Specs[Name]>>,
  object: KubeObject,
  old: Kept<Specs[Name], Name> | undefined,
): Kept<Specs[Name], Name> {
  const metadata = metadataOf(object)
  const { uid, deletionTimestamp } = object.metadata
  const deleting = deletionTimestamp !== undefined
  const status = statusOf(name, object.status)
  const before = old?.resource ?? old?.invalid
  if (old?.uid === uid && before?.metadata.generation === metadata.generation)
    return { ...old, status, deleting }
  let { spec, faults } = readSpec(kind, object.spec, undefined)
  let unknownFields: string[] = []
  if (spec === undefined) {
    // The API server has checked the spec with the CRD. Without this, the first resource that uses a field of a newer
    // CRD would be out of force until the newer controller leads.
    const known = withoutUnknown(kind.spec, object.spec)
    unknownFields = known.fields
    if (unknownFields.length > 0) ({ spec, faults } = readSpec(kind, known.spec, undefined))
  }
  if (spec !== undefined) {
    const resource = { kind: name, metadata, spec }
    return { uid, status, deleting, resource, ...(unknownFields.length > 0 && { unknownFields }) }
  }
  const message = faults.map((fault) => fault.message).join('; ')
  return { uid, status, deleting, invalid: { kind: name, metadata, message } }
}

function metadataOf({ metadata }: KubeObject): Metadata {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdAt: Date.parse(metadata.creationTimestamp),
  }
}

/** A newer version of this program may have written unknown fields, in addition to the funds. */
const STATUSES = new Map<KindName, z.ZodType<FoundStatus>>(
  // Made once: a new schema is compiled at its first use, which takes longer than all else that is done for an object.
  KIND_NAMES.map((name) => [name, KINDS[name].status.strip()]),
)

const found = new SharedList<Condition>()

function statusOf(name: KindName, value: unknown): FoundStatus | undefined {
  const status = STATUSES.get(name)?.safeParse(value).data
  if (status?.conditions === undefined) return status
  return { ...status, conditions: found.share(status.conditions) }
}
