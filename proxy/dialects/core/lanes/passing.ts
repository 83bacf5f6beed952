import type { GatewayError } from '../../../errors.ts'
import type { StreamObserver } from '../dialect.ts'

/** An observer around another one, which may hold back or change what that one lets pass. */
export abstract class PassingObserver implements StreamObserver {
  readonly #inner: StreamObserver

  constructor(inner: StreamObserver) {
    this.#inner = inner
  }

  get begun() {
    return this.#inner.begun
  }

  get failure() {
    return this.#inner.failure
  }

  get finished() {
    return this.#inner.finished
  }

  get done() {
    return this.#inner.done
  }

  get usage() {
    return this.#inner.usage
  }

  get tier() {
    return this.#inner.tier
  }

  get delivered() {
    return this.#inner.delivered
  }

  push(chunk: Buffer): Buffer | undefined {
    return this.#take(this.#inner.push(chunk))
  }

  flush(): Buffer | undefined {
    return this.#take(this.#inner.flush())
  }

  errorEvent(error: GatewayError, requestId: string): Buffer {
    return this.#inner.errorEvent(error, requestId)
  }

  /** Gets the whole events that the inner observer lets pass; returns what goes to the client. */
  protected abstract passed(bytes: Buffer): Buffer | undefined

  #take(bytes: Buffer | undefined): Buffer | undefined {
    return bytes === undefined ? undefined : this.passed(bytes)
  }
}
