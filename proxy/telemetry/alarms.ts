/** Reports trouble with the store: all of it in the metrics, and in the program log at a bounded rate. */
import type { Log } from '../../contract/log.ts'
import { formatDollars } from '../../contract/money.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import type { Settle } from '../../store/ledger/contract.ts'
import type { ProxyMetrics } from './metrics.ts'

/** Each kind of trouble is logged this often at most. */
const LOG_EVERY_MS = 10_000

export class StoreAlarms {
  readonly #log: Log
  readonly #metrics: ProxyMetrics
  readonly #loggedAt = new Map<string, number>()

  constructor(log: Log, metrics: ProxyMetrics) {
    this.#log = log
    this.#metrics = metrics
  }

  /** Table, records or heartbeat could not be read or written. */
  tableFailed(error: unknown): void {
    this.#metrics.tableFailures.inc()
    if (!this.#mayLog('table')) return
    const fields = error instanceof StoreUnavailable ? { reason: error.message } : { err: error }
    this.#log.warn(fields, 'the store could not be read; what was last known stays in force')
  }

  /** A stored table or record cannot be used. */
  unreadable(kind: string, error: Error): void {
    this.#metrics.unreadable.inc({ kind })
    if (this.#mayLog(`unreadable ${kind}`))
      this.#log.error(
        { kind, reason: error.message },
        'a stored record cannot be used; the last good one stays in force',
      )
  }

  /** An answer could not be stored, so later requests cannot continue it. */
  stateFailed(error: unknown): void {
    this.#metrics.stateFailures.inc()
    if (!this.#mayLog('state')) return
    if (error instanceof StoreUnavailable)
      this.#log.warn(
        { reason: error.message },
        'conversations cannot be stored; answers are served all the same',
      )
    else this.#log.error({ err: error }, 'a conversation was not stored')
  }

  behind(): void {
    this.#log.error({}, 'the store was emptied or restored from a copy; what was last known stays in force')
  }

  /** A hold could not be taken, renewed or settled for now. */
  ledgerFailed(operation: string, error: unknown): void {
    this.#metrics.ledgerFailures.inc({ operation })
    if (!this.#mayLog(`ledger ${operation}`)) return
    if (error instanceof StoreUnavailable)
      this.#log.warn({ reason: error.message, operation }, 'the ledger is away; settles wait')
    else this.#log.error({ err: error, operation }, 'the ledger did not do what it must')
  }

  /** The ledger had lost holds of an account, or had expired them, and holds them again. */
  heldAgain(account: string): void {
    this.#metrics.heldAgain.inc()
    if (this.#mayLog('held again'))
      this.#log.warn(
        { account },
        'the ledger had lost or expired holds of requests in flight; it holds them again',
      )
  }

  /** The store did not count requests that no account pays for. */
  usageLost(requests: number): void {
    this.#metrics.usageLost(requests)
  }

  /** A limit of a key or an account has refused a request. */
  limited(of: string, limit: string): void {
    this.#metrics.limited.inc({ of, limit })
  }

  /** Settles of an account wait because the ledger does not know it, or are posted again. */
  accountMissing(account: string, missing: boolean): void {
    if (!missing) {
      this.#log.info({ account }, 'the ledger knows the account again; its settles are posted')
      return
    }
    this.#metrics.ledgerFailures.inc({ operation: 'settle' })
    this.#log.error(
      { account },
      'the ledger does not know this account; its settles wait until it is restored',
    )
  }

  /** One line for each cost that will never be charged, so that an operator can charge it by hand. */
  settleDead({ account, id: requestId, actual }: Settle, reason: string): void {
    this.#metrics.deadSettles.inc({ reason })
    this.#log.error(
      { kind: 'dead_settle', account, requestId, amount: formatDollars(actual), reason },
      'a cost was not charged',
    )
  }

  #mayLog(trouble: string): boolean {
    const now = performance.now()
    const loggedAt = this.#loggedAt.get(trouble)
    if (loggedAt !== undefined && now - loggedAt < LOG_EVERY_MS) return false
    this.#loggedAt.set(trouble, now)
    return true
  }
}
