/**
 * Puts the parts of parallel items in sequence. Parts of the first unfinished item pass at once; parts of later items
 * wait until it is finished.
 */
import type { Emit, StreamPart } from '../../../core/neutral/types.ts'

/** Receives the parts of one item. */
export class Sink {
  closed = false
  readonly #emit: Emit
  readonly #onClose: () => void
  #held: StreamPart[] | undefined

  constructor(emit: Emit, onClose: () => void) {
    this.#emit = emit
    this.#onClose = onClose
    this.#held = []
  }

  /** True while an item before this one is unfinished. */
  get isWaiting(): boolean {
    return this.#held !== undefined
  }

  emit(part: StreamPart): void {
    if (this.#held === undefined) this.#emit(part)
    else this.#held.push(part)
  }

  /** Emits the held parts; later parts pass at once. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const part of held) this.#emit(part)
  }

  close(): void {
    this.closed = true
    this.#onClose()
  }
}

export class ItemQueue {
  readonly #emit: Emit
  readonly #waiting: Sink[] = []

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** Adds an item at the end of the queue. */
  open(): Sink {
    const sink = new Sink(this.#emit, () => this.#advance())
    this.#waiting.push(sink)
    if (this.#waiting.length === 1) sink.release()
    return sink
  }

  #advance(): void {
    while (this.#waiting[0]?.closed) {
      this.#waiting.shift()
      this.#waiting[0]?.release()
    }
  }
}
