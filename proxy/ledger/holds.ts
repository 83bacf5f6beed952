/** Holds of requests in flight: taken before the upstream is called, renewed while it answers, settled once after. */

import type { Nanos } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import { Cancel, type Cancellation } from '../../kit/cancel.ts'
import { after, rescued, type Soon } from '../../kit/soon.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { spentIn } from '../../store/ledger/budgets.ts'
import type { Ledger, Reserve, ReserveReply } from '../../store/ledger/contract.ts'
import type { GatewayError } from '../errors.ts'
import { type AppliedBudget, budgetExceeded } from './budgets.ts'
import { fundsOf, payerOf } from './funds.ts'
import { Hold } from './hold.ts'
import { LimitQueues } from './limit-queues.ts'
import { type Limit, type LimitState, limitExceeded } from './limits.ts'
import { LocalMeters } from './local-meters.ts'
import { insufficientBalance, isAway, shortOf, taken, unavailable } from './refusals.ts'
import { Renewals } from './renewals.ts'
import { type SettleEvents, Settles } from './settles.ts'
import { StoreTime, tryTwice } from './store-time.ts'
import { TouchedAccounts } from './touched.ts'
import { warningsOf } from './warnings.ts'

/** Short, so that holds of a dead proxy soon expire. */
const LEASE_MS = 30_000
const NEVER: Cancellation = new Cancel()

interface HoldEvents extends Omit<SettleEvents, 'failed'> {
  /** A hold could not be taken, renewed or settled. The error contains nothing of the request's content. */
  failed(operation: 'reserve' | 'renew' | 'settle', error: unknown): void
  /** The ledger had lost or expired a hold of this account, and holds it again. */
  heldAgain(account: string): void
  /** A request was refused by one of its limits. */
  limited(limit: Limit): void
}

export interface HoldRequest extends Pick<Reserve, 'id' | 'amount' | 'seen' | 'note'> {
  /** Rate limits; a request that exceeds one is refused with rate_limit_exceeded. */
  limits?: readonly Limit[]
  budgets?: readonly AppliedBudget[]
  /** Gets what is left of the limits, before a refusal too. */
  onLimits?: ((limits: readonly LimitState[]) => void) | undefined
  /** Gets warnings about funds, if there are any. */
  onWarnings?: ((warnings: readonly string[]) => void) | undefined
  /** Ends the wait for a place. */
  cancel?: Cancellation
}

export class Holds {
  readonly #ledger: Ledger
  readonly #events: HoldEvents
  readonly #settles: Settles
  readonly #renewals: Renewals
  readonly #touched: TouchedAccounts
  /** Accounts without enforcement whose last reservation the ledger did not take. */
  readonly #doubtful = new Set<string>()
  /** Store time minus Date.now(), from the last reply that has a time. */
  #clockOffset = 0
  readonly #local = new LocalMeters()
  readonly #queues = new LimitQueues()

  constructor(ledger: Ledger, events: HoldEvents) {
    this.#ledger = ledger
    this.#events = events
    this.#settles = new Settles(ledger, { ...events, failed: (error) => events.failed('settle', error) })
    this.#renewals = new Renewals(ledger, {
      failed: (error) => events.failed('renew', error),
      heldAgain: (account) => events.heldAgain(account),
    })
    this.#touched = new TouchedAccounts(ledger)
  }

  /**
   * Holds `amount` for the request `id`, and does not wait for an account that is never refused. Throws
   * insufficient_balance when the funds are empty or do not cover it, store_unavailable when the store does not answer.
   */
  take(account: AccountRecord, request: HoldRequest, time: StoreTime = new StoreTime()): Soon<Hold> {
    const { id, amount, seen, note, limits = [], budgets: applied = [], cancel = NEVER } = request
    const { enforced, ofKey = false } = account
    const meters = limits.map(({ meter }) => meter)
    const budgets = applied.map(({ budget }) => budget)
    const command = {
      ...payerOf(account),
      id,
      amount,
      seen,
      note,
      enforced,
      leaseMs: LEASE_MS,
      meters,
      budgets,
    }
    this.#touched.add(command.account)
    const mayTrust = ofKey || !this.#doubtful.has(command.account)
    const isBound = enforced || limits.length > 0 || budgets.length > 0
    if (!isBound && mayTrust) return this.#takeWithoutWaiting(command)
    // What is spent elsewhere is not known here.
    const mayCountLocally = ofKey && budgets.length === 0
    const count = (room: readonly number[]) => {
      if (limits.length > 0) request.onLimits?.(limits.map((limit, i) => ({ ...limit, left: room[i] ?? 0 })))
    }
    const reserve = () => {
      if (!mayCountLocally) return this.#reserve(command, time)
      return rescued<ReserveReply | undefined>(
        () => tryTwice(time, () => this.#ledger.reserve(command)),
        (error) => {
          if (isAway(error)) return undefined
          throw error
        },
      )
    }
    return after(this.#inTurn(limits, cancel, reserve), (reply) => {
      if (mayCountLocally && (reply === undefined || reply.reply === 'NOACCT'))
        return this.#takeLocally(command, limits, count)
      if (reply === undefined) throw unavailable()
      if (reply.reply === 'LIMITED') {
        count(reply.room)
        throw this.#refusal(limits[reply.meter], reply.waitMs)
      }
      if (reply.reply === 'NOFUNDS') throw shortOf(reply, applied)
      const held = taken(reply)
      const { reservedAt, free } = held
      count(held.room)
      const warnings = warningsOf(account, applied, held)
      if (warnings.length > 0) request.onWarnings?.(warnings)
      this.#doubtful.delete(command.account)
      this.#clockOffset = reservedAt - Date.now()
      return this.#open(command, { reservedAt, free, limits })
    })
  }

  /** Waits for a place where a limit lets requests wait; the last reply. */
  #inTurn(
    limits: readonly Limit[],
    cancel: Cancellation,
    reserve: () => Soon<ReserveReply | undefined>,
  ): Soon<ReserveReply | undefined> {
    const mayWait = limits.some(({ queue }) => queue !== undefined)
    return mayWait ? this.#inQueue(limits, cancel, reserve) : reserve()
  }

  async #inQueue(
    limits: readonly Limit[],
    cancel: Cancellation,
    reserve: () => Soon<ReserveReply | undefined>,
  ): Promise<ReserveReply | undefined> {
    const first = this.#queues.before(limits)
    let place = first && this.#queues.join(first)
    try {
      for (;;) {
        await place?.turn(cancel)
        const reply = await reserve()
        const full = reply?.reply === 'LIMITED' ? limits[reply.meter] : undefined
        place ??= full && this.#queues.join(full)
        if (full?.queue === undefined || place === undefined || place.isOver) return reply
      }
    } finally {
      place?.leave()
    }
  }

  /** The store is away: the limits of a key without an account are counted by each proxy meanwhile. */
  #takeLocally(command: Reserve, limits: readonly Limit[], count: (room: readonly number[]) => void): Hold {
    const local = this.#local.take(command.meters ?? [])
    count(local.room)
    if (!('release' in local)) throw this.#refusal(limits[local.meter], local.waitMs)
    const reservedAt = this.storeNow
    const hold = this.#open(command, { reservedAt, limits, released: local.release })
    this.#renewals.soon(hold)
    return hold
  }

  /** Throws insufficient_balance when nothing is left of the funds; for requests that end before a hold. */
  async admit(
    account: AccountRecord,
    budgets: readonly AppliedBudget[] = [],
    time: StoreTime = new StoreTime(),
  ): Promise<void> {
    if (!account.enforced && budgets.length === 0) return
    const { account: id, sub } = payerOf(account)
    const named = { subs: sub === undefined ? [] : [sub], budgets: budgets.map(({ budget }) => budget.id) }
    const balance = await tryTwice(time, () => this.#ledger.balance(id, named))
    if (balance === undefined) throw unavailable()
    const empty = fundsOf(account, balance).find(({ posted, overdraft }) => posted + overdraft <= 0)
    if (account.enforced && empty !== undefined) throw insufficientBalance(empty.of, 'empty')
    const spent = budgets.find(
      ({ budget }) => spentIn(balance.budgets[budget.id], this.storeNow) >= budget.most,
    )
    if (spent !== undefined) throw budgetExceeded(spent, 'empty')
  }

  /** The store's time in ms, as far as replies have told it. */
  get storeNow(): number {
    return Date.now() + this.#clockOffset
  }

  /** Number of holds not yet settled. */
  get live(): number {
    return this.#renewals.size
  }

  /** Number of settles that wait for the store. */
  get unsettled(): number {
    return this.#settles.waiting
  }

  /** See Store.onRestored. */
  restored(): void {
    this.#touched.restored()
    this.#settles.restored()
    this.#renewals.all()
  }

  /** Ends all renewals, and waits at most `graceMs` for settles that the store has not taken. */
  async stop(graceMs: number): Promise<void> {
    this.#renewals.stop()
    await this.#settles.stop(graceMs)
    await this.#touched.stop()
  }

  /** Voids a hold that the ledger may take although its reply never came: the request is refused. */
  #reserve(command: Reserve, time: StoreTime): Soon<ReserveReply> {
    let unclear = 0
    const attempt = () => {
      unclear += 1
      return rescued(
        () => this.#ledger.reserve(command),
        (error) => {
          if (!(error instanceof StoreUnavailable) || error.unsent) unclear -= 1
          throw error
        },
      )
    }
    return tryTwice(time, attempt, () => {
      if (unclear > 0) void this.#void(command)
    })
  }

  #void({ account, sub, id, note }: Reserve): unknown {
    const reservedAt = this.storeNow
    return this.#settles.post({
      account,
      sub,
      id,
      actual: 0,
      reservedAt,
      note: { ...note, reason: 'unserved' },
    })
  }

  /** A reservation that fails is made up for by the next renewal; until one succeeds, requests of the account wait. */
  #takeWithoutWaiting(command: Reserve): Hold {
    const hold = this.#open(command, { reservedAt: this.storeNow })
    const failed = (error: unknown) => {
      this.#doubtful.add(command.account)
      this.#renewals.soon(hold)
      this.#events.failed('reserve', error)
    }
    const reserved = (reply: ReserveReply) => {
      if (reply.reply === 'LIMITED' || reply.reply === 'NOFUNDS')
        throw new TypeError('a request without limits was refused')
      hold.reservedAt = taken(reply).reservedAt
      this.#clockOffset = hold.reservedAt - Date.now()
    }
    void rescued(() => after(this.#ledger.reserve(command), reserved), failed)
    return hold
  }

  #refusal(limit: Limit | undefined, waitMs: number): GatewayError {
    if (limit === undefined)
      throw new TypeError('the ledger has refused a request for a limit that it has not')
    this.#events.limited(limit)
    return limitExceeded(limit, waitMs)
  }

  #open(
    command: Reserve,
    state: { reservedAt: number; free?: Nanos; limits?: readonly Limit[]; released?: () => void },
  ): Hold {
    const parts = {
      ledger: this.#ledger,
      settle: (settle: Parameters<Settles['post']>[0]) => {
        this.#touched.add(settle.account)
        return after(this.#settles.post(settle), (reply) => {
          this.#queues.freed(state.limits ?? [])
          return reply
        })
      },
      failed: this.#events.failed,
      closed: (closed: Hold) => {
        this.#renewals.delete(closed)
        state.released?.()
      },
    }
    const hold = new Hold(parts, command, state)
    this.#renewals.add(hold)
    return hold
  }
}
