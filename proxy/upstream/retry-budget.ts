/**
 * Bounds the retries of the whole process: in ten seconds at most 100, or a fifth of the requests if that is more.
 * Without a bound, retries would bury an upstream in trouble.
 */
const WINDOW_SECONDS = 10
const FREE_RETRIES = 100
const RETRY_SHARE = 0.2

interface Second {
  /** In seconds of the clock. */
  at: number
  requests: number
  retries: number
}

export class RetryBudget {
  readonly #now: () => number
  /** The last seconds with requests, oldest first. */
  readonly #seconds: Second[] = []

  /** `now`: milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now
  }

  countRequest(): void {
    this.#current().requests++
  }

  /** Takes one retry out of the budget; false when it is spent. */
  takeRetry(): boolean {
    const current = this.#current()
    const seconds = this.#seconds.filter((second) => second.at > current.at - WINDOW_SECONDS)
    const requests = seconds.reduce((sum, second) => sum + second.requests, 0)
    const retries = seconds.reduce((sum, second) => sum + second.retries, 0)
    if (retries >= Math.max(FREE_RETRIES, Math.floor(requests * RETRY_SHARE))) return false
    current.retries++
    return true
  }

  #current(): Second {
    const at = Math.floor(this.#now() / 1_000)
    const current = this.#seconds.at(-1)
    if (current?.at === at) return current
    const fresh = { at, requests: 0, retries: 0 }
    this.#seconds.push(fresh)
    if (this.#seconds.length > WINDOW_SECONDS) this.#seconds.shift()
    return fresh
  }
}
