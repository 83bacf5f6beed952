/**
 * Runs work soon after a change: at once if there was none for a while, and at most half of the time while changes keep
 * coming.
 */
const MAX_PAUSE_MS = 200

export class Coalescer {
  readonly #work: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #dueAt = 0
  #running = false
  #again = false
  #stopped = false
  /** No run begins before this time, by performance.now(). */
  #idleUntil = 0

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
    const at = Math.max(now + ms, this.#idleUntil)
    if (this.#timer !== undefined && this.#dueAt <= at) return
    clearTimeout(this.#timer)
    this.#dueAt = at
    // After at least one turn of the event loop, so that changes that arrive together are delivered together.
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
      this.#idleUntil = ended + Math.min(MAX_PAUSE_MS, ended - began)
      if (!this.#again) return
      this.#again = false
      this.trigger()
    })
  }
}
