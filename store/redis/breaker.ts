const TIMEOUTS = 5
const WITHIN_MS = 2_000
/** After a probe that failed; then twice as long each time. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 1_000

/**
 * Circuit breaker for one server: opens after 5 time-outs within 2 s. While it is open, callers fail at once, and probes find
 * out whether the server answers again: the first at once, because requests in flight time out together when a server or this
 * process stands still for a moment, the next soon after, and at last one a second.
 */
export class Breaker {
  readonly #onClose: () => void
  #timeouts: number[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(onClose: () => void) {
    this.#onClose = onClose
  }

  get isOpen(): boolean {
    return this.#timer !== undefined
  }

  /** Counts a time-out. `probe` checks whether the server answers. Returns true if this opened the breaker. */
  timedOut(probe: () => Promise<boolean>): boolean {
    if (this.isOpen) return false
    const now = performance.now()
    this.#timeouts = [...this.#timeouts, now].slice(-TIMEOUTS)
    const [oldest = now] = this.#timeouts
    if (this.#timeouts.length < TIMEOUTS || now - oldest > WITHIN_MS) return false
    this.#probeIn(0, probe)
    return true
  }

  /** Closes the breaker without a probe: the server is known to answer, or no longer in use. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#timeouts = []
  }

  #probeIn(waitMs: number, probe: () => Promise<boolean>): void {
    const timer = setTimeout(async () => {
      const answers = await probe()
      if (this.#timer !== timer) return
      if (!answers)
        return this.#probeIn(Math.min(Math.max(2 * waitMs, FIRST_WAIT_MS), LONGEST_WAIT_MS), probe)
      this.reset()
      this.#onClose()
    }, waitMs).unref()
    this.#timer = timer
  }
}
