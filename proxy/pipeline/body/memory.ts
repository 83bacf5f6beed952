/** Bounds the memory that the bodies of all requests in flight take together. */
import { BytePool, type Holder } from '../../../kit/byte-pool.ts'
import { GatewayError } from '../../errors.ts'

/** Only incomplete bodies give way, so that a client that sends a large body slowly cannot block small requests. */
export class BodyMemory extends BytePool<BodyLease> {
  /**
   * Room for one more body of `length` bytes, Infinity when it is not known. `refuse` is called at most once, when other
   * bodies need the memory.
   */
  lease(refuse: (error: GatewayError) => void, length = Infinity): BodyLease {
    return new BodyLease(this, refuse, length)
  }
}

export class BodyLease implements Holder {
  bytes = 0
  #over = false
  #complete = false
  readonly #length: number
  readonly #pool: BytePool<BodyLease>
  readonly #refuse: (error: GatewayError) => void

  constructor(pool: BytePool<BodyLease>, refuse: (error: GatewayError) => void, length: number) {
    this.#pool = pool
    this.#refuse = refuse
    this.#length = length
  }

  /** Counts bytes that arrived; this body or a larger one may be refused for them. False: it was this one. */
  take(bytes: number): boolean {
    if (!this.#over) {
      this.bytes += bytes
      // A body that comes in one piece never joins: 6 kB a request survived two collections for having been in the Set.
      if (this.bytes < this.#length && !this.#complete) this.#pool.add(this)
      this.#pool.count(bytes)
      this.#pool.shrink(this)
    }
    return !this.#over
  }

  /** The whole body has arrived, so it can no longer be refused. */
  complete(): void {
    this.#complete = true
    this.#pool.remove(this)
  }

  /** The request is over. */
  release(): void {
    if (this.#over) return
    this.#over = true
    this.#pool.remove(this)
    this.#pool.count(-this.bytes)
  }

  giveWay(): void {
    this.release()
    this.#refuse(noMemory())
  }
}

export function noMemory(): GatewayError {
  const message = 'The gateway has no memory for a request of this size; try again in a moment.'
  return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
}
