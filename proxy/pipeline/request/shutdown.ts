import type { Canceller } from '../../../kit/cancel.ts'
import { GatewayError } from '../../errors.ts'

/** Breaks off the requests in flight when the process must end. A set, because thousands may be in flight. */
export class Shutdown {
  readonly #requests = new Set<Canceller>()
  #begun = false

  add(request: Canceller): void {
    this.#requests.add(request)
    if (this.#begun) abort(request)
  }

  remove(request: Canceller): void {
    this.#requests.delete(request)
  }

  begin(): void {
    this.#begun = true
    for (const request of this.#requests) abort(request)
  }
}

function abort(request: Canceller): void {
  request.abort(
    new GatewayError('overloaded', 'The gateway is shutting down; try again.', { retryAfterSeconds: 1 }),
  )
}
