/** When to warn that money runs out. */
import type { Nanos } from './money.ts'
import type { AccountRecord, BudgetRecord } from './table/records.ts'

/** The lowest of the account's amounts that the balance is below; undefined if it is below none. */
export function lowMark(
  { lowBalance = [], byBudget }: Pick<AccountRecord, 'lowBalance' | 'byBudget'>,
  balance: Nanos,
): Nanos | undefined {
  return byBudget === true ? undefined : lowBalance.find((amount) => balance < amount)
}

/** The highest percentage of the budget that is spent; undefined if none of its soft limits is reached. */
export function passedPercent(
  { softLimit, most }: Pick<BudgetRecord, 'softLimit' | 'most'>,
  spent: Nanos,
): number | undefined {
  return softLimit.findLast((percent) => spent >= (most / 100) * percent)
}
