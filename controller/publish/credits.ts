/** Applies credits in the ledger, each once, to the accounts that it opens there. */
import type { AppliedCredits, Compiled, CreditPlan, CreditResult, Recorded, Touched } from '../snapshot.ts'
import { type AccountOptions, Fenced, LedgerAccounts } from './accounts.ts'
import { Attempt } from './attempt.ts'

interface CreditOptions extends AccountOptions {
  /** Milliseconds since the epoch. */
  now: () => number
  recorded?: Recorded | undefined
}

type Money = Pick<Compiled, 'accounts' | 'credits' | 'keys'>

export class CreditApplier {
  readonly #options: CreditOptions
  readonly #accounts: LedgerAccounts
  readonly #results = new Map<string, { plan: CreditPlan; result: CreditResult }>()
  #last: AppliedCredits | undefined
  /** The last attempt was complete. */
  #settled = false

  constructor(options: CreditOptions) {
    this.#options = options
    this.#accounts = new LedgerAccounts(options)
  }

  /**
   * Opens new accounts and applies new credits, as far as the ledger answers; never rejects. `complete` is false if
   * something must be retried. Earlier results are trusted; `read` and `reassert` check them. Without accounts or credits
   * in `touched`, no call is made; undefined: anything may have changed.
   */
  async apply(
    money: Money,
    epoch: number,
    touched?: Pick<Touched, 'accounts' | 'credits'>,
  ): Promise<{ applied: AppliedCredits; complete: boolean }> {
    const accounts = this.#accounts
    const same = touched?.accounts.size === 0 && touched.credits.size === 0 && epoch === accounts.epoch
    if (same && this.#last !== undefined && this.#settled) return { applied: this.#last, complete: true }
    accounts.epoch = epoch
    this.#remember(money)
    const attempt = new Attempt(this.#options.log)
    await attempt.runAll(accounts.fresh(money.accounts), (id) => accounts.open(id))
    await this.#topUpAll(
      attempt,
      money.credits.filter(
        (plan) => this.#closedFor(plan) === undefined && this.#finalResult(plan) === undefined,
      ),
    )
    this.#settled = attempt.complete
    return { applied: this.applied(money), complete: attempt.complete }
  }

  /** The last result, if any. */
  get last(): AppliedCredits | undefined {
    return this.#last
  }

  /** Reads the balances of these accounts (all without `ids`), and notices which the ledger has lost or has again. */
  async read(money: Money, ids: Iterable<string> = money.accounts.keys()): Promise<AppliedCredits> {
    this.#remember(money)
    const accounts = this.#accounts
    const known = [...ids].filter(
      (id) => money.accounts.get(id)?.parent === undefined && money.accounts.has(id),
    )
    const closed = known.filter((id) => accounts.state(id) === 'lost')
    const attempt = new Attempt(this.#options.log)
    await attempt.runAll(known, (id) => accounts.open(id))
    const back = new Set(closed.filter((id) => accounts.state(id) === 'open'))
    // What was restored by hand may lack Credits.
    if (back.size > 0)
      await this.#topUpAll(
        attempt,
        money.credits.filter(({ account }) => back.has(account)),
      )
    return this.applied(money)
  }

  /** Applies the credits of these accounts (all without `ids`) again; the ledger ignores those that it has. */
  async reassert(money: Money, ids?: Iterable<string>): Promise<AppliedCredits> {
    const chosen = new Set(ids ?? money.accounts.keys())
    await this.read(money, chosen)
    const plans = money.credits.filter(
      ({ account }) => chosen.has(account) && this.#accounts.state(account) === 'open',
    )
    await this.#topUpAll(new Attempt(this.#options.log), plans)
    return this.applied(money)
  }

  /** The store was away, and may have lost entries: every account is checked again before it is used. */
  distrust(): void {
    this.#accounts.distrust()
  }

  /** The known results for `money`. */
  applied({ accounts, credits }: Money): AppliedCredits {
    const results = new Map<string, CreditResult>()
    for (const plan of credits) {
      const result = this.#latest(plan) ?? this.#closedFor(plan)
      if (result !== undefined) results.set(plan.id, result)
    }
    this.#last = { results, ...this.#accounts.funds(accounts, this.#options.now()) }
    return this.#last
  }

  /**
   * Reads the recorded funds and results of new resources, once. The result of a deleted Credit is forgotten: if the Credit
   * is created again, it is applied again, and the ledger answers that it has it.
   */
  #remember(money: Money): void {
    this.#accounts.remember(money)
    const named = new Set(money.credits.map(({ id }) => id))
    for (const id of this.#results.keys()) if (!named.has(id)) this.#results.delete(id)
    for (const plan of money.credits) {
      if (this.#results.has(plan.id)) continue
      const result = this.#options.recorded?.credit(plan.id)
      if (result === undefined) continue
      this.#results.set(plan.id, { plan, result })
      this.#accounts.wasCredited(plan.account)
    }
  }

  #closedFor({ account }: CreditPlan): CreditResult | undefined {
    const state = this.#accounts.state(account)
    return state === 'lost' ? CLOSED : state === 'withheld' ? WITHHELD : undefined
  }

  /** The last result for exactly this credit. */
  #latest(plan: CreditPlan): CreditResult | undefined {
    const known = this.#results.get(plan.id)
    const same =
      known?.plan.account === plan.account &&
      known.plan.sub === plan.sub &&
      known.plan.amount === plan.amount &&
      known.plan.uid === plan.uid
    return same ? known.result : undefined
  }

  /** A result that will not change; a credit over the limit may be accepted later. */
  #finalResult(plan: CreditPlan): CreditResult | undefined {
    const result = this.#latest(plan)
    return result?.outcome === 'limit' ? undefined : result
  }

  async #topUpAll(attempt: Attempt, plans: readonly CreditPlan[]): Promise<void> {
    await attempt.runAll(plans, (plan) => this.#topUp(plan))
    await attempt.runAll(this.#accounts.raised, (id) => this.#accounts.readBalance(id))
  }

  async #topUp(plan: CreditPlan): Promise<void> {
    const accounts = this.#accounts
    const { id, account, sub, amount } = plan
    if (accounts.state(account) === undefined) return
    if (accounts.epoch === undefined) throw new TypeError('no term has begun')
    // Before the ledger knows it: `money` may have this sub-account since it was remembered, and a mark made meanwhile would
    // count an allowance that it does not name.
    if (sub !== undefined) accounts.addSub(account, sub)
    const { reply } = await this.#options.ledger.topup({ id, account, sub, amount, epoch: accounts.epoch })
    if (reply === 'FENCED') throw new Fenced()
    if (reply === 'NOACCT') return accounts.missing(account)
    const before = this.#latest(plan)
    this.#results.set(id, { plan, result: resultOf(reply, before, this.#options.now) })
    if (reply === 'OK' || reply === 'DUP') await accounts.credited(plan, reply === 'OK')
  }
}

const CLOSED: CreditResult = { outcome: 'closed' }
const WITHHELD: CreditResult = { outcome: 'withheld' }

function resultOf(
  reply: 'OK' | 'DUP' | 'CONFLICT' | 'LIMIT',
  before: CreditResult | undefined,
  now: () => number,
): CreditResult {
  switch (reply) {
    case 'OK':
      return { outcome: 'applied', appliedAt: now() }
    case 'DUP':
      return before?.appliedAt === undefined ? { outcome: 'already', appliedAt: now() } : before
    case 'CONFLICT':
      return { outcome: 'conflict' }
    case 'LIMIT':
      return { outcome: 'limit' }
  }
}
