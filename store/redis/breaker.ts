const TIMEOUTS = 5
const WITHIN_MS = 2_000
const PROBE_MS = 1_000

/**
 * Guards one server: after 5 time-outs within 2 s it is taken for away, and only one probe a second asks whether it
 * answers again. Callers ask `isOpen` and fail at once.
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

  /** A command was not answered in time. `probe` tells whether one would be now. True when this opened the breaker. */
  timedOut(probe: () => Promise<boolean>): boolean {
    if (this.isOpen) return false
    const now = performance.now()
    this.#timeouts = [...this.#timeouts, now].slice(-TIMEOUTS)
    const [oldest = now] = this.#timeouts
    if (this.#timeouts.length < TIMEOUTS || now - oldest > WITHIN_MS) return false
    this.#wait(probe)
    return true
  }

  /** Closes without a probe, when the server is known to answer, or nobody asks any more. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#timeouts = []
  }

  #wait(probe: () => Promise<boolean>): void {
    const timer = setTimeout(async () => {
      const answers = await probe()
      if (this.#timer !== timer) return
      if (!answers) return this.#wait(probe)
      this.reset()
      this.#onClose()
    }, PROBE_MS).unref()
    this.#timer = timer
  }
}
