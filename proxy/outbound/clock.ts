import { MAX_TIMER_MS } from '../../kit/time.ts'

/** A timer may fire this much early. */
const EARLY_MS = 1

/**
 * The time-outs of one exchange: of its silence, which begins again and again, and of the whole. Both share a timer that
 * is set again only when it fires before its time, so that a chunk of a stream costs no timer.
 */
export class Clock {
  readonly #totalAt: number
  readonly #expired: (which: 'silence' | 'total') => void
  #silenceAt: number
  #timer: NodeJS.Timeout | undefined
  #firesAt = Infinity

  /** In milliseconds. `expired` is called once. */
  constructor(silenceMs: number, totalMs: number, expired: (which: 'silence' | 'total') => void) {
    const now = performance.now()
    this.#silenceAt = now + silenceMs
    this.#totalAt = now + totalMs
    this.#expired = expired
    this.#wait(now)
  }

  /** Silence may last for `ms` from now; Infinity: any time. */
  silence(ms: number): void {
    const now = performance.now()
    this.#silenceAt = now + ms
    if (this.#silenceAt < this.#firesAt) this.#wait(now)
  }

  stop(): void {
    this.#silenceAt = Infinity
    this.#firesAt = -Infinity
    clearTimeout(this.#timer)
  }

  #wait(now: number): void {
    clearTimeout(this.#timer)
    this.#firesAt = Math.min(this.#silenceAt, this.#totalAt)
    this.#timer = setTimeout(() => this.#fired(), Math.min(this.#firesAt - now, MAX_TIMER_MS))
  }

  #fired(): void {
    const now = performance.now() + EARLY_MS
    if (now >= this.#totalAt) this.#expire('total')
    else if (now >= this.#silenceAt) this.#expire('silence')
    else this.#wait(now)
  }

  #expire(which: 'silence' | 'total'): void {
    this.stop()
    this.#expired(which)
  }
}
