/** A Server-Sent Events answer to a client: opened late, kept alive in silence, dropped when nobody reads it. */
import type { ServerResponse } from 'node:http'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx buffers answers unless it is told not to.
  'x-accel-buffering': 'no',
}

export interface EventStreamOptions {
  keepAlive: Buffer
  keepAliveMs: number
  stallMs: number
}

export class EventStream {
  readonly #res: ServerResponse
  readonly #options: EventStreamOptions
  readonly #silence: NodeJS.Timeout
  #stall: NodeJS.Timeout | undefined
  /** True when the client was cut off because it did not read. */
  stalled = false

  /** The clock of silence starts at once: an upstream that thinks for long must not look dead. */
  constructor(res: ServerResponse, options: EventStreamOptions) {
    this.#res = res
    this.#options = options
    this.#silence = setTimeout(() => this.#keepAlive(), options.keepAliveMs)
    this.#silence.unref()
    res.once('close', () => this.#stop())
  }

  /** True once a status was sent: from then on a failure can only be told by an event. */
  get opened(): boolean {
    return this.#res.headersSent
  }

  /** Sends bytes; false means: wait for onDrain before sending more. */
  write(bytes: Buffer): boolean {
    if (this.#res.destroyed) return true
    this.#open()
    this.#silence.refresh()
    const flowing = this.#res.write(bytes)
    if (!flowing) this.#watchStall()
    return flowing
  }

  /** Calls `drained` each time the client has caught up. */
  onDrain(drained: () => void): void {
    this.#res.on('drain', () => {
      clearTimeout(this.#stall)
      this.#stall = undefined
      drained()
    })
  }

  /** Ends the stream, after `last` if given. */
  end(last?: Buffer): void {
    this.#stop()
    if (this.#res.destroyed) return
    this.#open()
    this.#res.end(last)
    if (!this.#res.writableFinished) this.#watchStall()
  }

  /** Ends the clocks of a stream that was never opened: its answer takes another form. */
  abandon(): void {
    this.#stop()
  }

  #open(): void {
    if (!this.#res.headersSent) this.#res.writeHead(200, HEADERS)
  }

  #keepAlive(): void {
    if (this.#stall === undefined) this.write(this.#options.keepAlive)
    else this.#silence.refresh()
  }

  #watchStall(): void {
    this.#stall ??= setTimeout(() => {
      this.stalled = true
      this.#res.destroy()
    }, this.#options.stallMs).unref()
  }

  #stop(): void {
    clearTimeout(this.#silence)
    clearTimeout(this.#stall)
  }
}
