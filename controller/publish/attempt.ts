/** Runs calls of the ledger. A failed call does not stop the others, unless no part of the ledger answers. */
import type { Log } from '../../contract/log.ts'
import { StoreUnavailable } from '../../store/contract.ts'

/** Calls at once: enough to hide the round-trip time, few enough that none times out in a queue. */
const CONCURRENCY = 16
/** The ledger is away after this many calls in a row without an answer; with one node of a Cluster down, others answer. */
const AWAY = 64

export class Attempt {
  readonly #log: Log
  /** Calls without an answer since the last answer. */
  #unanswered = 0
  /** False if a call failed or was not made. */
  complete = true

  constructor(log: Log) {
    this.#log = log
  }

  async runAll<T>(items: readonly T[], call: (item: T) => Promise<void>): Promise<void> {
    let next = 0
    const worker = async () => {
      while (next < items.length && this.#unanswered < AWAY) {
        const item = items[next++]
        if (item !== undefined) await this.#run(() => call(item))
      }
    }
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker))
  }

  async #run(call: () => Promise<void>): Promise<void> {
    try {
      await call()
      this.#unanswered = 0
    } catch (error) {
      const isUnanswered = error instanceof StoreUnavailable
      if (!isUnanswered || this.#unanswered === 0)
        this.#log.warn({ err: error }, 'the ledger could not open an account or apply a credit; will retry')
      this.complete = false
      this.#unanswered = isUnanswered ? this.#unanswered + 1 : 0
    }
  }
}
