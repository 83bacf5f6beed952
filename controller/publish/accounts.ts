/**
 * Opens accounts in the ledger, restores what it has lost of them, and reads their balances. An account that has spent, or whose
 * credits cannot all be applied again, is never opened again: if the ledger does not have it, its balance was lost.
 */
import type { Log } from '../../contract/log.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import type { Balance, Ledger, Sums } from '../../store/ledger/contract.ts'
import type { Checkpoints } from '../books/checkpoints.ts'
import type { Journal } from '../books/journal.ts'
import type { AppliedCredit } from '../books/mark.ts'
import { hasLost, noteBalance } from '../books/note.ts'
import { restoreAccount } from '../books/restore.ts'
import type { AppliedCredits, Compiled, CreditPlan, Funds, Recorded, Spending } from '../snapshot.ts'
import { SpendingWatch } from './spending.ts'

export interface AccountOptions {
  ledger: Ledger
  log: Log
  recorded?: Pick<Recorded, 'account'> | undefined
  /** Restores accounts that the ledger has lost. Loaded before the first account is opened. */
  checkpoints?: Checkpoints | undefined
  journal?: Pick<Journal, 'ship'> | undefined
  /** False: the store may lose what is new, so that no account is created. May reject with StoreUnavailable. */
  mayCreate?: (() => Promise<boolean>) | undefined
}

/**
 * `unknown`: the ledger has not answered yet. `lost`: the ledger has lost its balance. `withheld`: it may not be created, because
 * the store may lose what is new.
 */
type AccountState = 'unknown' | 'open' | 'lost' | 'withheld'

/** Knowledge about one account, with its sub-accounts. */
interface Account {
  /** It had credits or spending: it is never opened again. */
  used: boolean
  state: AccountState
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
export class Fenced extends Error {
  override name = 'Fenced'
  override message = 'another controller has taken over'
}

/** Accounts are named by their ids. */
export class LedgerAccounts {
  readonly #options: AccountOptions
  readonly #accounts = new Map<string, Account>()
  /** Accounts that received a credit or a sub-account since their balance was read. */
  readonly #raised = new Set<string>()
  /** Sum of the Credits of each account, without those of its sub-accounts. */
  readonly #planned = new Map<string, number>()
  readonly #spending = new SpendingWatch()
  /** The leader's term; undefined before the first publication. */
  epoch: number | undefined

  constructor(options: AccountOptions) {
    this.#options = options
  }

  /** Takes over the resources. What their statuses say of the funds is read of new ones. */
  remember({ accounts, credits, keys }: Pick<Compiled, 'accounts' | 'credits' | 'keys'>): void {
    this.#planned.clear()
    for (const { account, sub, amount } of credits)
      if (sub === undefined) this.#planned.set(account, (this.#planned.get(account) ?? 0) + amount)
    this.#spending.remember({ accounts, keys })
    for (const [id, record] of accounts)
      if (record.parent === undefined && !this.#accounts.has(id))
        this.#accounts.set(id, firstSight(record, this.#options.recorded))
    for (const [id, { parent }] of accounts) if (parent !== undefined) this.addSub(parent.id, id)
  }

  /** Undefined for an account that no resource has named. */
  state(id: string): AccountState | undefined {
    return this.#accounts.get(id)?.state
  }

  /** Accounts of `accounts` that were never opened, and may be. */
  fresh(accounts: Compiled['accounts']): string[] {
    return [...this.#accounts].flatMap(([id, { state, used }]) =>
      state === 'unknown' && !used && accounts.has(id) ? [id] : [],
    )
  }

  /** Accounts whose balances must be read again. */
  get raised(): string[] {
    return [...this.#raised]
  }

  /** The store was away, and may have lost entries: every account is checked again before it is used. */
  distrust(): void {
    for (const account of this.#accounts.values()) account.epoch = undefined
  }

  /** From now on, the sums of the sub-account are read with those of its account. The ledger may have known it before. */
  addSub(id: string, sub: string): void {
    const account = this.#accounts.get(id)
    if (account === undefined || account.subs.has(sub)) return
    account.subs.add(sub)
    if (account.state === 'open') this.#raised.add(id)
  }

  /** A Credit of this account was applied in an earlier term. */
  wasCredited(id: string): void {
    const account = this.#accounts.get(id)
    if (account !== undefined) account.used = true
  }

  /** The ledger has this credit. `isNew`: since this call. */
  async credited({ id, account: accountId, sub, amount }: CreditPlan, isNew: boolean): Promise<void> {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return
    account.used = true
    account.credits[id] = { sub, amount }
    if (!isNew) return
    this.#raised.add(accountId)
    // Its new entry is for checkpoint and journal as well.
    await this.#options.ledger.touch([accountId])
  }

  /** The ledger did not find the account for a credit. Throws unless the account is lost: a later attempt may open it. */
  missing(id: string): void {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    if (account.used && !this.#isMarked(id)) {
      this.#lose(id, account)
      return
    }
    account.state = 'unknown'
    account.epoch = undefined
    throw new Error('an account that was opened is missing in the ledger')
  }

  /** Makes sure, once in a term, that the account exists as this version keeps it, and reads its balance. */
  async open(id: string): Promise<void> {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    if (this.epoch !== undefined && account.epoch !== this.epoch) {
      const mayCreate = (await this.#options.mayCreate?.()) ?? true
      if (mayCreate) await this.#restore(id, this.epoch)
      const create = mayCreate && (!account.used || this.#isProven(id, account))
      const reply = await this.#options.ledger.open({ account: id, epoch: this.epoch, create })
      if (reply === 'FENCED') throw new Fenced()
      if (reply === 'NOACCT') return account.used ? this.#lose(id, account) : withhold(account)
      account.epoch = this.epoch
    }
    await this.readBalance(id)
  }

  /** Also opens the account again if the ledger has it no more, or has lost entries of it. */
  async readBalance(id: string): Promise<void> {
    const account = this.#accounts.get(id)
    if (account === undefined) return
    const balance = await this.#balance(id, account)
    this.#raised.delete(id)
    if (balance !== undefined) {
      if (account.epoch === this.epoch && hasLost(balance, this.#options.checkpoints?.mark(id))) {
        account.epoch = undefined
        return this.open(id)
      }
      account.balance = balance
      if (account.epoch === this.epoch) await this.#note(id, account, balance)
      account.used ||= balance.posted !== 0 || balance.held !== 0 || balance.entries > 0
      if (account.state === 'lost')
        this.#options.log.info({ account: id }, 'the ledger has this account again')
      account.state = 'open'
      return
    }
    if (account.used && !this.#isMarked(id)) return this.#lose(id, account)
    account.epoch = undefined
    account.state = 'unknown'
    if (this.epoch !== undefined) await this.open(id)
  }

  /** What is known of `accounts` now. `now`: milliseconds since the epoch. */
  funds(accounts: Compiled['accounts'], now: number): Omit<AppliedCredits, 'results'> {
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
        for (const [owner, own] of this.#spending.of(id, balance, now)) spending.set(owner, own)
    return { funds, lost, withheld, spending }
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
    await this.readBalance(id)
  }

  /** A checkpoint has its balance. */
  #isMarked(id: string): boolean {
    return this.#options.checkpoints?.mark(id) !== undefined
  }

  /**
   * Whether an account that the ledger lacks can be opened again from its Credits alone: it was so new that it is in no
   * checkpoint, it had spent nothing, and the Credits that it had all still exist.
   */
  #isProven(id: string, { balance, recorded }: Account): boolean {
    if (this.#options.checkpoints === undefined || this.#isMarked(id)) return false
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
}

const NOTHING = { credited: 0, spent: 0 }
const EMPTY: Sums = { posted: 0, held: 0, credited: 0 }

function firstSight(record: AccountRecord, recorded: AccountOptions['recorded']): Account {
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

function fundsOf({ posted, held, credited }: Sums): Funds {
  return { balance: posted, held, credited, spent: credited - posted }
}
