/** Bytes that the gateway holds for a client before it serves it: a message that has begun, and waiting calls. */

import { BytePool, type Holder } from '../../kit/byte-pool.ts'

/** Bounds the bytes that all connections of a process hold together, by cutting off the one that holds most. */
export class IntakePool extends BytePool<Intake> {}

interface IntakeOptions {
  /** Time for a message to become complete, in milliseconds; time while reading is paused does not count. */
  messageMs: number
  /** Bytes received so far. */
  bytesRead(): number
  /** The gateway does not read from the client at the moment. */
  isPaused(): boolean
  /** A message was not completed in time. */
  onTimeout(): void
  /** All connections hold too much, and this one holds most. */
  cutOff(): void
}

/** Fewer bytes may just be control frames, or the beginning of a message that was just sent. */
const UNCOUNTED_BYTES = 4_096
/** Header and mask of a client's control frame (RFC 6455, section 5.2). */
const CONTROL_HEADER_BYTES = 6

/**
 * The intake of one connection. ws emits whole messages only, so the size of an incomplete one is estimated as the bytes
 * since the last: a chunk may have the end of one message and the beginning of the next.
 */
export class Intake implements Holder {
  readonly #pool: IntakePool
  readonly #options: IntakeOptions
  /** Bytes received when the last message was complete; they are no longer held. */
  #done: number
  /** Bytes of control frames since then. */
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

  /** Bytes arrived. If they completed a message, message() was called before. */
  onBytes(): void {
    if (this.#ended) return
    const unread = this.#unread
    if (unread - this.#control > UNCOUNTED_BYTES) this.#clock ??= this.#startClock()
    else this.#stopClock()
    this.#hold((unread > UNCOUNTED_BYTES ? unread : 0) + this.#queued)
    this.#pool.shrink()
  }

  /** A message is complete. */
  message(): void {
    this.#done = this.#options.bytesRead()
    this.#control = 0
    this.#stopClock()
    this.onBytes()
  }

  /**
   * A ping or a pong with `bytes` of payload, which may arrive between the pieces of a message. It does not begin a
   * message, but its bytes are held all the same: a piece of one byte keeps the whole chunk in which it arrived.
   */
  control(bytes: number): void {
    this.#control = Math.min(this.#control + CONTROL_HEADER_BYTES + bytes, this.#unread)
  }

  /** The waiting calls have `bytes` now. */
  queue(bytes: number): void {
    this.#queued = bytes
    this.onBytes()
  }

  /** All connections together hold too much: cuts this one off and releases its bytes. */
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

  /** Since the last message. */
  get #unread(): number {
    return this.#options.bytesRead() - this.#done
  }

  #hold(bytes: number): void {
    this.#pool.count(bytes - this.bytes)
    this.bytes = bytes
  }

  #startClock(): NodeJS.Timeout {
    const { messageMs, isPaused, onTimeout } = this.#options
    return setTimeout(() => {
      // The rest of the message may wait in the gateway's own queue.
      if (isPaused()) this.#clock = this.#startClock()
      else onTimeout()
    }, messageMs).unref()
  }

  #stopClock(): void {
    clearTimeout(this.#clock)
    this.#clock = undefined
  }
}
