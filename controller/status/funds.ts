/** Status fields from the ledger: the balance of an Account, and when a Credit was applied. */
import { isDeepStrictEqual } from 'node:util'
import type { KindName } from '../../contract/api/index.ts'
import { objectId } from '../../contract/ids.ts'
import { formatDollars } from '../../contract/money.ts'
import type { AppliedCredits, FoundStatus, ObjectStatus } from '../snapshot.ts'

type Subject = Pick<ObjectStatus, 'kind' | 'metadata'>

export type MoneyFields = Partial<Record<'balance' | 'held' | 'credited' | 'spent' | 'appliedAt', string>> & {
  budgets?: { model?: string; amount: string; spent: string; renewsAt: string }[]
}

/** Empty if the ledger has not answered. */
export function fundsFields(credits: AppliedCredits, subject: Subject): MoneyFields {
  const { kind, metadata } = subject
  const { budgets = [] } = credits.spending.get(`${kind}/${metadata.namespace}/${metadata.name}`) ?? {}
  const shown = budgets.map(({ most, spent, renewsAt, ...model }) => ({
    ...model,
    amount: formatDollars(most),
    spent: formatDollars(spent),
    renewsAt: new Date(renewsAt).toISOString(),
  }))
  return { ...sumsFields(credits, subject), ...(shown.length > 0 && { budgets: shown }) }
}

function sumsFields(
  credits: AppliedCredits,
  { kind, metadata: { namespace, name } }: Subject,
): Omit<MoneyFields, 'budgets'> {
  const appliedAt = kind === 'Credit' ? credits.results.get(`${namespace}/${name}`)?.appliedAt : undefined
  if (appliedAt !== undefined) return { appliedAt: new Date(appliedAt).toISOString() }
  const funds = kind === 'Account' ? credits.funds.get(objectId(namespace, name)) : undefined
  if (funds === undefined) return {}
  const { balance, held, credited, spent } = funds
  return {
    balance: formatDollars(balance),
    held: formatDollars(held),
    credited: formatDollars(credited),
    spent: formatDollars(spent),
  }
}

export function balanceOf(
  { lost, withheld, funds }: AppliedCredits,
  { metadata: { namespace, name } }: Subject,
): 'unknown' | 'known' | 'lost' | 'withheld' {
  const account = objectId(namespace, name)
  if (lost.has(account)) return 'lost'
  if (withheld.has(account)) return 'withheld'
  return funds.has(account) ? 'known' : 'unknown'
}

/** True if the ledger's answer about an Account or Credit may lead to other conditions. */
export function fundsChanged(before: AppliedCredits, after: AppliedCredits, subject: Subject): boolean {
  const { namespace, name } = subject.metadata
  const owner = `${subject.kind}/${namespace}/${name}`
  const warnings = (of: AppliedCredits) => of.spending.get(owner)?.warnings
  if (!isDeepStrictEqual(warnings(before), warnings(after))) return true
  if (subject.kind === 'Account') return balanceOf(before, subject) !== balanceOf(after, subject)
  const credit = `${namespace}/${name}`
  return before.results.get(credit) !== after.results.get(credit)
}

const FIELDS: Partial<Record<KindName, readonly string[]>> = {
  Account: ['balance', 'held', 'credited', 'spent'],
  Credit: ['appliedAt'],
}

/** Never removed: the only proof of credits and spending that outlives the ledger and this process. */
export function recordedFunds(kind: KindName, found: FoundStatus | undefined): Record<string, unknown> {
  const names = (FIELDS[kind] ?? []).filter((name) => found?.[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, found?.[name]]))
}
