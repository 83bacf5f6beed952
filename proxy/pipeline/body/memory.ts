/** Bounds the memory that the bodies of all requests in flight take together. */
import { GatewayError } from '../../errors.ts'

export class BodyMemory {
  readonly #maxBytes: number
  /** Bodies of which more is to come. */
  readonly #coming = new Set<BodyLease>()
  #used = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get used(): number {
    return this.#used
  }

  /** Room for one more body; `refuse` is called at most once, when others need what it has taken. */
  lease(refuse: (error: GatewayError) => void): BodyLease {
    const lease: BodyLease = new BodyLease(
      (bytes) => this.#take(lease, bytes),
      () => this.#coming.delete(lease),
      refuse,
    )
    this.#coming.add(lease)
    return lease
  }

  /**
   * The largest body that is not complete gives way: whoever sends much and slowly cannot keep small requests out.
   */
  #take(lease: BodyLease, bytes: number): void {
    this.#used += bytes
    while (this.#used > this.#maxBytes && bytes > 0) {
      let largest = lease
      for (const other of this.#coming) if (other.bytes > largest.bytes) largest = other
      this.#coming.delete(largest)
      largest.giveUp()
      if (largest === lease) return
    }
  }
}

/** What one body takes. */
export class BodyLease {
  bytes = 0
  #over = false
  readonly #took: (bytes: number) => void
  readonly #ended: () => void
  readonly #refuse: (error: GatewayError) => void

  constructor(took: (bytes: number) => void, ended: () => void, refuse: (error: GatewayError) => void) {
    this.#took = took
    this.#ended = ended
    this.#refuse = refuse
  }

  /** Counts bytes that came; this or another body may be refused for them. False: it was this one. */
  take(bytes: number): boolean {
    if (!this.#over) {
      this.bytes += bytes
      this.#took(bytes)
    }
    return !this.#over
  }

  /** All of it is there; it is not refused any more. */
  complete(): void {
    this.#ended()
  }

  /** The request is over. */
  release(): void {
    if (this.#over) return
    this.#over = true
    this.#ended()
    this.#took(-this.bytes)
  }

  giveUp(): void {
    this.release()
    this.#refuse(noMemory())
  }
}

export function noMemory(): GatewayError {
  const message = 'The gateway has no memory for a request of this size; try again in a moment.'
  return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
}
