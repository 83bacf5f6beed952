/** Answers one call on a socket: takes Server-Sent Events and sends each as a message. */
import type { GatewayError } from '../errors.ts'
import type { ClientSide, ClientStream } from '../pipeline/call.ts'
import { errorFrame, framesOf } from './events.ts'
import type { StreamName } from './frames.ts'
import type { Outbox } from './outbox.ts'

export class SocketClient implements ClientSide {
  readonly #outbox: Outbox
  readonly #stream: StreamName
  readonly #stalled: () => boolean
  /** Messages that wait until the client has read others. */
  #pending: string[] = []
  #waits = false
  #drained: (() => void) | undefined
  readonly #flushed: (() => void)[] = []
  opened = false
  /** The call was answered with an error. */
  failed = false

  /** `stalled` returns true if the socket was cut off because the client did not read. */
  constructor(outbox: Outbox, stream: StreamName, stalled: () => boolean) {
    this.#outbox = outbox
    this.#stream = stream
    this.#stalled = stalled
  }

  get status(): number {
    return this.opened ? 200 : 0
  }

  setHeader(): void {
    // Messages have no headers.
  }

  whole(): void {
    throw new TypeError('an answer on a socket is a stream')
  }

  /** Sends no keep-alives: the socket has pings. */
  stream(): ClientStream {
    const client = this
    return {
      get opened() {
        return client.opened
      },
      get stalled() {
        return client.#stalled()
      },
      write: (bytes) => this.#write(bytes),
      onDrain: (drained) => {
        this.#drained = drained
      },
      end: (last) => {
        if (last !== undefined) this.#write(last)
      },
      abandon: () => undefined,
    }
  }

  /** Sends the error of a call that failed before its answer began. */
  refuse(error: GatewayError): void {
    this.failed = true
    this.#push(errorFrame(error, this.#stream))
  }

  /** Resolves when all messages were written to the socket, or it is closed. */
  flushed(): Promise<void> {
    if (!this.#waits) return Promise.resolve()
    return new Promise((resolve) => this.#flushed.push(resolve))
  }

  #write(bytes: Buffer): boolean {
    this.opened = true
    this.#outbox.together(() => {
      for (const { text, error } of framesOf(bytes, this.#stream)) {
        if (error) this.failed = true
        this.#push(text)
      }
    })
    return !this.#waits && this.#outbox.flowing ? true : this.#await()
  }

  #push(text: string): void {
    if (this.#outbox.closed) return
    if (!this.#waits && this.#outbox.flowing) this.#outbox.send(text)
    else {
      this.#pending.push(text)
      this.#await()
    }
  }

  #await(): false {
    if (!this.#waits) this.#outbox.wait(() => this.#resume())
    this.#waits = true
    return false
  }

  #resume(): void {
    this.#waits = false
    const pending = this.#outbox.closed ? [] : this.#pending
    let sent = 0
    this.#outbox.together(() => {
      for (; sent < pending.length && this.#outbox.flowing; sent++) this.#outbox.send(pending[sent] ?? '')
    })
    this.#pending = pending.slice(sent)
    if (this.#pending.length > 0 || !this.#outbox.flowing) {
      this.#await()
      return
    }
    for (const resolve of this.#flushed.splice(0)) resolve()
    if (!this.#outbox.closed) this.#drained?.()
  }
}
