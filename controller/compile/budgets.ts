/** Budgets of a key or an account as records. */
import { hash } from 'node:crypto'
import type { BudgetFields } from '../../contract/api/limits.ts'
import type { BudgetRecord } from '../../contract/table/records.ts'
import { isTimeZone } from '../../kit/calendar.ts'
import { nanos } from './amounts.ts'
import type { Findings } from './conditions.ts'

const SOFT_LIMITS = [80, 95]

/** Empty without a budget. A fault is a refusal. */
export function compileBudgets(
  budget: BudgetFields | undefined,
  { refusals }: Pick<Findings, 'refusals'>,
): { budgets?: BudgetRecord[] } {
  if (budget === undefined) return {}
  const { models = {}, timeZone = 'UTC', softLimit = SOFT_LIMITS, ...own } = budget
  if (!isTimeZone(timeZone)) {
    const message = `spec.budget.timeZone: there is no time zone ${timeZone}; write a name such as Europe/Berlin`
    refusals.push({ reason: 'Invalid', message })
    return {}
  }
  const all = [
    ...(own.amount === undefined ? [] : [{ ...own, model: undefined }]),
    ...Object.entries(models).map(([model, of]) => ({ ...own, ...of, model })),
  ]
  const budgets = all.flatMap(({ amount = '', period = 'Month', model }) => {
    const most = nanos(amount)
    if (most === undefined) {
      const message = `spec.budget.models: the amount of ${model} exceeds the limit of the ledger`
      refusals.push({ reason: 'Invalid', message })
      return []
    }
    const rising = [...new Set(softLimit)].sort((a, b) => a - b)
    return [
      {
        id: idOf(period, model),
        most,
        period,
        timeZone,
        softLimit: rising,
        ...(model !== undefined && { model }),
      },
    ]
  })
  return { budgets }
}

/** A budget of another period starts anew. Ids have no other characters than letters, digits and slashes. */
function idOf(period: BudgetRecord['period'], model: string | undefined): string {
  const suffix = model === undefined ? '' : `/${hash('sha256', model, 'hex').slice(0, 10)}`
  return `${period.toLowerCase()}${suffix}`
}
