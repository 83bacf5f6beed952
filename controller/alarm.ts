/** Calls back once the clock has reached a moment. */

/** The clock may be set, and a machine may sleep: it is asked again and again instead of trusting one long timer. */
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

  /** Takes the place of the moment that was set before. Infinity: never. */
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
