import { objectId } from '../../contract/ids.ts'
import type { CreditPlan, ObjectStatus, Snapshot } from '../snapshot.ts'
import type { Accounts } from './accounts.ts'
import { nanos } from './amounts.ts'
import { judge, nameOf, noFindings } from './conditions.ts'

export function compileCredits(
  snapshot: Snapshot,
  accounts: Accounts,
): { credits: CreditPlan[]; statuses: ObjectStatus[] } {
  const credits: CreditPlan[] = []
  const statuses: ObjectStatus[] = []
  for (const resource of snapshot.credits) {
    const { metadata, spec } = resource
    const findings = noFindings()
    const fault = accounts.fault(metadata.namespace, spec.accountRef.name)
    if (fault !== undefined) findings.missing.push(fault)
    const amount = nanos(spec.amount)
    if (amount === undefined)
      findings.refusals.push({ reason: 'Invalid', message: 'spec.amount is more than the ledger counts' })
    const inForce = amount !== undefined && fault === undefined
    if (inForce)
      credits.push({
        id: nameOf(resource),
        account: objectId(metadata.namespace, spec.accountRef.name),
        amount,
      })
    statuses.push(judge('Credit', metadata, findings, inForce))
  }
  return { credits, statuses }
}
