/**
 * Puts the parts of parallel items one behind the other: those of the first unfinished item pass at once, those of the
 * items behind it are held until it is done.
 */
import type { StreamPart } from '../../../core/neutral/types.ts'

type Emit = (part: StreamPart) => void

/** Takes the parts of one item. */
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

  /** Items before this one are not done. */
  get isWaiting(): boolean {
    return this.#held !== undefined
  }

  emit(part: StreamPart): void {
    if (this.#held === undefined) this.#emit(part)
    else this.#held.push(part)
  }

  /** Passes what was held; from now on parts pass at once. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const part of held) this.#emit(part)
  }

  /** The item is done. */
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

  /** The sink of the next item. */
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
