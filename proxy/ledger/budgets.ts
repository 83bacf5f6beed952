/** The budgets that apply to a request: those of its key, of its account and of the account's parent. */
import { matchesGlob } from '../../contract/glob.ts'
import { countersOf } from '../../contract/ids.ts'
import type { AccountRecord, BudgetRecord, KeyRecord } from '../../contract/table/records.ts'
import { periodsAt } from '../../kit/calendar.ts'
import type { Budget } from '../../store/ledger/contract.ts'
import { GatewayError } from '../errors.ts'

export interface AppliedBudget {
  whose: 'key' | 'account' | 'parent'
  record: BudgetRecord
  budget: Budget
}

interface Payer {
  key: KeyRecord
  account: AccountRecord | undefined
}

/** `model`: as the client names it. */
export function budgetsOf(payer: Payer, model: string, nowMs: number): AppliedBudget[] {
  const applies = (record: BudgetRecord) => record.model === undefined || matchesGlob(record.model, model)
  return allBudgets(payer, applies, nowMs)
}

/** All budgets of a key and its account, whatever the model; not those of the account's parent. */
export function budgetsOfCaller(payer: Payer, nowMs: number): AppliedBudget[] {
  return allBudgets(payer, () => true, nowMs).filter(({ whose }) => whose !== 'parent')
}

function allBudgets(
  { key, account }: Payer,
  applies: (record: BudgetRecord) => boolean,
  nowMs: number,
): AppliedBudget[] {
  if (account === undefined) return []
  const { id, budgets, parent } = account
  if (!key.budgets?.length && !budgets?.length && !parent?.budgets?.length) return []
  const of = (whose: AppliedBudget['whose'], owner: string, records: readonly BudgetRecord[] = []) =>
    records.filter(applies).map((record) => {
      const counters = countersOf(whose === 'key' ? 'key' : 'account', owner)
      return { whose, record, budget: budgetAt(counters, record, nowMs) }
    })
  return [
    ...of('key', key.id, key.budgets),
    ...of('account', id, budgets),
    ...(parent === undefined ? [] : of('parent', parent.id, parent.budgets)),
  ]
}

/** `counters`: see countersOf. */
export function budgetAt(counters: string, record: BudgetRecord, nowMs: number): Budget {
  return { id: `${counters}/${record.id}`, most: record.most, periods: periodsOf(record, nowMs) }
}

/** Of the current periods, because a calendar is slow. */
const current = new Map<string, Budget['periods']>()

function periodsOf({ period, timeZone }: BudgetRecord, nowMs: number): Budget['periods'] {
  const name = `${period} ${timeZone}`
  const known = current.get(name)
  if (known !== undefined && known[0] <= nowMs && nowMs < known[1]) return known
  const found = periodsAt(nowMs, period, timeZone)
  current.set(name, found)
  return found
}

/** Whether money bounds what the caller may use: an enforced balance, or a budget. */
export function isMetered(payer: Payer, model: string): boolean {
  const matches = ({ model: of }: BudgetRecord) => of === undefined || matchesGlob(of, model)
  const { account, key } = payer
  if (account === undefined) return false
  if (account.enforced) return true
  return [key.budgets, account.budgets, account.parent?.budgets].some((budgets) => budgets?.some(matches))
}

export function budgetExceeded(
  { whose, record: { model }, budget }: AppliedBudget,
  reason: 'empty' | 'hold',
): GatewayError {
  const who = whose === 'key' ? 'this API key' : 'this account'
  const of = model === undefined ? '' : ` for the model ${model}`
  const renews = new Date(budget.periods[1]).toISOString()
  return new GatewayError(
    'insufficient_balance',
    reason === 'empty'
      ? `The budget of ${who}${of} is used up until ${renews}.`
      : `The budget of ${who}${of} does not cover the most that this request may cost; ask for fewer output tokens.`,
  )
}
