/** Calls of the ledger of which one may fail without the others; once it is away, no more are made. */
import type { Log } from '../../contract/log.ts'
import { StoreUnavailable } from '../../store/contract.ts'

/** Calls at once: enough to hide the way there and back, few enough that none waits out its time in a queue. */
const CONCURRENCY = 16

export class Attempt {
  readonly #log: Log
  #away = false
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
      this.#log.warn({ err: error }, 'the ledger did not take an account or a credit; trying again')
    }
  }
}
