/** Calls back when the clock reaches a time. */

/** The clock is read this often, because one long timer would be wrong after the clock is set or the machine sleeps. */
const LOOK_MS = 1_000

export class Alarm {
  readonly #now: () => number
  readonly #ring: () => void
  #timer: NodeJS.Timeout | undefined

  /** `now` gives milliseconds since the epoch. */
  constructor(now: () => number, ring: () => void) {
    this.#now = now
    this.#ring = ring
  }

  /** Replaces the time set before. Infinity: never. */
  set(at: number): void {
    this.stop()
    if (at === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => {
        if (this.#now() < at) this.set(at)
        else this.#ring()
      },
      Math.max(0, Math.min(at - this.#now(), LOOK_MS)),
    )
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
