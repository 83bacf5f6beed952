/** Builds the conditions of a resource, in the same way for every kind. */
import type { ConditionType, Metadata, Reason } from '../../contract/api/index.ts'
import { SharedList } from '../../kit/shared-list.ts'
import { byName, type Judgement, type ObjectStatus } from '../snapshot.ts'

export interface Finding {
  reason: Reason
  message: string
}

/** Findings about one resource while it is compiled. */
export interface Findings {
  /** Why the spec is not in force. */
  refusals: Finding[]
  /** References that cannot be resolved. */
  missing: Finding[]
  /** Notes about a spec that is in force. */
  notes: Finding[]
}

export function noFindings(): Findings {
  return { refusals: [], missing: [], notes: [] }
}

/** Accepted and ResolvedRefs of a resource. The reason is that of the first finding, the message contains all of them. */
export function judge(
  kind: ObjectStatus['kind'],
  metadata: Metadata,
  {
    findings: { refusals, missing, notes },
    inForce,
    fields = {},
  }: { findings: Findings; inForce: boolean; fields?: ObjectStatus['fields'] },
): ObjectStatus {
  const generation = metadata.generation
  return {
    kind,
    metadata,
    inForce,
    conditions: judged.share([
      refusals.length > 0
        ? condition('Accepted', 'False', generation, refusals)
        : condition('Accepted', 'True', generation, notes.length > 0 ? notes : [ACCEPTED]),
      missing.length > 0
        ? condition('ResolvedRefs', 'False', generation, missing)
        : condition('ResolvedRefs', 'True', generation, [RESOLVED]),
    ]),
    fields,
  }
}

const judged = new SharedList<Judgement>()

const ACCEPTED: Finding = { reason: 'Accepted', message: 'the spec is valid' }
const RESOLVED: Finding = { reason: 'ResolvedRefs', message: 'everything that the spec refers to exists' }

export function condition(
  type: ConditionType,
  status: Judgement['status'],
  observedGeneration: number,
  findings: readonly Finding[],
): Judgement {
  const reason = findings[0]?.reason ?? 'Invalid'
  const message = findings.map((f) => f.message).join('; ')
  // Limit of the status schema.
  return { type, status, observedGeneration, reason, message: message.slice(0, 4096) }
}

/** The older resource first; those of the same second by name and namespace. */
export function byAge(a: { metadata: Metadata }, b: { metadata: Metadata }): number {
  return a.metadata.createdAt - b.metadata.createdAt || byName(a, b)
}

/** "namespace/name" */
export function nameOf({ metadata }: { metadata: Metadata }): string {
  return `${metadata.namespace}/${metadata.name}`
}
