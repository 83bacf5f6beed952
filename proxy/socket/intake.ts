/** What a client has made the gateway hold before it is served: a message that has begun, and calls that wait. */

import { BytePool, type Holder } from '../../kit/byte-pool.ts'

/** Bounds what all connections of a process hold together: the one that holds most is cut off. */
export class IntakePool extends BytePool<Intake> {}

export interface IntakeOptions {
  /** Time for a message to be complete, in milliseconds; what passes while nothing is read does not count. */
  messageMs: number
  /** Bytes that have come so far. */
  bytesRead(): number
  /** What the client sends is not read at the moment. */
  deaf(): boolean
  /** A message was not complete in time. */
  late(): void
  /** All connections hold too much, and this one holds most. */
  cutOff(): void
}

/** So little may as well be control frames and the beginning of a message that was just sent. */
const UNCOUNTED_BYTES = 4_096
/** Header and mask of a control frame that comes from a client (RFC 6455, section 5.2). */
const CONTROL_HEADER_BYTES = 6

/**
 * Of one connection. The WebSocket tells of whole messages only, so the bytes of one that has begun are those that
 * came since the last: not to the byte, for a chunk may hold the end of one and the beginning of the next.
 */
export class Intake implements Holder {
  readonly #pool: IntakePool
  readonly #options: IntakeOptions
  /** Bytes that had come when the last message was complete, which hold nothing any more. */
  #done: number
  /** Those of control frames since. */
  #control = 0
  #queued = 0
  bytes = 0
  #clock: NodeJS.Timeout | undefined
  #ended = false

  constructor(pool: IntakePool, options: IntakeOptions) {
    this.#pool = pool
    this.#options = options
    this.#done = options.bytesRead()
    pool.add(this)
  }

  /** Bytes came; a message that they completed was told before. */
  came(): void {
    this.#count()
  }

  /** A message is complete. */
  message(): void {
    this.#done = this.#options.bytesRead()
    this.#control = 0
    this.#stopClock()
    this.#count()
  }

  /**
   * A ping or a pong with so many bytes of its own, which may stand between the pieces of a message. They begin none, but
   * are held all the same: a piece of one byte keeps the whole chunk that it came in.
   */
  control(bytes: number): void {
    this.#control = Math.min(this.#control + CONTROL_HEADER_BYTES + bytes, this.#unread)
  }

  /** So many bytes of calls wait. */
  queue(bytes: number): void {
    this.#queued = bytes
    this.#count()
  }

  /** All connections together hold too much: this one is cut off, and holds nothing any more. */
  giveWay(): void {
    this.end()
    this.#options.cutOff()
  }

  end(): void {
    this.#ended = true
    this.#stopClock()
    this.#hold(0)
    this.#pool.remove(this)
  }

  #count(): void {
    if (this.#ended) return
    const unread = this.#unread
    if (unread - this.#control > UNCOUNTED_BYTES) this.#clock ??= this.#startClock()
    else this.#stopClock()
    this.#hold((unread > UNCOUNTED_BYTES ? unread : 0) + this.#queued)
    this.#pool.shrink()
  }

  /** Since the last message. */
  get #unread(): number {
    return this.#options.bytesRead() - this.#done
  }

  #hold(bytes: number): void {
    this.#pool.count(bytes - this.bytes)
    this.bytes = bytes
  }

  #startClock(): NodeJS.Timeout {
    const { messageMs, deaf, late } = this.#options
    return setTimeout(() => {
      // The rest may wait in a queue of ours.
      if (deaf()) this.#clock = this.#startClock()
      else late()
    }, messageMs).unref()
  }

  #stopClock(): void {
    clearTimeout(this.#clock)
    this.#clock = undefined
  }
}
