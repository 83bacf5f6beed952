import type { ConditionType, Reason } from '../../contract/api/index.ts'
import type { Judgement, ObjectStatus } from '../snapshot.ts'

/** Makes one condition of a resource, with a message for people. */
export type Verdict = (status: Judgement['status'], reason: Reason, message: string) => Judgement

export function verdictOn(type: ConditionType, { metadata }: Pick<ObjectStatus, 'metadata'>): Verdict {
  const observedGeneration = metadata.generation
  return (status, reason, message) => ({ type, status, observedGeneration, reason, message })
}
