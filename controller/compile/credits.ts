import type { CreditSpec, Resource } from '../../contract/api/index.ts'
import type { CreditPlan, ObjectStatus, Snapshot } from '../snapshot.ts'
import type { Accounts, LedgerPlace } from './accounts.ts'
import { nanos } from './amounts.ts'
import { type Finding, judge, nameOf, noFindings } from './conditions.ts'

interface CompiledCredit {
  /** The fault of its account, as in the status. */
  fault: string | undefined
  place: LedgerPlace
  plan?: CreditPlan
  status: ObjectStatus
}

/** Credits stay for ever and never change, so that each is compiled only once for each state of its account. */
const compiledCredits = new WeakMap<Resource<CreditSpec>, CompiledCredit>()

export function compileCredits(
  snapshot: Snapshot,
  accounts: Accounts,
): { credits: CreditPlan[]; statuses: ObjectStatus[] } {
  const credits: CreditPlan[] = []
  const statuses: ObjectStatus[] = []
  for (const resource of snapshot.credits) {
    const { namespace } = resource.metadata
    const fault = accounts.fault(namespace, resource.spec.accountRef.name)
    const place = accounts.place(namespace, resource.spec.accountRef.name)
    const known = compiledCredits.get(resource)
    const isCurrent =
      known?.fault === fault?.message &&
      known?.place.account === place.account &&
      known.place.sub === place.sub
    const credit = isCurrent ? known : compileCredit(resource, fault, place)
    compiledCredits.set(resource, credit)
    if (credit.plan !== undefined) credits.push(credit.plan)
    statuses.push(credit.status)
  }
  return { credits, statuses }
}

function compileCredit(
  resource: Resource<CreditSpec>,
  fault: Finding | undefined,
  place: LedgerPlace,
): CompiledCredit {
  const { metadata, spec } = resource
  const findings = noFindings()
  if (fault !== undefined) findings.missing.push(fault)
  const amount = nanos(spec.amount)
  if (amount === undefined)
    findings.refusals.push({ reason: 'Invalid', message: 'spec.amount exceeds the limit of the ledger' })
  const inForce = amount !== undefined && fault === undefined
  const plan = {
    id: nameOf(resource),
    ...(metadata.uid !== undefined && { uid: metadata.uid }),
    ...place,
  }
  return {
    fault: fault?.message,
    place,
    ...(inForce && { plan: { ...plan, amount } }),
    status: judge('Credit', metadata, { findings, inForce }),
  }
}
