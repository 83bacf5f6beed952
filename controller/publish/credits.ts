/** Opens accounts and hands credits to the ledger, each once. */
import type { Log } from '../../contract/log.ts'
import type { Nanos } from '../../contract/money.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import type { AppliedCredits, Compiled, CreditPlan, CreditResult } from '../snapshot.ts'

export interface CreditOptions {
  ledger: Ledger
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
}

export class CreditApplier {
  readonly #options: CreditOptions
  readonly #opened = new Set<string>()
  readonly #results = new Map<string, { plan: CreditPlan; result: CreditResult }>()
  /** Ids that `credited` counts already. */
  readonly #counted = new Set<string>()
  readonly #credited = new Map<string, Nanos>()

  constructor(options: CreditOptions) {
    this.#options = options
  }

  /**
   * Makes every account known and every credit applied, as far as the ledger answers; never rejects. `complete` is
   * false when something is left to try again. A repeat asks the ledger only about what is new, left or over the limit.
   */
  async apply({ accounts, credits }: Compiled): Promise<{ applied: AppliedCredits; complete: boolean }> {
    const attempt = new Attempt(this.#options.log)
    for (const account of accounts.keys())
      if (!this.#opened.has(account)) await attempt.run(() => this.#open(account))
    const results = new Map<string, CreditResult>()
    for (const plan of credits) {
      const result = this.#known(plan) ?? (await attempt.run(() => this.#ask(plan)))
      if (result !== undefined) results.set(plan.id, result)
    }
    return { applied: { results, credited: new Map(this.#credited) }, complete: attempt.complete }
  }

  async #open(account: string): Promise<void> {
    await this.#options.ledger.open(account)
    this.#opened.add(account)
  }

  /** What the ledger said before, where it would say the same again. */
  #known(plan: CreditPlan): CreditResult | undefined {
    const known = this.#results.get(plan.id)
    const same = known?.plan.account === plan.account && known.plan.amount === plan.amount
    return same && known.result.outcome !== 'limit' ? known.result : undefined
  }

  async #ask(plan: CreditPlan): Promise<CreditResult> {
    const result = await this.#topup(plan)
    this.#results.set(plan.id, { plan, result })
    const taken = result.outcome === 'applied' || result.outcome === 'already'
    if (taken && !this.#counted.has(plan.id)) {
      this.#counted.add(plan.id)
      this.#credited.set(plan.account, (this.#credited.get(plan.account) ?? 0) + plan.amount)
    }
    return result
  }

  async #topup({ id, account, amount }: CreditPlan): Promise<CreditResult> {
    switch (await this.#options.ledger.topup({ id, account, amount })) {
      case 'OK':
        return { outcome: 'applied', appliedAt: this.#options.now() }
      case 'DUP':
        return { outcome: 'already' }
      case 'CONFLICT':
        return { outcome: 'conflict' }
      case 'LIMIT':
        return { outcome: 'limit' }
      case 'NOACCT':
        // The ledger has lost what it knew: the next attempt opens the account again.
        this.#opened.delete(account)
        throw new Error('the ledger does not know an account that was opened')
    }
  }
}

/** Calls of the ledger of which one may fail without the others; once it is away, no more are made. */
class Attempt {
  readonly #log: Log
  #away = false
  complete = true

  constructor(log: Log) {
    this.#log = log
  }

  async run<T>(call: () => Promise<T>): Promise<T | undefined> {
    if (this.#away) return undefined
    try {
      return await call()
    } catch (error) {
      this.complete = false
      this.#away = error instanceof StoreUnavailable
      this.#log.warn({ err: error }, 'the ledger did not take an account or a credit; trying again')
      return undefined
    }
  }
}
