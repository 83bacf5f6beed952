/** Hands the body of a request to one receiver. */
import { IncomingMessage } from 'node:http'

/** What takes a body. Nothing here may throw. */
export interface Receiver {
  /** False: send no more until `readOn`. */
  take(chunk: Buffer): boolean
  /** The body is whole. */
  end(): void
  /** The rest will not come. May follow `end`, and may come twice. */
  gone(): void
}

/** The connection from which a receiver gets a body. */
export interface Source {
  /** Sends again after `take` returned false. */
  readOn(): void
  /** The receiver gets no more chunks, and no end; what follows is for those who read the request as a stream. */
  letGo(): void
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Node closes a request without a body with it (its option optimizeEmptyRequests). Node has it since 24.12. */
    _dumpAndCloseReadable?(): void
  }
}

/**
 * A request whose body can go from Node's parser straight to its receiver. Through the stream, a request in JSON costs up to
 * 19 % more CPU (decision 25). Without a receiver it is a stream like any other.
 */
export class Incoming extends IncomingMessage implements Source {
  #receiver: Receiver | undefined
  #isStream = false

  /** False when a part has arrived already; it must be read from the stream. */
  passTo(receiver: Receiver): boolean {
    if (this.#isStream) return false
    this.#receiver = receiver
    return true
  }

  readOn(): void {
    if (this.#receiver !== undefined) super._read(0)
  }

  letGo(): void {
    this.#receiver = undefined
  }

  /** Node's parser calls it with each chunk, and with null at the end. */
  override push(chunk: Buffer | null): boolean {
    const receiver = this.#receiver
    if (receiver === undefined) {
      this.#isStream = true
      return super.push(chunk)
    }
    if (chunk !== null) return receiver.take(chunk)
    this.#receiver = undefined
    if (this._dumpAndCloseReadable === undefined) super.push(null)
    else this._dumpAndCloseReadable()
    receiver.end()
    return false
  }

  /** Whoever reads the stream gets the rest: a refused request is drained so, and waits for its end. */
  override _read(size: number): void {
    this.#receiver = undefined
    super._read(size)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const receiver = this.#receiver
    this.#receiver = undefined
    receiver?.gone()
    super._destroy(error, callback)
  }
}

/** Sends the body to `receiver` from the next chunk on. */
export function receive(req: IncomingMessage, receiver: Receiver): Source {
  // Express changes the prototype of the requests that it serves.
  if (req instanceof Incoming && req.passTo(receiver)) return req
  const take = (chunk: Buffer) => {
    if (!receiver.take(chunk)) req.pause()
  }
  const gone = () => receiver.gone()
  const end = () => receiver.end()
  req.on('data', take).on('end', end).on('error', gone).on('close', gone)
  return { readOn: () => req.resume(), letGo: () => req.off('data', take).off('end', end) }
}
