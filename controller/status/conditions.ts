/** Programmed and Ready, and the times of conditions. */
import type { Condition, Reason } from '../../contract/api/index.ts'
import type { CreditResult, Judgement, ObjectStatus, Risk, RiskKind } from '../snapshot.ts'
import { healthy, type Illness } from './health.ts'
import { type Verdict, verdictOn } from './verdict.ts'

/** Without a checkpoint, only a backup of the store, the journal or a person can restore a balance. */
const LOST =
  'has lost the balance of this account, and no checkpoint has it; it stays closed until Redis or the checkpoint is restored from a backup, or its sums by hand: sluice ledger restore says how'

const WITHHELD =
  'not opened, because Redis may evict its balance; it opens by itself once Redis has maxmemory-policy noeviction'

/** Limit of the status schema. */
const MAX_MESSAGE = 4096

/** What publisher, ledger and proxies report about one resource. */
export interface Carried {
  /** Generation of the publication that contains the resource; undefined: not published yet. */
  publication: number | undefined
  /** Every live proxy has served that publication. */
  served: boolean
  /** The ledger's answer for a Credit. */
  credit?: CreditResult['outcome'] | undefined
  /**
   * Whether the balance of an Account is known. lost: the ledger refuses its requests. withheld: the account is not opened,
   * because the store may evict balances.
   */
  balance?: 'unknown' | 'known' | 'lost' | 'withheld'
  /** How the store may lose the balance of an Account, the worst first. */
  risks?: readonly Risk[]
  /** Which funds of an Account or ApiKey are low, if any. */
  low?: readonly string[] | undefined
  /** Failures of a Channel that proxies report, if any. */
  illness?: Illness | undefined
}

/** All conditions of a resource, in the order of CONDITION_TYPES. `proxies`: number of live proxies. */
export function allConditions(object: ObjectStatus, carried: Carried, proxies: number): Judgement[] {
  const refusal = refusalOf(carried.credit)
  const judged = refusal === undefined ? object : refused(object, refusal)
  const conditions = [...judged.conditions, programmed(judged, carried, proxies)]
  const health = object.kind === 'Channel' && object.inForce ? [healthy(object, carried.illness)] : []
  const others = [...health, ...atRisk(object, carried.risks ?? []), ...fundsLow(object, carried.low ?? [])]
  return [...conditions, ready(judged, conditions), ...stalled(conditions), ...others]
}

/** Undefined: that Redis does not report a setting proves nothing about balances. */
const RISK_REASONS: Record<RiskKind, Reason | undefined> = {
  evicts_all: 'StoreEvicts',
  evicts_volatile: 'StoreEvicts',
  not_persistent: 'StoreNotPersistent',
  eviction_unknown: undefined,
  persistence_unknown: undefined,
}

/** The reason is that of the worst risk; the message has all. */
function atRisk(object: ObjectStatus, risks: readonly Risk[]): Judgement[] {
  if (object.kind !== 'Account' || !object.inForce) return []
  const proven = risks.filter(({ kind }) => RISK_REASONS[kind] !== undefined)
  const reason = proven[0] && RISK_REASONS[proven[0].kind]
  if (reason === undefined) return []
  const message = proven.map((risk) => risk.message).join('; ')
  return [verdictOn('AtRisk', object)('True', reason, message.slice(0, MAX_MESSAGE))]
}

function fundsLow(object: ObjectStatus, low: readonly string[]): Judgement[] {
  if (!object.inForce || low.length === 0) return []
  return [verdictOn('FundsLow', object)('True', 'FundsLow', low.join('; ').slice(0, MAX_MESSAGE))]
}

/** Stalled lets tools that wait for Ready give up at once. */
function stalled(conditions: readonly Judgement[]): Judgement[] {
  const refused = conditions.filter(({ type, status }) => type === 'Accepted' && status === 'False')
  return refused.map((condition) => ({ ...condition, type: 'Stalled', status: 'True' }))
}

/** Why the ledger refused a credit, if it did. */
function refusalOf(credit: Carried['credit']): Pick<Judgement, 'reason' | 'message'> | undefined {
  switch (credit) {
    case 'conflict':
      return {
        reason: 'Conflicted',
        message:
          'a Credit of this name was applied before with another amount or account and still counts; use another name',
      }
    case 'limit':
      return { reason: 'Invalid', message: 'the balance would exceed the limit of the ledger' }
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
  const verdict = verdictOn('Programmed', object)
  const failed = object.conditions.find(({ status }) => status !== 'True')
  if (!object.inForce && failed !== undefined)
    return verdict('False', failed.reason, 'not published because it is not in force')
  if (object.kind === 'Credit') return creditProgrammed(verdict, carried)
  if (carried.balance === 'lost') return verdict('False', 'LedgerLost', `the ledger ${LOST}`)
  if (carried.balance === 'withheld') return verdict('False', 'StoreEvicts', WITHHELD)
  if (carried.balance === 'unknown') return verdict('False', 'Pending', 'waiting for the ledger')
  if (carried.publication === undefined) return verdict('False', 'Pending', 'waiting to be published')
  if (proxies === 0) return verdict('Unknown', 'NoProxies', 'no proxy is alive')
  return carried.served
    ? verdict('True', 'Programmed', 'every live proxy serves this generation')
    : verdict('False', 'Pending', 'not every live proxy serves this generation yet')
}

/** A credit is in force once the ledger has applied it; proxies do not matter. */
function creditProgrammed(verdict: Verdict, { credit }: Carried): Judgement {
  switch (credit) {
    case 'applied':
      return verdict('True', 'Programmed', 'the ledger has applied the credit')
    case 'already':
      return verdict(
        'True',
        'AlreadyApplied',
        'the ledger had applied the credit before; nothing was added again',
      )
    case 'closed':
      return verdict('False', 'LedgerLost', `not applied because the account is closed: the ledger ${LOST}`)
    case 'withheld':
      return verdict('False', 'StoreEvicts', `not applied: the account is ${WITHHELD}`)
    default:
      return verdict('False', 'Pending', 'waiting for the ledger')
  }
}

/** True for a route that serves with some of its channels, and whose only problem is that others cannot be used. */
function servesPartly({ kind, fields }: ObjectStatus, conditions: readonly Judgement[]): boolean {
  const failed = conditions.filter(({ status }) => status !== 'True')
  const missing = failed.length === 1 && failed[0]?.type === 'ResolvedRefs'
  return kind === 'ModelRoute' && missing && (fields.endpoints?.length ?? 0) > 0
}

/** The summary: the first condition that is not true, else a note such as Disabled. */
function ready(object: ObjectStatus, conditions: readonly Judgement[]): Judgement {
  const verdict = verdictOn('Ready', object)
  const failed = conditions.find(({ status }) => status !== 'True')
  if (failed !== undefined && servesPartly(object, conditions)) {
    const message = `serves without the missing channels: ${failed.message}`
    return verdict('False', 'PartiallyReady', message.slice(0, MAX_MESSAGE))
  }
  if (failed !== undefined) return verdict('False', failed.reason, failed.message)
  const note = conditions.find(
    ({ type, reason }) => (type === 'Accepted' && reason !== 'Accepted') || reason === 'AlreadyApplied',
  )
  return verdict('True', note?.reason ?? 'Ready', note?.message ?? 'all other conditions are true')
}

/** Adds the time of the last change of status to each condition: `now`, or that of `before` while the status is the same. */
export function withTimes(
  judgements: readonly Judgement[],
  before: readonly Condition[],
  now: string,
): Condition[] {
  return judgements.map((judgement) => {
    const old = before.find(({ type }) => type === judgement.type)
    const lastTransitionTime = old?.status === judgement.status ? old.lastTransitionTime : now
    const { type, status, observedGeneration, reason, message } = judgement
    return { type, status, observedGeneration, lastTransitionTime, reason, message }
  })
}
