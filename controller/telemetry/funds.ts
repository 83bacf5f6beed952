/** What the metrics say about money: how many resources are low on funds, and the balances that were asked for. */
import { Gauge, type Registry } from 'prom-client'
import type { Nanos } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import type { AppliedCredits, BudgetFunds } from '../snapshot.ts'

/** Accounts with series of their own, at most: each has a few. */
const MOST_ACCOUNTS = 1_000

export interface FundsReading {
  /** Resources with the condition FundsLow, by kind. */
  low: Record<'Account' | 'ApiKey', number>
  /** Accounts with `metrics: true`, in the order of their names. */
  accounts: {
    namespace: string
    name: string
    balance: Nanos
    held: Nanos
    budgets: readonly BudgetFunds[]
  }[]
}

export function readFunds(
  { funds, spending }: Pick<AppliedCredits, 'funds' | 'spending'>,
  accounts: ReadonlyMap<string, AccountRecord>,
): FundsReading {
  const low = { Account: 0, ApiKey: 0 }
  for (const [owner, { warnings }] of spending)
    if (warnings.length > 0) low[owner.startsWith('Account/') ? 'Account' : 'ApiKey'] += 1
  const shown = [...accounts.values()]
    .filter(({ metrics }) => metrics === true)
    .flatMap(({ id, namespace, name }) => {
      const own = funds.get(id)
      const { budgets = [] } = spending.get(`Account/${namespace}/${name}`) ?? {}
      return own === undefined ? [] : [{ namespace, name, balance: own.balance, held: own.held, budgets }]
    })
    .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
  return { low, accounts: shown.slice(0, MOST_ACCOUNTS) }
}

const NANOS_PER_DOLLAR = 1_000_000_000
const OF_ACCOUNT = ['namespace', 'account'] as const

export class FundsGauges {
  readonly #low: Gauge<'kind'>
  readonly #balance: Gauge<'namespace' | 'account'>
  readonly #held: Gauge<'namespace' | 'account'>
  readonly #budget: Gauge<'namespace' | 'account' | 'model'>
  readonly #spent: Gauge<'namespace' | 'account' | 'model'>

  constructor(registry: Registry) {
    const registers = [registry]
    this.#low = new Gauge({
      name: 'sluice_funds_low',
      help: 'Resources with the condition FundsLow, as seen by the leader.',
      labelNames: ['kind'],
      registers,
    })
    this.#balance = new Gauge({
      name: 'sluice_account_balance_dollars',
      help: 'Balance of an Account with spec.metrics.',
      labelNames: OF_ACCOUNT,
      registers,
    })
    this.#held = new Gauge({
      name: 'sluice_account_held_dollars',
      help: 'Dollars held by requests in flight of an Account with spec.metrics.',
      labelNames: OF_ACCOUNT,
      registers,
    })
    this.#budget = new Gauge({
      name: 'sluice_account_budget_dollars',
      help: 'Budget of an Account with spec.metrics, by the models that it is for; empty: all.',
      labelNames: [...OF_ACCOUNT, 'model'],
      registers,
    })
    this.#spent = new Gauge({
      name: 'sluice_account_budget_spent_dollars',
      help: 'Spent in the current period of a budget of an Account with spec.metrics.',
      labelNames: [...OF_ACCOUNT, 'model'],
      registers,
    })
  }

  /** Series of accounts that are gone, and those of a controller that no longer leads, end. */
  show(funds: FundsReading | undefined): void {
    for (const kind of ['Account', 'ApiKey'] as const) this.#low.set({ kind }, funds?.low[kind] ?? 0)
    for (const gauge of [this.#balance, this.#held, this.#budget, this.#spent]) gauge.reset()
    for (const { namespace, name: account, balance, held, budgets } of funds?.accounts ?? []) {
      const labels = { namespace, account }
      this.#balance.set(labels, balance / NANOS_PER_DOLLAR)
      this.#held.set(labels, held / NANOS_PER_DOLLAR)
      for (const { most, spent, model = '' } of budgets) {
        this.#budget.set({ ...labels, model }, most / NANOS_PER_DOLLAR)
        this.#spent.set({ ...labels, model }, spent / NANOS_PER_DOLLAR)
      }
    }
  }
}
