/** Warnings before the money is gone: a balance below an amount, a budget that is nearly spent. */
import { lowMark, passedPercent } from '../../contract/low-funds.ts'
import { formatDollars } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import type { FundsLeft } from '../../store/ledger/contract.ts'
import type { AppliedBudget } from './budgets.ts'

/** Of the own account and key: a caller learns nothing about the parent of its account. */
export function warningsOf(
  account: AccountRecord,
  budgets: readonly AppliedBudget[],
  { posted, subPosted = 0, spent }: FundsLeft,
): string[] {
  const mark = lowMark(account, account.parent === undefined ? posted : subPosted)
  return [
    ...(mark === undefined ? [] : [`balance below ${formatDollars(mark)}`]),
    ...budgets.flatMap(({ whose, record, budget }, i) => {
      const passed = whose === 'parent' ? undefined : passedPercent(record, spent[i] ?? 0)
      if (passed === undefined) return []
      const of = record.model === undefined ? '' : ` for ${record.model}`
      return [`${whose} budget${of} ${passed}% spent until ${new Date(budget.periods[1]).toISOString()}`]
    }),
  ]
}
