import type { Canceller } from '../../../kit/cancel.ts'
import { Roster, type Seat } from '../../../kit/roster.ts'
import { GatewayError } from '../../errors.ts'

/** Breaks off the requests in flight when the process must end. */
export class Shutdown {
  readonly #requests = new Roster<Canceller>()
  #begun = false

  add(request: Canceller): Seat<Canceller> {
    const seat = this.#requests.join(request)
    if (this.#begun) abort(request)
    return seat
  }

  remove(seat: Seat<Canceller>): void {
    this.#requests.leave(seat)
  }

  begin(): void {
    this.#begun = true
    for (const request of this.#requests.members()) abort(request)
  }
}

function abort(request: Canceller): void {
  request.abort(
    new GatewayError('overloaded', 'The gateway is shutting down; try again.', { retryAfterSeconds: 1 }),
  )
}
