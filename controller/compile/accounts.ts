import type { AccountSpec, Resource } from '../../contract/api/index.ts'
import { objectId } from '../../contract/ids.ts'
import { type AccountRecord, RECORD_VERSION } from '../../contract/table/records.ts'
import type { ObjectStatus, Snapshot } from '../snapshot.ts'
import { nanos } from './amounts.ts'
import { compileBudgets } from './budgets.ts'
import { type Finding, type Findings, judge, nameOf, noFindings } from './conditions.ts'
import { compileLimits } from './limits.ts'

export interface Accounts {
  records: Map<string, AccountRecord>
  statuses: ObjectStatus[]
  /** Why a resource cannot refer to this Account; undefined if it can. */
  fault(namespace: string, name: string): Finding | undefined
  /** Where the ledger keeps the balance of this Account. */
  place(namespace: string, name: string): LedgerPlace
}

/** `sub`: the sub-account of `account`. */
export interface LedgerPlace {
  account: string
  sub?: string
}

export function compileAccounts(snapshot: Snapshot): Accounts {
  const records = new Map<string, AccountRecord>()
  const inForce = new Set<string>()
  const statuses: ObjectStatus[] = []
  const byPlace = new Map<string, Resource<AccountSpec> | 'invalid'>([
    ...snapshot.invalid
      .filter(({ kind }) => kind === 'Account')
      .map((found) => [nameOf(found), 'invalid'] as const),
    ...snapshot.accounts.map((resource) => [nameOf(resource), resource] as const),
  ])
  for (const resource of snapshot.accounts) {
    const { record, status } = compileAccount(resource, byPlace)
    if (record !== undefined) {
      records.set(record.id, record)
      inForce.add(nameOf(resource))
    }
    statuses.push(status)
  }
  return {
    records,
    statuses,
    place(namespace, name) {
      const id = objectId(namespace, name)
      const parent = records.get(id)?.parent
      return parent === undefined ? { account: id } : { account: parent.id, sub: id }
    },
    fault(namespace, name) {
      if (inForce.has(`${namespace}/${name}`)) return undefined
      return byPlace.has(`${namespace}/${name}`)
        ? {
            reason: 'RefNotInForce',
            message: `spec.accountRef refers to the Account ${name}, which is not in force`,
          }
        : {
            reason: 'RefNotFound',
            message: `spec.accountRef refers to the Account ${name}, which does not exist`,
          }
    },
  }
}

interface CompiledAccount {
  record?: AccountRecord
  status: ObjectStatus
  /** What it was compiled with: the record of its parent, or why there is none. */
  parent: Parent | undefined
}

type Parent = AccountRecord | 'absent' | 'not_in_force' | 'sub_account'

/** An account depends on its parent alone, so that it is compiled only once for each state of its parent. */
const compiledAccounts = new WeakMap<Resource<AccountSpec>, CompiledAccount>()

function compileAccount(
  resource: Resource<AccountSpec>,
  byPlace: ReadonlyMap<string, Resource<AccountSpec> | 'invalid'>,
): CompiledAccount {
  const parent = parentOf(resource, byPlace)
  const known = compiledAccounts.get(resource)
  if (known !== undefined && known.parent === parent) return known
  const compiled = { ...accountOf(resource, parent), parent }
  compiledAccounts.set(resource, compiled)
  return compiled
}

/** Accounts have two levels, so that a circle of parents is refused as well. */
function parentOf(
  { metadata, spec }: Resource<AccountSpec>,
  byPlace: ReadonlyMap<string, Resource<AccountSpec> | 'invalid'>,
): Parent | undefined {
  if (spec.parent === undefined) return undefined
  const parent = byPlace.get(`${metadata.namespace}/${spec.parent.name}`)
  if (parent === undefined) return 'absent'
  if (parent === 'invalid') return 'not_in_force'
  if (parent.spec.parent !== undefined) return 'sub_account'
  return compileAccount(parent, byPlace).record ?? 'not_in_force'
}

function accountOf(
  { metadata, spec }: Resource<AccountSpec>,
  parent: Parent | undefined,
): Omit<CompiledAccount, 'parent'> {
  const findings = noFindings()
  const overdraft = nanos(spec.overdraft ?? '0')
  if (overdraft === undefined)
    findings.refusals.push({ reason: 'Invalid', message: 'spec.overdraft exceeds the limit of the ledger' })
  const budgets = compileBudgets(spec.budget, findings)
  const lowBalance = (spec.lowBalance ?? []).flatMap((amount) => nanos(amount) ?? [])
  if (spec.disabled === true)
    findings.notes.push({ reason: 'Disabled', message: 'the account is disabled by spec.disabled' })
  const payer = typeof parent === 'string' ? undefined : parent
  if (typeof parent === 'string') refuseParent(findings, parent, spec.parent?.name ?? '')
  else if (parent?.disabled === true)
    findings.notes.push({
      reason: 'Disabled',
      message: `its parent, the Account ${parent.name}, is disabled`,
    })
  const inForce = findings.refusals.length === 0 && findings.missing.length === 0
  const status = judge('Account', metadata, { findings, inForce })
  if (!inForce || overdraft === undefined) return { status }
  const record: AccountRecord = {
    version: RECORD_VERSION,
    id: objectId(metadata.namespace, metadata.name),
    namespace: metadata.namespace,
    name: metadata.name,
    disabled: (spec.disabled ?? false) || payer?.disabled === true,
    enforced: payer?.enforced ?? spec.enforcement === 'Enforced',
    overdraft,
    ...(payer !== undefined && { parent: pick(payer) }),
    ...compileLimits(spec.limits),
    ...budgets,
    ...(payer !== undefined && spec.budget?.amount !== undefined && { byBudget: true }),
    ...(spec.metrics === true && { metrics: true }),
    ...(lowBalance.length > 0 && { lowBalance: lowBalance.sort((a, b) => a - b) }),
  }
  return { record, status }
}

const pick = ({ id, overdraft, limits, budgets }: AccountRecord) => ({
  id,
  overdraft,
  ...(limits && { limits }),
  ...(budgets && { budgets }),
})

function refuseParent(findings: Findings, parent: Extract<Parent, string>, name: string): void {
  const account = `spec.parent refers to the Account ${name}, which`
  if (parent === 'sub_account')
    findings.refusals.push({
      reason: 'Invalid',
      message: `${account} has a parent itself; accounts have two levels`,
    })
  else if (parent === 'absent')
    findings.missing.push({ reason: 'RefNotFound', message: `${account} does not exist` })
  else findings.missing.push({ reason: 'RefNotInForce', message: `${account} is not in force` })
}
