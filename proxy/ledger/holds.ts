/** Holds of requests in flight: taken before the upstream is called, renewed while it answers, settled once after. */
import type { Nanos } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { EntryNote, Ledger, Reserve, SettleReply } from '../../store/ledger/contract.ts'
import { GatewayError } from '../errors.ts'
import { type SettleEvents, Settles } from './settles.ts'
import { StoreTime } from './store-time.ts'

/** Short, so that holds of a dead proxy soon expire. */
const LEASE_MS = 30_000
const RENEW_EVERY_MS = 10_000
/** Less time than this is not enough for a retry. A reset leaves that much, a time-out does not. */
const WORTH_A_RETRY_MS = 100

interface HoldEvents extends Omit<SettleEvents, 'failed'> {
  /** A hold could not be renewed or settled. The error contains nothing of the request's content. */
  failed(operation: 'renew' | 'settle', error: unknown): void
}

export class Holds {
  readonly #ledger: Ledger
  readonly #events: HoldEvents
  readonly #settles: Settles
  readonly #live = new Set<Hold>()
  readonly #renewer: NodeJS.Timeout

  constructor(ledger: Ledger, events: HoldEvents) {
    this.#ledger = ledger
    this.#events = events
    this.#settles = new Settles(ledger, { ...events, failed: (error) => events.failed('settle', error) })
    this.#renewer = setInterval(() => {
      for (const hold of this.#live) void hold.renew()
    }, RENEW_EVERY_MS)
    this.#renewer.unref()
  }

  /**
   * Holds `amount` for the request `id`. Throws insufficient_balance when the funds are empty or do not cover it,
   * store_unavailable when the store does not answer.
   */
  async take(
    account: AccountRecord,
    { id, amount, about }: Pick<Reserve, 'id' | 'amount' | 'about'>,
    time: StoreTime = new StoreTime(),
  ): Promise<Hold> {
    const command = {
      account: account.id,
      id,
      amount,
      enforced: account.enforced,
      overdraft: account.overdraft,
      leaseMs: LEASE_MS,
      about,
    }
    const reply = await tryTwice(time, () => this.#ledger.reserve(command))
    switch (reply.reply) {
      case 'OK':
      case 'DUP': {
        // A finished hold must not pay for another upstream call.
        if (reply.reply === 'DUP' && reply.state !== 'P') throw usedTwice()
        const parts = { ledger: this.#ledger, settles: this.#settles, events: this.#events }
        const hold: Hold = new Hold(parts, command, reply.reservedAt, () => this.#live.delete(hold))
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
  async admit(account: AccountRecord, time: StoreTime = new StoreTime()): Promise<void> {
    if (!account.enforced) return
    const balance = await tryTwice(time, () => this.#ledger.balance(account.id))
    if (balance === undefined) throw unavailable()
    if (balance.posted + account.overdraft <= 0) throw insufficientBalance('empty')
  }

  /** Number of holds not yet settled. */
  get live(): number {
    return this.#live.size
  }

  /** Number of settles that wait for the store. */
  get unsettled(): number {
    return this.#settles.waiting
  }

  /** See Store.onRestored. */
  restored(): void {
    this.#settles.restored()
  }

  /** Ends all renewals, and waits at most `graceMs` for settles that the store has not taken. */
  async stop(graceMs: number): Promise<void> {
    clearInterval(this.#renewer)
    await this.#settles.stop(graceMs)
  }
}

/** Retries once after an unclear failure if there is time: every command is idempotent. */
async function tryTwice<T>(time: StoreTime, command: () => Promise<T>): Promise<T> {
  try {
    return await time.spend(command).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable) || time.leftMs < WORTH_A_RETRY_MS) throw error
      return time.spend(command)
    })
  } catch (error) {
    throw error instanceof StoreUnavailable ? unavailable(error) : error
  }
}

interface HoldParts {
  ledger: Ledger
  settles: Settles
  events: HoldEvents
}

export class Hold {
  amount: Nanos
  readonly #parts: HoldParts
  readonly #reserved: Reserve
  readonly #reservedAt: number
  readonly #closed: () => void
  /** Cost so far, charged if this process dies. */
  #seen: Nanos = 0

  /** `reserved`: taken by the ledger, at `reservedAt` of its clock. */
  constructor(parts: HoldParts, reserved: Reserve, reservedAt: number, closed: () => void) {
    this.#parts = parts
    this.amount = reserved.amount
    this.#reserved = reserved
    this.#reservedAt = reservedAt
    this.#closed = closed
  }

  /** Notes the cost so far for the next renewal. */
  seen(cost: Nanos): void {
    this.#seen = Math.max(this.#seen, cost)
  }

  async renew(): Promise<void> {
    await this.#renew(this.amount).catch((error: unknown) => this.#parts.events.failed('renew', error))
  }

  /**
   * Enlarges the hold; false when the funds do not allow it or the hold has expired. True while the store is away: that
   * is no reason to cut a stream.
   */
  async extend(extra: Nanos): Promise<boolean> {
    try {
      const reply = await this.#renew(this.amount + extra)
      if (reply === 'NOFUNDS' || reply === 'GONE') return false
      this.amount += extra
    } catch (error) {
      this.#parts.events.failed('renew', error)
    }
    return true
  }

  #renew(amount: Nanos) {
    const { about: _, ...reserved } = this.#reserved
    return this.#parts.ledger.renew({ ...reserved, seen: this.#seen, amount })
  }

  /**
   * Posts the real cost; 0 frees the hold. Undefined if the store does not take it now: Settles retries until it does,
   * and the caller need not wait.
   */
  async settle(actual: Nanos, note: EntryNote): Promise<SettleReply | undefined> {
    this.#closed()
    const { account, id } = this.#reserved
    return this.#parts.settles.post({ account, id, actual, reservedAt: this.#reservedAt, note })
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
