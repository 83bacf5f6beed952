/** Whose balances pay for a request: those of its account, and of the parent of a sub-account. */
import type { Nanos } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import type { Balance, Reserve, Sums } from '../../store/ledger/contract.ts'

/** Where the ledger has the balances, and how far they may fall below zero. */
export function payerOf({
  id,
  overdraft,
  parent,
  byBudget,
}: AccountRecord): Pick<Reserve, 'account' | 'sub' | 'overdraft' | 'subOverdraft'> {
  if (parent === undefined) return { account: id, overdraft }
  return {
    account: parent.id,
    sub: id,
    overdraft: parent.overdraft,
    subOverdraft: byBudget === true ? ANY : overdraft,
  }
}

/** The balance of a sub-account whose allowance is a budget is never short. */
const ANY = Number.MAX_SAFE_INTEGER

export interface Funds extends Sums {
  of: 'account' | 'sub'
  overdraft: Nanos
}

const NONE: Sums = { posted: 0, held: 0, credited: 0 }

/** All funds that must cover a request. `balance`: of the account that pays, with this sub-account. */
export function fundsOf({ id, overdraft, parent, byBudget }: AccountRecord, balance: Balance): Funds[] {
  const { posted, held, credited } = balance
  const own = { of: 'account', posted, held, credited } as const
  if (parent === undefined) return [{ ...own, overdraft }]
  return [
    { ...own, overdraft: parent.overdraft },
    { of: 'sub', ...(balance.subs[id] ?? NONE), overdraft: byBudget === true ? ANY : overdraft },
  ]
}
