/** Programmed and Ready, and the times of conditions. */
import type { Condition } from '../../contract/api/index.ts'
import type { CreditResult, Judgement, ObjectStatus } from '../snapshot.ts'
import { healthy, type Illness } from './health.ts'

/** What people can do: nobody restores a balance but with the store that it stood in. */
const LOST =
  'has lost the balance of this account, which stays closed until Redis is restored from a copy; to go on without it, create an Account of another name with a new Credit, and name it in the ApiKeys'

/** The bound of the status schema. */
const MAX_MESSAGE = 4096

/** What the publisher reports of one resource. */
export interface Carried {
  /** Generation of the publication that carried it; undefined: not published yet. */
  publication: number | undefined
  /** Every live proxy has served that publication. */
  served: boolean
  /** What the ledger said of a Credit. */
  credit?: CreditResult['outcome'] | undefined
  /** What is known of the balance of an Account; lost: the ledger refuses its requests. */
  balance?: 'unknown' | 'known' | 'lost'
  /** How the upstream of a Channel fails; undefined: it does not. */
  illness?: Illness | undefined
}

/** All conditions of a resource, in the order of CONDITION_TYPES. `proxies` is how many are alive. */
export function allConditions(object: ObjectStatus, carried: Carried, proxies: number): Judgement[] {
  const refusal = refusalOf(carried.credit)
  const judged = refusal === undefined ? object : refused(object, refusal)
  const conditions = [...judged.conditions, programmed(judged, carried, proxies)]
  const others =
    object.kind === 'Channel' && object.inForce ? [healthy(object.metadata.generation, carried.illness)] : []
  return [...conditions, ready(judged, conditions), ...stalled(conditions), ...others]
}

/** Tells those who wait for Ready that waiting is in vain. */
function stalled(conditions: readonly Judgement[]): Judgement[] {
  const refused = conditions.filter(({ type, status }) => type === 'Accepted' && status === 'False')
  return refused.map((condition) => ({ ...condition, type: 'Stalled', status: 'True' }))
}

/** Why the ledger did not take a credit. */
function refusalOf(credit: Carried['credit']): Pick<Judgement, 'reason' | 'message'> | undefined {
  switch (credit) {
    case 'conflict':
      return {
        reason: 'Conflicted',
        message:
          'a Credit of this name was applied before with another amount or account, and that one counts; use another name',
      }
    case 'limit':
      return { reason: 'Invalid', message: 'the balance would exceed what the ledger counts' }
    default:
      return undefined
  }
}

function refused(object: ObjectStatus, refusal: Pick<Judgement, 'reason' | 'message'>): ObjectStatus {
  const conditions = object.conditions.map((condition) =>
    condition.type === 'Accepted' ? { ...condition, status: 'False' as const, ...refusal } : condition,
  )
  return { ...object, conditions, inForce: false }
}

function programmed(object: ObjectStatus, carried: Carried, proxies: number): Judgement {
  const condition = { type: 'Programmed', observedGeneration: object.metadata.generation } as const
  const failed = object.conditions.find(({ status }) => status !== 'True')
  if (!object.inForce && failed !== undefined)
    return {
      ...condition,
      status: 'False',
      reason: failed.reason,
      message: 'not published, because it is not in force',
    }
  if (object.kind === 'Credit') return creditProgrammed(condition, carried)
  if (carried.balance === 'lost')
    return { ...condition, status: 'False', reason: 'LedgerLost', message: `the ledger ${LOST}` }
  if (carried.balance === 'unknown')
    return { ...condition, status: 'False', reason: 'Pending', message: 'waiting for the ledger' }
  if (carried.publication === undefined)
    return { ...condition, status: 'False', reason: 'Pending', message: 'waiting to be published' }
  if (proxies === 0)
    return { ...condition, status: 'Unknown', reason: 'NoProxies', message: 'no proxy is alive' }
  return carried.served
    ? {
        ...condition,
        status: 'True',
        reason: 'Programmed',
        message: 'every live proxy serves this generation',
      }
    : {
        ...condition,
        status: 'False',
        reason: 'Pending',
        message: 'not every live proxy serves this generation yet',
      }
}

/** A credit is in force once the ledger has it: no proxy takes part. */
function creditProgrammed(
  condition: Pick<Judgement, 'type' | 'observedGeneration'>,
  { credit }: Carried,
): Judgement {
  switch (credit) {
    case 'applied':
      return {
        ...condition,
        status: 'True',
        reason: 'Programmed',
        message: 'the ledger has taken the credit',
      }
    case 'already':
      return {
        ...condition,
        status: 'True',
        reason: 'AlreadyApplied',
        message: 'the ledger took the credit before; nothing was added again',
      }
    case 'closed':
      return {
        ...condition,
        status: 'False',
        reason: 'LedgerLost',
        message: `not taken, because the account is closed: the ledger ${LOST}`,
      }
    default:
      return { ...condition, status: 'False', reason: 'Pending', message: 'waiting for the ledger' }
  }
}

/** A route that is served, by those of its channels that can be used, and whose only fault is that others cannot. */
function servesPartly({ kind, fields }: ObjectStatus, conditions: readonly Judgement[]): boolean {
  const failed = conditions.filter(({ status }) => status !== 'True')
  const missing = failed.length === 1 && failed[0]?.type === 'ResolvedRefs'
  return kind === 'ModelRoute' && missing && (fields.endpoints?.length ?? 0) > 0
}

/** The summary: the first thing that is wrong, else what there is to note, such as Disabled. */
function ready(object: ObjectStatus, conditions: readonly Judgement[]): Judgement {
  const condition = { type: 'Ready', observedGeneration: object.metadata.generation } as const
  const failed = conditions.find(({ status }) => status !== 'True')
  if (failed !== undefined && servesPartly(object, conditions))
    return {
      ...condition,
      status: 'False',
      reason: 'PartiallyReady',
      message: `serves without the channels that are missing: ${failed.message}`.slice(0, MAX_MESSAGE),
    }
  if (failed !== undefined)
    return { ...condition, status: 'False', reason: failed.reason, message: failed.message }
  const note = conditions.find(
    ({ type, reason }) => (type === 'Accepted' && reason !== 'Accepted') || reason === 'AlreadyApplied',
  )
  return note === undefined
    ? { ...condition, status: 'True', reason: 'Ready', message: 'all other conditions are true' }
    : { ...condition, status: 'True', reason: note.reason, message: note.message }
}

/** Gives each condition its time: the one it had while its status stays the same, else now. */
export function withTimes(
  judgements: readonly Judgement[],
  before: readonly Condition[],
  now: number,
): Condition[] {
  return judgements.map((judgement) => {
    const old = before.find(({ type }) => type === judgement.type)
    const lastTransitionTime =
      old?.status === judgement.status ? old.lastTransitionTime : new Date(now).toISOString()
    const { type, status, observedGeneration, reason, message } = judgement
    return { type, status, observedGeneration, lastTransitionTime, reason, message }
  })
}
