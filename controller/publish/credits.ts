/**
 * Opens accounts and applies credits in the ledger, each once. An account that has spent, or whose credits cannot all be
 * applied again, is never opened again: if the ledger does not have it, its balance was lost.
 */
import type { Log } from '../../contract/log.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import type { Balance, Ledger, Sums } from '../../store/ledger/contract.ts'
import type { Checkpoints } from '../books/checkpoints.ts'
import type { Journal } from '../books/journal.ts'
import type { AppliedCredit } from '../books/mark.ts'
import { hasLost, noteBalance } from '../books/note.ts'
import { restoreAccount } from '../books/restore.ts'
import type {
  AppliedCredits,
  Compiled,
  CreditPlan,
  CreditResult,
  Funds,
  Recorded,
  Spending,
  Touched,
} from '../snapshot.ts'
import { Attempt } from './attempt.ts'
import { SpendingWatch } from './spending.ts'

interface CreditOptions {
  ledger: Ledger
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  recorded?: Recorded | undefined
  /** Restores accounts that the ledger has lost. Loaded before the first call of `apply`. */
  checkpoints?: Checkpoints | undefined
  journal?: Pick<Journal, 'ship'> | undefined
  /** False: the store may lose what is new, so that no account is created. May reject with StoreUnavailable. */
  mayCreate?: (() => Promise<boolean>) | undefined
}

type Money = Pick<Compiled, 'accounts' | 'credits' | 'keys'>

/** Knowledge about one account, with its sub-accounts. */
interface Account {
  /** It had credits or spending: it is never opened again. */
  used: boolean
  /** `unknown`: the ledger has not answered yet. `withheld`: it may not be created. */
  state: 'unknown' | 'open' | 'lost' | 'withheld'
  /** The term in which it was opened. */
  epoch: number | undefined
  balance: Balance | undefined
  /** What its status says, before the ledger has answered. */
  recorded: Pick<Funds, 'credited' | 'spent'>
  /** Credits that the ledger has applied, as far as this process knows, by "namespace/name". */
  readonly credits: Record<string, AppliedCredit>
  /** Ids of sub-accounts, deleted ones included: a mark counts all that the account counts. */
  readonly subs: Set<string>
}

/** The leader of a later term was at work in the ledger. */
class Fenced extends Error {
  override name = 'Fenced'
  override message = 'another controller has taken over'
}

export class CreditApplier {
  readonly #options: CreditOptions
  readonly #accounts = new Map<string, Account>()
  readonly #results = new Map<string, { plan: CreditPlan; result: CreditResult }>()
  /** Accounts that received a credit since their balance was read. */
  readonly #raised = new Set<string>()
  /** Sum of the Credits of each account, without those of its sub-accounts. */
  readonly #planned = new Map<string, number>()
  readonly #spending = new SpendingWatch()
  /** The leader's term; undefined before the first publication. */
  #epoch: number | undefined
  #last: AppliedCredits | undefined
  /** The last attempt was complete. */
  #settled = false

  constructor(options: CreditOptions) {
    this.#options = options
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
    const same = touched?.accounts.size === 0 && touched.credits.size === 0 && epoch === this.#epoch
    if (same && this.#last !== undefined && this.#settled) return { applied: this.#last, complete: true }
    this.#epoch = epoch
    this.#remember(money)
    const attempt = new Attempt(this.#options.log)
    const fresh = [...this.#accounts.keys()].filter((id) => {
      if (!money.accounts.has(id)) return false
      const account = this.#accounts.get(id)
      return account?.state === 'unknown' && !account.used
    })
    await attempt.runAll(fresh, (id) => this.#open(id))
    const open = money.credits.filter(
      (plan) => this.#closedFor(plan) === undefined && this.#finalResult(plan) === undefined,
    )
    await attempt.runAll(open, (plan) => this.#topUp(plan))
    await attempt.runAll([...this.#raised], (id) => this.#readBalance(id))
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
    const known = [...ids].filter(
      (id) => money.accounts.get(id)?.parent === undefined && money.accounts.has(id),
    )
    const closed = known.filter((id) => this.#accounts.get(id)?.state === 'lost')
    const attempt = new Attempt(this.#options.log)
    await attempt.runAll(known, (id) => this.#open(id))
    const back = new Set(closed.filter((id) => this.#accounts.get(id)?.state === 'open'))
    // What was restored by hand may lack Credits.
    if (back.size > 0) await this.#topUpAll(attempt, money, (account) => back.has(account))
    return this.applied(money)
  }

  /** Applies the credits of these accounts (all without `ids`) again; the ledger ignores those that it has. */
  async reassert(money: Money, ids?: Iterable<string>): Promise<AppliedCredits> {
    const chosen = new Set(ids ?? money.accounts.keys())
    await this.read(money, chosen)
    const isOpen = (account: string) => chosen.has(account) && this.#accounts.get(account)?.state === 'open'
    await this.#topUpAll(new Attempt(this.#options.log), money, isOpen)
    return this.applied(money)
  }

  async #topUpAll(attempt: Attempt, money: Money, chosen: (account: string) => boolean): Promise<void> {
    const plans = money.credits.filter(({ account }) => chosen(account))
    await attempt.runAll(plans, (plan) => this.#topUp(plan))
    await attempt.runAll([...this.#raised], (id) => this.#readBalance(id))
  }

  /** The store was away, and may have lost entries: every account is checked again before it is used. */
  distrust(): void {
    for (const account of this.#accounts.values()) account.epoch = undefined
  }

  /** The known results for `money`. */
  applied({ accounts, credits }: Money): AppliedCredits {
    const results = new Map<string, CreditResult>()
    for (const plan of credits) {
      const result = this.#latest(plan) ?? this.#closedFor(plan)
      if (result !== undefined) results.set(plan.id, result)
    }
    const funds = new Map<string, Funds>()
    const lost = new Set<string>()
    const withheld = new Set<string>()
    for (const [id, { parent }] of accounts) {
      const account = this.#accounts.get(parent?.id ?? id)
      const { balance } = account ?? {}
      if (parent !== undefined) {
        if (balance !== undefined) funds.set(id, fundsOf(balance.subs[id] ?? EMPTY))
      } else if (account?.state === 'lost') lost.add(id)
      else if (account?.state === 'withheld') withheld.add(id)
      else if (balance !== undefined) funds.set(id, fundsOf(balance))
    }
    const spending = new Map<string, Spending>()
    for (const [id, { balance }] of this.#accounts)
      if (balance !== undefined && accounts.has(id))
        for (const [owner, own] of this.#spending.of(id, balance, this.#options.now()))
          spending.set(owner, own)
    this.#last = { results, funds, lost, withheld, spending }
    return this.#last
  }

  /**
   * Reads the recorded funds and results of new resources, once. The result of a deleted Credit is forgotten: if the Credit
   * is created again, it is applied again, and the ledger answers that it has it.
   */
  #remember({ accounts, credits, keys }: Money): void {
    const named = new Set(credits.map(({ id }) => id))
    this.#planned.clear()
    for (const { account, sub, amount } of credits)
      if (sub === undefined) this.#planned.set(account, (this.#planned.get(account) ?? 0) + amount)
    this.#spending.remember({ accounts, keys })
    for (const id of this.#results.keys()) if (!named.has(id)) this.#results.delete(id)
    const { recorded } = this.#options
    for (const [id, record] of accounts)
      if (record.parent === undefined && !this.#accounts.has(id))
        this.#accounts.set(id, firstSight(record, recorded))
    for (const [id, { parent }] of accounts) if (parent !== undefined) this.#addSub(parent.id, id)
    for (const plan of credits) {
      if (this.#results.has(plan.id)) continue
      const result = recorded?.credit(plan.id)
      if (result === undefined) continue
      this.#results.set(plan.id, { plan, result })
      const account = this.#accounts.get(plan.account)
      if (account !== undefined) account.used = true
    }
  }

  /** From now on, the sums of the sub-account are read with those of its account. The ledger may have known it before. */
  #addSub(accountId: string, sub: string): void {
    const account = this.#accounts.get(accountId)
    if (account === undefined || account.subs.has(sub)) return
    account.subs.add(sub)
    if (account.state === 'open') this.#raised.add(accountId)
  }

  /** Makes sure, once in a term, that the account exists as this version keeps it, and reads its balance. */
  async #open(id: string): Promise<void> {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    if (this.#epoch !== undefined && account.epoch !== this.#epoch) {
      const mayCreate = (await this.#options.mayCreate?.()) ?? true
      if (mayCreate) await this.#restore(id, this.#epoch)
      const create = mayCreate && (!account.used || this.#isProven(id, account))
      const reply = await this.#options.ledger.open({ account: id, epoch: this.#epoch, create })
      if (reply === 'FENCED') throw new Fenced()
      if (reply === 'NOACCT') return account.used ? this.#lose(id, account) : withhold(account)
      account.epoch = this.#epoch
    }
    await this.#readBalance(id)
  }

  async #readBalance(id: string): Promise<void> {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    const balance = await this.#balance(id, account)
    this.#raised.delete(id)
    if (balance !== undefined) {
      if (account.epoch === this.#epoch && hasLost(balance, this.#options.checkpoints?.mark(id))) {
        account.epoch = undefined
        return this.#open(id)
      }
      account.balance = balance
      if (account.epoch === this.#epoch) await this.#note(id, account, balance)
      account.used ||= balance.posted !== 0 || balance.held !== 0 || balance.entries > 0
      if (account.state === 'lost')
        this.#options.log.info({ account: id }, 'the ledger has this account again')
      account.state = 'open'
      return
    }
    const isMarked = this.#options.checkpoints?.mark(id) !== undefined
    if (account.used && !isMarked) return this.#lose(id, account)
    account.epoch = undefined
    account.state = 'unknown'
    if (this.#epoch !== undefined) await this.#open(id)
  }

  #balance(id: string, { subs }: Account): Promise<Balance | undefined> {
    const { checkpoints, ledger } = this.#options
    for (const sub of Object.keys(checkpoints?.mark(id)?.subs ?? {})) subs.add(sub)
    return ledger.balance(id, { subs: [...subs], budgets: this.#spending.budgetsOf(id) })
  }

  async #restore(id: string, epoch: number): Promise<void> {
    const { checkpoints, ledger, log } = this.#options
    const account = this.#accounts.get(id)
    const mark = checkpoints?.mark(id)
    if (mark === undefined || account === undefined) return
    if ((await restoreAccount(ledger, { account: id, epoch, mark })) === 'intact') return
    log.warn({ account: id }, 'the ledger had lost entries of an account; its balance was restored')
    // From here on, the entries since the restore count.
    const balance = await this.#balance(id, account)
    if (balance !== undefined) await this.#note(id, account, balance)
  }

  /** In the journal and the checkpoint. */
  async #note(id: string, { credits, subs }: Account, balance: Balance): Promise<void> {
    const { checkpoints, journal, ledger } = this.#options
    if (checkpoints === undefined) return
    const unread = await noteBalance({ ledger, checkpoints, journal }, { id, balance, known: credits })
    if (unread.length === 0) return
    for (const sub of unread) subs.add(sub)
    await this.#readBalance(id)
  }

  /**
   * Whether an account that the ledger lacks can be opened again from its Credits alone: it was so new that it is in no
   * checkpoint, it had spent nothing, and the Credits that it had all still exist.
   */
  #isProven(id: string, { balance, recorded }: Account): boolean {
    const { checkpoints } = this.#options
    if (checkpoints === undefined || checkpoints.mark(id) !== undefined) return false
    const { credited, spent } = balance === undefined ? recorded : fundsOf(balance)
    return spent === 0 && credited === (this.#planned.get(id) ?? 0)
  }

  #lose(id: string, account: Account): void {
    if (account.state !== 'lost')
      this.#options.log.error(
        { account: id },
        'the ledger has lost the balance of an account, which stays closed until it is restored',
      )
    account.state = 'lost'
    account.epoch = undefined
    account.balance = undefined
  }

  #closedFor({ account }: CreditPlan): CreditResult | undefined {
    const state = this.#accounts.get(account)?.state
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

  async #topUp(plan: CreditPlan): Promise<void> {
    const { ledger, now } = this.#options
    const { id, account: accountId, sub, amount } = plan
    const account = this.#accounts.get(accountId)
    if (account === undefined) return
    if (this.#epoch === undefined) throw new TypeError('no term has begun')
    // Before the ledger knows it: `money` may have this sub-account since it was remembered, and a mark made meanwhile would
    // count an allowance that it does not name.
    if (sub !== undefined) this.#addSub(accountId, sub)
    const { reply } = await ledger.topup({ id, account: accountId, sub, amount, epoch: this.#epoch })
    const before = this.#latest(plan)
    if (reply === 'FENCED') throw new Fenced()
    if (reply === 'NOACCT') {
      if (account.used && this.#options.checkpoints?.mark(accountId) === undefined)
        return this.#lose(accountId, account)
      account.state = 'unknown'
      account.epoch = undefined
      throw new Error('an account that was opened is missing in the ledger')
    }
    if (reply === 'OK' || reply === 'DUP') {
      account.used = true
      account.credits[id] = { sub, amount }
    }
    this.#results.set(id, { plan, result: resultOf(reply, before, now) })
    if (reply !== 'OK') return
    this.#raised.add(accountId)
    // Its new entry is for checkpoint and journal as well.
    await ledger.touch([accountId])
  }
}

const CLOSED: CreditResult = { outcome: 'closed' }
const WITHHELD: CreditResult = { outcome: 'withheld' }
const NOTHING = { credited: 0, spent: 0 }
const EMPTY: Sums = { posted: 0, held: 0, credited: 0 }

function firstSight(record: AccountRecord, recorded: Recorded | undefined): Account {
  const { credited, spent } = recorded?.account(`${record.namespace}/${record.name}`) ?? NOTHING
  return {
    used: credited !== 0 || spent !== 0,
    state: 'unknown',
    epoch: undefined,
    balance: undefined,
    recorded: { credited, spent },
    credits: {},
    subs: new Set(),
  }
}

function withhold(account: Account): void {
  account.state = 'withheld'
  account.epoch = undefined
  account.balance = undefined
}

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

function fundsOf({ posted, held, credited }: Sums): Funds {
  return { balance: posted, held, credited, spent: credited - posted }
}
