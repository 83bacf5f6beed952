import type { CreditSpec, Resource } from '../../contract/api/index.ts'
import { objectId } from '../../contract/ids.ts'
import type { CreditPlan, ObjectStatus, Snapshot } from '../snapshot.ts'
import type { Accounts } from './accounts.ts'
import { nanos } from './amounts.ts'
import { type Finding, judge, nameOf, noFindings } from './conditions.ts'

interface CompiledCredit {
  /** The fault of its account, as in the status. */
  fault: string | undefined
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
    const fault = accounts.fault(resource.metadata.namespace, resource.spec.accountRef.name)
    const known = compiledCredits.get(resource)
    const credit =
      known !== undefined && known.fault === fault?.message ? known : compileCredit(resource, fault)
    compiledCredits.set(resource, credit)
    if (credit.plan !== undefined) credits.push(credit.plan)
    statuses.push(credit.status)
  }
  return { credits, statuses }
}

function compileCredit(resource: Resource<CreditSpec>, fault: Finding | undefined): CompiledCredit {
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
    account: objectId(metadata.namespace, spec.accountRef.name),
  }
  return {
    fault: fault?.message,
    ...(inForce && { plan: { ...plan, amount } }),
    status: judge('Credit', metadata, findings, inForce),
  }
}
