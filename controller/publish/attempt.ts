/** Runs calls of the ledger. A failed call does not stop the others, unless the ledger is unreachable. */
import type { Log } from '../../contract/log.ts'
import { StoreUnavailable } from '../../store/contract.ts'

/** Calls at once: enough to hide the round-trip time, few enough that none times out in a queue. */
const CONCURRENCY = 16

export class Attempt {
  readonly #log: Log
  #away = false
  /** False if a call failed or was not made. */
  complete = true

  constructor(log: Log) {
    this.#log = log
  }

  async runAll<T>(items: readonly T[], call: (item: T) => Promise<void>): Promise<void> {
    let next = 0
    const worker = async () => {
      while (next < items.length && !this.#away) {
        const item = items[next++]
        if (item !== undefined) await this.#run(() => call(item))
      }
    }
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker))
  }

  async #run(call: () => Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.complete = false
      this.#away ||= error instanceof StoreUnavailable
      this.#log.warn({ err: error }, 'the ledger could not open an account or apply a credit; will retry')
    }
  }
}
