/** Whether the funds cover a hold: those of the account, of its sub-account and of the budgets that apply. */
import type { Nanos } from '../../contract/money.ts'
import { findSpent, leftIn } from './budgets.ts'
import type { Budget, Shortfall } from './contract.ts'
import { natural } from './numbers.ts'
import type { AccountState } from './state.ts'

/** Whose funds a request needs. */
export interface Payer {
  sub: string | undefined
  /** False: balances are not looked at, only budgets. */
  enforced: boolean
  overdraft: Nanos
  subOverdraft: Nanos
  budgets: readonly Budget[]
}

/** Why funds are short, if they are. What is used up comes before a shortfall that other settles may clear. */
export function findShortfall(
  state: AccountState,
  payer: Payer,
  amount: Nanos,
  nowMs: number,
): Shortfall | undefined {
  const { sub, overdraft, subOverdraft, budgets } = payer
  const check = (of: string | undefined, allowed: Nanos) => {
    const { posted, held } = state.fundsOf(of)
    return { empty: posted + allowed <= 0, hold: posted - held + allowed < amount }
  }
  const covered = { empty: false, hold: false }
  const account = payer.enforced ? check(undefined, overdraft) : covered
  const own = payer.enforced && sub !== undefined ? check(sub, subOverdraft) : covered
  const spent = findSpent(state, budgets, amount, nowMs)
  if (account.empty) return { of: 'account', reason: 'empty' }
  if (own.empty) return { of: 'sub', reason: 'empty' }
  if (spent?.reason === 'empty') return { of: 'budget', ...spent }
  if (account.hold) return { of: 'account', reason: 'hold' }
  if (own.hold) return { of: 'sub', reason: 'hold' }
  return spent && { of: 'budget', ...spent }
}

/** What is left for other holds, wherever the least is left. */
export function freeFunds(
  state: AccountState,
  { sub, enforced, overdraft, subOverdraft, budgets }: Payer,
  nowMs: number,
): Nanos {
  const free = (of: string | undefined, allowed: Nanos) => {
    const { posted, held } = state.fundsOf(of)
    return posted - held + allowed
  }
  let least = Number.MAX_SAFE_INTEGER
  if (enforced) least = Math.min(least, free(undefined, overdraft))
  if (enforced && sub !== undefined) least = Math.min(least, free(sub, subOverdraft))
  for (const budget of leftIn(state, budgets, nowMs)) least = Math.min(least, budget.free)
  return Math.max(least, -Number.MAX_SAFE_INTEGER)
}

/** Throws RangeError for overdrafts that are no safe integers of 0 or more. */
export function checkOverdrafts(terms: {
  overdraft: Nanos
  subOverdraft?: Nanos | undefined
}): Pick<Payer, 'overdraft' | 'subOverdraft'> {
  return {
    overdraft: natural('overdraft', terms.overdraft),
    subOverdraft: natural('subOverdraft', terms.subOverdraft ?? 0),
  }
}
