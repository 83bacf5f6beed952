/** Bounds the number of empty events from an upstream: each one costs time. */
import type { UpstreamFailure } from '../../../errors.ts'

const PER_STREAM = 10_000
const PER_SECOND = 1_000

export const TOO_QUIET: UpstreamFailure = { class: 'transient', detail: 'empty_events' }

export class QuietEvents {
  readonly #now: () => number
  #all = 0
  #second = 0
  #since = Number.NEGATIVE_INFINITY

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Counts one more; false when there are too many. */
  admit(): boolean {
    const now = this.#now()
    if (now - this.#since >= 1_000) {
      this.#since = now
      this.#second = 0
    }
    return ++this.#all <= PER_STREAM && ++this.#second <= PER_SECOND
  }
}
