import type { GatewayError } from '../../../errors.ts'
import type { StreamObserver } from '../byte-lane.ts'

/** Wraps an observer, and may hold back or change the events that it passes. */
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

  /** Gets the whole events that the inner observer passes; returns the bytes for the client. */
  protected abstract passed(bytes: Buffer): Buffer | undefined

  #take(bytes: Buffer | undefined): Buffer | undefined {
    return bytes === undefined ? undefined : this.passed(bytes)
  }
}
