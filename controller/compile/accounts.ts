import type { AccountSpec, Resource } from '../../contract/api/index.ts'
import { objectId } from '../../contract/ids.ts'
import { type AccountRecord, RECORD_VERSION } from '../../contract/table/records.ts'
import type { ObjectStatus, Snapshot } from '../snapshot.ts'
import { nanos } from './amounts.ts'
import { type Finding, judge, nameOf, noFindings } from './conditions.ts'

export interface Accounts {
  records: Map<string, AccountRecord>
  statuses: ObjectStatus[]
  /** Why a resource cannot refer to this Account; undefined if it can. */
  fault(namespace: string, name: string): Finding | undefined
}

/** Limits on spending that are not enforced yet. An account that sets one is refused, rather than served without it. */
const NOT_ENFORCED = ['parent', 'budget', 'limits'] as const

export function compileAccounts(snapshot: Snapshot): Accounts {
  const records = new Map<string, AccountRecord>()
  const inForce = new Set<string>()
  const statuses: ObjectStatus[] = []
  for (const resource of snapshot.accounts) {
    const { record, status } = compileAccount(resource)
    if (record !== undefined) {
      records.set(record.id, record)
      inForce.add(nameOf(resource))
    }
    statuses.push(status)
  }
  const known = new Set(
    [...snapshot.accounts, ...snapshot.invalid.filter(({ kind }) => kind === 'Account')].map(nameOf),
  )
  return {
    records,
    statuses,
    fault(namespace, name) {
      if (inForce.has(`${namespace}/${name}`)) return undefined
      return known.has(`${namespace}/${name}`)
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
}

/** An account depends on nothing else, so that it is compiled only once. */
const compiledAccounts = new WeakMap<Resource<AccountSpec>, CompiledAccount>()

function compileAccount(resource: Resource<AccountSpec>): CompiledAccount {
  const known = compiledAccounts.get(resource)
  if (known !== undefined) return known
  const compiled = accountOf(resource)
  compiledAccounts.set(resource, compiled)
  return compiled
}

function accountOf(resource: Resource<AccountSpec>): CompiledAccount {
  const { metadata, spec } = resource
  const findings = noFindings()
  for (const field of NOT_ENFORCED) {
    if (spec[field] === undefined) continue
    const verb = field === 'limits' ? 'are' : 'is'
    const message = `${field} ${verb} not enforced yet, so the account is not in force; remove spec.${field}`
    findings.refusals.push({ reason: 'NotSupported', message })
  }
  const overdraft = nanos(spec.overdraft ?? '0')
  if (overdraft === undefined)
    findings.refusals.push({ reason: 'Invalid', message: 'spec.overdraft exceeds the limit of the ledger' })
  if (spec.disabled === true)
    findings.notes.push({ reason: 'Disabled', message: 'the account is disabled by spec.disabled' })
  const inForce = findings.refusals.length === 0
  const status = judge('Account', metadata, findings, inForce)
  if (!inForce || overdraft === undefined) return { status }
  const record: AccountRecord = {
    version: RECORD_VERSION,
    id: objectId(metadata.namespace, metadata.name),
    namespace: metadata.namespace,
    name: metadata.name,
    disabled: spec.disabled ?? false,
    enforced: spec.enforcement === 'Enforced',
    overdraft,
  }
  return { record, status }
}
