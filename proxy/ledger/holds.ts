/** Holds of requests in flight: taken before the upstream is called, renewed while it answers, settled once after. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Nanos } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { EntryNote, Ledger, Reserve, SettleReply } from '../../store/ledger/contract.ts'
import { GatewayError } from '../errors.ts'

/** Short, so that the hold of a proxy that died is soon free again. */
const LEASE_MS = 30_000
const RENEW_EVERY_MS = 10_000
const SETTLE_RETRY_MS = [100, 500, 2_000, 5_000]
/** Replies to a settle that leave a real cost uncharged: somebody must hear of it. */
const UNPOSTED = new Set<SettleReply>(['CONFLICT', 'STALE', 'NOACCT'])

export interface HoldEvents {
  /** A hold could not be renewed or settled; nothing of the request's content. */
  failed(operation: 'renew' | 'settle', error: unknown): void
}

export class Holds {
  readonly #ledger: Ledger
  readonly #events: HoldEvents
  readonly #live = new Set<Hold>()
  readonly #renewer: NodeJS.Timeout

  constructor(ledger: Ledger, events: HoldEvents) {
    this.#ledger = ledger
    this.#events = events
    this.#renewer = setInterval(() => {
      for (const hold of this.#live) void hold.renew()
    }, RENEW_EVERY_MS)
    this.#renewer.unref()
  }

  /**
   * Holds `amount` for the request `id`. Throws insufficient_balance when the funds are empty or do not cover it,
   * store_unavailable when the store cannot say.
   */
  async take(account: AccountRecord, id: string, amount: Nanos, about: Reserve['about']): Promise<Hold> {
    const command = {
      account: account.id,
      id,
      amount,
      enforced: account.enforced,
      overdraft: account.overdraft,
      leaseMs: LEASE_MS,
      about,
    }
    const reply = await this.#asked(() => this.#ledger.reserve(command))
    switch (reply.reply) {
      case 'OK':
      case 'DUP': {
        // The end of a hold was its only use: another call to an upstream would have none.
        if (reply.reply === 'DUP' && reply.state !== 'P') throw usedTwice()
        const hold = new Hold(this.#ledger, account, id, amount, reply.reservedAt, this.#events, () =>
          this.#live.delete(hold),
        )
        this.#live.add(hold)
        return hold
      }
      case 'NOFUNDS':
        throw insufficientBalance(reply.reason)
      case 'NOACCT':
        throw unavailable()
      case 'CONFLICT':
        throw usedTwice()
    }
  }

  /** Throws insufficient_balance when the account has no funds left; for requests that end before a hold. */
  async admit(account: AccountRecord): Promise<void> {
    if (!account.enforced) return
    const balance = await this.#asked(() => this.#ledger.balance(account.id))
    if (balance === undefined) throw unavailable()
    if (balance.posted + account.overdraft <= 0) throw insufficientBalance('empty')
  }

  /** Number of holds not yet settled. */
  get live(): number {
    return this.#live.size
  }

  stop(): void {
    clearInterval(this.#renewer)
  }

  /** One retry after an unclear failure: every command is idempotent. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (first) {
      if (!(first instanceof StoreUnavailable)) throw first
      try {
        return await ask()
      } catch (error) {
        throw error instanceof StoreUnavailable ? unavailable(error) : error
      }
    }
  }
}

export class Hold {
  readonly account: AccountRecord
  readonly id: string
  amount: Nanos
  readonly #ledger: Ledger
  readonly #reservedAt: number
  readonly #events: HoldEvents
  readonly #closed: () => void
  /** Cost so far, charged if this process dies. */
  #seen: Nanos = 0

  constructor(
    ledger: Ledger,
    account: AccountRecord,
    id: string,
    amount: Nanos,
    reservedAt: number,
    events: HoldEvents,
    closed: () => void,
  ) {
    this.#ledger = ledger
    this.account = account
    this.id = id
    this.amount = amount
    this.#reservedAt = reservedAt
    this.#events = events
    this.#closed = closed
  }

  /** Notes the cost so far for the next renewal. */
  seen(cost: Nanos): void {
    this.#seen = Math.max(this.#seen, cost)
  }

  /** Extends the lease. */
  async renew(): Promise<void> {
    await this.#renew(this.amount).catch((error: unknown) => this.#events.failed('renew', error))
  }

  /**
   * Enlarges the hold; false when the funds do not allow it or the hold has expired. A store that is away is no reason
   * to cut a stream.
   */
  async extend(extra: Nanos): Promise<boolean> {
    try {
      const reply = await this.#renew(this.amount + extra)
      if (reply === 'NOFUNDS' || reply === 'GONE') return false
      this.amount += extra
    } catch (error) {
      this.#events.failed('renew', error)
    }
    return true
  }

  #renew(amount: Nanos) {
    const { id: account, enforced, overdraft } = this.account
    return this.#ledger.renew({
      account,
      id: this.id,
      seen: this.#seen,
      amount,
      enforced,
      overdraft,
      leaseMs: LEASE_MS,
    })
  }

  /** Posts the real cost; 0 frees the hold. Tried again while the store is away; undefined when it stayed away. */
  async settle(actual: Nanos, note: EntryNote): Promise<SettleReply | undefined> {
    const command = { account: this.account.id, id: this.id, actual, reservedAt: this.#reservedAt, note }
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          const reply = await this.#ledger.settle(command)
          if (UNPOSTED.has(reply)) this.#events.failed('settle', new Error(`settle was answered ${reply}`))
          return reply
        } catch (error) {
          const wait = SETTLE_RETRY_MS[attempt]
          if (wait === undefined || !(error instanceof StoreUnavailable)) throw error
          await delay(wait)
        }
      }
    } catch (error) {
      this.#events.failed('settle', error)
      return undefined
    } finally {
      this.#closed()
    }
  }
}

function insufficientBalance(reason: 'empty' | 'hold'): GatewayError {
  return new GatewayError(
    'insufficient_balance',
    reason === 'empty'
      ? 'The balance of this account is used up.'
      : 'The balance of this account does not cover the most that this request may cost; ask for fewer output tokens.',
  )
}

function usedTwice(): GatewayError {
  return new GatewayError('internal_error', 'The request id was used twice.')
}

function unavailable(cause?: unknown): GatewayError {
  return new GatewayError('store_unavailable', 'Balances are not available at the moment.', {
    retryAfterSeconds: 1,
    cause,
  })
}
