/** A Server-Sent Events answer to a client: opened late, kept alive in silence, cut off when the client does not read. */
import type { ServerResponse } from 'node:http'
import type { ClientStream } from '../call.ts'
import { onSilence } from '../request/client.ts'
import { writeHead } from '../request/head.ts'

const HEADERS = [
  ...['content-type', 'text/event-stream; charset=utf-8'],
  ...['cache-control', 'no-cache'],
  // Without this nginx buffers the answer.
  ...['x-accel-buffering', 'no'],
]

/** The only keep-alive that every client accepts before the first event. */
const COMMENT = Buffer.from(': keep-alive\n\n')

export interface EventStreamOptions {
  /** Sent during silence between events. */
  keepAlive: Buffer
  keepAliveMs: number
  stallMs: number
}

export class EventStream implements ClientStream {
  readonly #res: ServerResponse
  readonly #options: EventStreamOptions
  #silence: NodeJS.Timeout
  /** performance.now() of the last bytes. The clock looks at it when it fires: setting a timer again costs each event a µs. */
  #sentAt = performance.now()
  #begun = false
  /** True when the client was cut off because it did not read. */
  stalled = false

  /** Starts the keep-alive clock at once: a connection must not look dead while the model thinks. */
  constructor(res: ServerResponse, options: EventStreamOptions) {
    this.#res = res
    this.#options = options
    this.#silence = this.#waitSilently(options.keepAliveMs)
    res.once('close', () => this.#stop())
    onSilence(res, options.stallMs, () => this.#cutIfUnread())
  }

  /** True once a status was sent: from then on a failure can only become an event. */
  get opened(): boolean {
    return this.#res.headersSent
  }

  /** Sends bytes; false means: wait for onDrain before sending more. */
  write(bytes: Buffer): boolean {
    this.#begun = true
    return this.#send(bytes)
  }

  #send(bytes: Buffer): boolean {
    if (this.#res.destroyed) return true
    this.#open()
    this.#sentAt = performance.now()
    return this.#res.write(bytes)
  }

  /** Calls `drained` each time the client has caught up. */
  onDrain(drained: () => void): void {
    this.#res.on('drain', drained)
  }

  /** Ends the stream, after `last` if given. */
  end(last?: Buffer): void {
    this.#stop()
    if (this.#res.destroyed) return
    this.#open()
    this.#res.end(last)
  }

  /** Stops the clocks of a stream that was never opened, because the answer has another form. */
  abandon(): void {
    this.#stop()
  }

  #open(): void {
    if (!this.#res.headersSent) writeHead(this.#res, 200, HEADERS)
  }

  #waitSilently(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#keepAlive(), ms).unref()
  }

  #keepAlive(): void {
    const { keepAlive, keepAliveMs } = this.#options
    const left = this.#sentAt + keepAliveMs - performance.now()
    const isSilent = left < 1
    this.#silence = this.#waitSilently(isSilent ? keepAliveMs : left)
    if (isSilent && !this.#res.writableNeedDrain) this.#send(this.#begun ? keepAlive : COMMENT)
  }

  /** Cuts off only a client that leaves bytes unread: a silent upstream is not its fault. */
  #cutIfUnread(): void {
    if (!this.#res.writableNeedDrain && !this.#res.writableEnded) return
    this.stalled = true
    this.#res.destroy()
  }

  #stop(): void {
    clearTimeout(this.#silence)
  }
}
