/** What is spent of each budget, and which funds are low. */
import { countersOf } from '../../contract/ids.ts'
import { lowMark, passedPercent } from '../../contract/low-funds.ts'
import { formatDollars } from '../../contract/money.ts'
import type { AccountRecord, BudgetRecord } from '../../contract/table/records.ts'
import { periodsAt } from '../../kit/calendar.ts'
import { spentIn } from '../../store/ledger/budgets.ts'
import type { Balance } from '../../store/ledger/contract.ts'
import type { BudgetFunds, Compiled, Spending } from '../snapshot.ts'

/** An Account or ApiKey with budgets, or with balances to warn at. */
interface Owner {
  /** As "Account/namespace/name". */
  status: string
  counters: string
  budgets: readonly BudgetRecord[]
  account?: AccountRecord
}

export class SpendingWatch {
  /** By the id of the account that has their sums in the ledger. */
  #owners = new Map<string, Owner[]>()

  remember({ accounts, keys }: Pick<Compiled, 'accounts' | 'keys'>): void {
    this.#owners = new Map()
    for (const account of accounts.values()) {
      const { id, namespace, name, budgets = [], lowBalance = [], parent } = account
      if (budgets.length > 0 || lowBalance.length > 0)
        this.#add(parent?.id ?? id, {
          status: `Account/${namespace}/${name}`,
          counters: countersOf('account', id),
          budgets,
          account,
        })
    }
    const seen = new Set<string>()
    for (const { id, namespace, name, account, budgets } of keys.values()) {
      if (budgets === undefined || account === undefined || seen.has(id)) continue
      seen.add(id)
      const payer = accounts.get(account)?.parent?.id ?? account
      this.#add(payer, { status: `ApiKey/${namespace}/${name}`, counters: countersOf('key', id), budgets })
    }
  }

  #add(account: string, owner: Owner): void {
    const owners = this.#owners.get(account)
    if (owners === undefined) this.#owners.set(account, [owner])
    else owners.push(owner)
  }

  /** Ids of the budgets in the ledger that this account has the sums of. */
  budgetsOf(account: string): string[] {
    return (this.#owners.get(account) ?? []).flatMap(({ counters, budgets }) =>
      budgets.map(({ id }) => `${counters}/${id}`),
    )
  }

  /** By "Kind/namespace/name". `balance`: of the account in the ledger, with its sub-accounts and budgets. */
  of(account: string, balance: Balance, nowMs: number): [string, Spending][] {
    return (this.#owners.get(account) ?? []).map((owner) => {
      const budgets = owner.budgets.map((record) => fundsOf(owner.counters, record, { balance, nowMs }))
      const warnings = [
        ...lowBalance(owner.account, balance),
        ...owner.budgets.flatMap((record, i) => spentMost(record, budgets[i])),
      ]
      return [owner.status, { budgets, warnings }]
    })
  }
}

function fundsOf(
  counters: string,
  { id, most, model, period, timeZone }: BudgetRecord,
  { balance, nowMs }: { balance: Balance; nowMs: number },
): BudgetFunds {
  const spent = spentIn(balance.budgets[`${counters}/${id}`], nowMs)
  const [, renewsAt] = periodsAt(nowMs, period, timeZone)
  return { most, spent, renewsAt, ...(model !== undefined && { model }) }
}

/** Without the amount itself, so that a status does not change with every request. */
function lowBalance(account: AccountRecord | undefined, balance: Balance): string[] {
  if (account === undefined) return []
  const own = account.parent === undefined ? balance : balance.subs[account.id]
  const mark = lowMark(account, own?.posted ?? 0)
  return mark === undefined ? [] : [`the balance is below ${formatDollars(mark)}`]
}

function spentMost(record: BudgetRecord, funds: BudgetFunds | undefined): string[] {
  const percent = funds && passedPercent(record, funds.spent)
  if (funds === undefined || percent === undefined) return []
  const of = record.model === undefined ? '' : ` for the model ${record.model}`
  const renews = new Date(funds.renewsAt).toISOString()
  return funds.spent >= funds.most
    ? [`the budget${of} is used up until ${renews}`]
    : [`${percent}% of the budget${of} is spent; it renews at ${renews}`]
}
