/** What a client has made the gateway hold before it is served: a message that has begun, and calls that wait. */

/** Bounds what all connections of a process hold together: the one that holds most is cut off. */
export class IntakePool {
  readonly #maxBytes: number
  readonly #members = new Set<Intake>()
  used = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  add(member: Intake): void {
    this.#members.add(member)
  }

  remove(member: Intake): void {
    this.#members.delete(member)
  }

  shrink(): void {
    while (this.used > this.#maxBytes) {
      let largest: Intake | undefined
      for (const member of this.#members) if (member.held > (largest?.held ?? 0)) largest = member
      if (largest === undefined) return
      largest.cutOff()
    }
  }
}

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
export class Intake {
  readonly #pool: IntakePool
  readonly #options: IntakeOptions
  /** Bytes that had come when the last message was complete, which hold nothing any more. */
  #done: number
  /** Those of control frames since. */
  #control = 0
  #queued = 0
  #held = 0
  #clock: NodeJS.Timeout | undefined
  #ended = false

  constructor(pool: IntakePool, options: IntakeOptions) {
    this.#pool = pool
    this.#options = options
    this.#done = options.bytesRead()
    pool.add(this)
  }

  get held(): number {
    return this.#held
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
    this.#control = Math.min(this.#control + CONTROL_HEADER_BYTES + bytes, this.#bytes)
  }

  /** So many bytes of calls wait. */
  queue(bytes: number): void {
    this.#queued = bytes
    this.#count()
  }

  /** Of one that is too much; holds nothing any more. */
  cutOff(): void {
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
    const bytes = this.#bytes
    if (bytes - this.#control > UNCOUNTED_BYTES) this.#clock ??= this.#startClock()
    else this.#stopClock()
    this.#hold((bytes > UNCOUNTED_BYTES ? bytes : 0) + this.#queued)
    this.#pool.shrink()
  }

  /** Since the last message. */
  get #bytes(): number {
    return this.#options.bytesRead() - this.#done
  }

  #hold(bytes: number): void {
    this.#pool.used += bytes - this.#held
    this.#held = bytes
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
