const EVERY_MS = 1_000

/** Sends a heartbeat each second and whenever something changes, one at a time. */
export class Heartbeat {
  readonly #send: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #again = false
  #stopped = false

  /** `send` never rejects. */
  constructor(send: () => Promise<void>) {
    this.#send = send
  }

  start(): void {
    this.#timer = setInterval(() => this.#sending ?? this.now(), EVERY_MS)
    this.#timer.unref()
  }

  /** Sends a heartbeat now, or as soon as the current one has been answered. */
  now(): void {
    if (this.#stopped) return
    if (this.#sending !== undefined) {
      this.#again = true
      return
    }
    this.#sending = this.#send().finally(() => {
      this.#sending = undefined
      if (!this.#again) return
      this.#again = false
      this.now()
    })
  }

  /** Resolves when the last one has been answered. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#sending
  }
}
