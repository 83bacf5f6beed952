import { isLater, rescued, type Soon } from '../../kit/soon.ts'
import { withDeadline } from '../../kit/time.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { unavailable } from './refusals.ts'

/** How long a request may wait when a command may wait `commandMs`. By default it can be refused within 300 ms. */
export const requestMs = (commandMs: number): number => commandMs + 30
const DEFAULT_MS = requestMs(250)

/** How long one request may wait for the store, over all its calls. */
export class StoreTime {
  #leftMs: number

  constructor(ms: number = DEFAULT_MS) {
    this.#leftMs = ms
  }

  get leftMs(): number {
    return this.#leftMs
  }

  /**
   * The answer of the store, at once if it is in this process. Rejects with StoreUnavailable when the time is over; the
   * command may still take effect then.
   */
  spend<T>(ask: () => Promise<T>): Promise<T>
  spend<T>(ask: () => Soon<T>): Soon<T>
  spend<T>(ask: () => Soon<T>): Soon<T> {
    if (this.#leftMs <= 0) return Promise.reject(new StoreUnavailable('no time is left to ask the store'))
    const answer = ask()
    return isLater(answer) ? this.#wait(answer) : answer
  }

  #wait<T>(answer: Promise<T>): Promise<T> {
    const since = performance.now()
    const onTimeout = () => {
      // A timer may fire a fraction of a millisecond early, and would leave that much time.
      this.#leftMs = 0
      return new StoreUnavailable('the store did not answer in time')
    }
    return withDeadline(answer, this.#leftMs, onTimeout, () => {
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - since))
    })
  }
}

/** Less time than this is not enough for a retry. A reset leaves that much, a time-out does not. */
const WORTH_A_RETRY_MS = 100

/**
 * Retries once after an unclear failure if there is time: every command is idempotent. `failed` is called before the
 * failure of the last try is thrown.
 */
export function tryTwice<T>(time: StoreTime, command: () => Soon<T>, failed: () => void = () => {}): Soon<T> {
  const giveUp = (error: unknown): never => {
    failed()
    throw error instanceof StoreUnavailable ? unavailable(error) : error
  }
  return rescued(
    () => time.spend(command),
    (error) => {
      if (!(error instanceof StoreUnavailable) || time.leftMs < WORTH_A_RETRY_MS) return giveUp(error)
      return rescued(() => time.spend(command), giveUp)
    },
  )
}
