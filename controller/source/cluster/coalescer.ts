/**
 * Runs a piece of work soon after something changed: at once after a while of silence, and no more than half of the
 * time while changes keep coming.
 */
const MAX_PAUSE_MS = 200

export class Coalescer {
  readonly #work: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #dueAt = 0
  #running = false
  #again = false
  #stopped = false
  /** Before this no run begins; by performance.now(). */
  #restUntil = 0

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  trigger(): void {
    this.triggerIn(0)
  }

  triggerIn(ms: number): void {
    if (this.#stopped) return
    if (this.#running && ms === 0) {
      this.#again = true
      return
    }
    const now = performance.now()
    const at = Math.max(now + ms, this.#restUntil)
    if (this.#timer !== undefined && this.#dueAt <= at) return
    clearTimeout(this.#timer)
    this.#dueAt = at
    // One turn of the event loop at least, so that what arrives together is handed on together.
    this.#timer = setTimeout(() => this.#run(), at - now)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #run(): void {
    this.#timer = undefined
    if (this.#running) {
      this.#again = true
      return
    }
    this.#running = true
    const began = performance.now()
    this.#work().finally(() => {
      this.#running = false
      const ended = performance.now()
      this.#restUntil = ended + Math.min(MAX_PAUSE_MS, ended - began)
      if (!this.#again) return
      this.#again = false
      this.trigger()
    })
  }
}
