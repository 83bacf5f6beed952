/** An object of the API server as what the controller keeps of it. */
import type { z } from 'zod'
import {
  type AccountSpec,
  type ApiKeySpec,
  type ChannelSpec,
  type CreditSpec,
  KINDS,
  type Kind,
  type KindName,
  type Metadata,
  type ModelRouteSpec,
  type Resource,
} from '../../../contract/api/index.ts'
import type { KubeObject } from '../../kube/types.ts'
import type { FoundStatus, InvalidResource } from '../../snapshot.ts'
import { readSpec } from '../spec.ts'

export interface Specs {
  ApiKey: ApiKeySpec
  Account: AccountSpec
  Credit: CreditSpec
  Channel: ChannelSpec
  ModelRoute: ModelRouteSpec
}

/** One resource of the cluster: either `resource`, or `invalid` with what is wrong. */
export interface Kept<Spec, Name extends KindName = KindName> {
  uid: string
  /** Undefined when it has none that follows the schema. */
  status: FoundStatus | undefined
  /** It goes when those who wait for its end have let go; until then it is in force. */
  deleting: boolean
  resource?: Resource<Spec> & { kind: Name }
  invalid?: InvalidResource
}

/**
 * `old` is what was kept of the object before. While neither uid nor generation change, the spec is the same, and so
 * is the object that stands for it: what is worked out from it stays valid.
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
  const { spec, faults } = readSpec(kind, object.spec, undefined)
  if (spec !== undefined) return { uid, status, deleting, resource: { kind: name, metadata, spec } }
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

function statusOf(name: KindName, value: unknown): FoundStatus | undefined {
  // A newer version of this program may have written more than is known here, beside what the account had.
  const schema: z.ZodType<FoundStatus> = KINDS[name].status.strip()
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}
