/** Opens accounts and hands credits to the ledger, each once. */
import type { Nanos } from '../../contract/money.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import type { AppliedCredits, Compiled, CreditPlan, CreditResult } from '../snapshot.ts'

export class CreditApplier {
  readonly #ledger: Ledger
  readonly #now: () => number
  readonly #opened = new Set<string>()
  readonly #results = new Map<string, { plan: CreditPlan; result: CreditResult }>()
  /** Ids that `credited` counts already. */
  readonly #counted = new Set<string>()
  readonly #credited = new Map<string, Nanos>()

  constructor(ledger: Ledger, now: () => number) {
    this.#ledger = ledger
    this.#now = now
  }

  /**
   * Makes every account known and every credit applied. A repeat asks the ledger about new accounts and credits
   * only. Rejects with StoreUnavailable.
   */
  async apply({ accounts, credits }: Compiled): Promise<AppliedCredits> {
    for (const account of accounts.keys()) await this.#open(account)
    const results = new Map<string, CreditResult>()
    for (const plan of credits) results.set(plan.id, await this.#resultOf(plan))
    return { results, credited: new Map(this.#credited) }
  }

  async #open(account: string): Promise<void> {
    if (this.#opened.has(account)) return
    await this.#ledger.open(account)
    this.#opened.add(account)
  }

  async #resultOf(plan: CreditPlan): Promise<CreditResult> {
    const known = this.#results.get(plan.id)
    if (known !== undefined && known.plan.account === plan.account && known.plan.amount === plan.amount)
      return known.result
    const result = await this.#topup(plan)
    this.#results.set(plan.id, { plan, result })
    if (result.outcome !== 'conflict' && !this.#counted.has(plan.id)) {
      this.#counted.add(plan.id)
      this.#credited.set(plan.account, (this.#credited.get(plan.account) ?? 0) + plan.amount)
    }
    return result
  }

  async #topup({ id, account, amount }: CreditPlan): Promise<CreditResult> {
    switch (await this.#ledger.topup({ id, account, amount })) {
      case 'OK':
        return { outcome: 'applied', appliedAt: this.#now() }
      case 'DUP':
        return { outcome: 'already' }
      case 'CONFLICT':
        return { outcome: 'conflict' }
      case 'NOACCT':
        // The ledger has lost what it knew: the next attempt opens the account again.
        this.#opened.delete(account)
        throw new Error('the ledger does not know an account that was opened')
    }
  }
}
