/** What single clients have in flight, where that is bounded. */
import { networkOf } from '../../contract/address.ts'
import { GatewayError } from '../errors.ts'

export class ClientLoad {
  readonly #max: number
  /** By network; who has nothing in flight is not there. */
  readonly #inFlight = new Map<string, number>()

  /** `max` requests of one client; 0 for no bound. */
  constructor(max: number) {
    this.#max = max
  }

  /** Counts a request of whoever has this address, undefined for one that cannot be told; what is returned ends it. Throws rate_limit_exceeded at the bound. */
  enter(addressOf: () => string | undefined): () => void {
    if (this.#max === 0) return () => undefined
    const address = addressOf()
    const client = address === undefined ? '' : networkOf(address)
    const inFlight = this.#inFlight.get(client) ?? 0
    if (inFlight >= this.#max) {
      throw new GatewayError('rate_limit_exceeded', 'You have too many requests in flight.', {
        retryAfterSeconds: 1,
      })
    }
    this.#inFlight.set(client, inFlight + 1)
    return () => {
      const left = (this.#inFlight.get(client) ?? 0) - 1
      if (left > 0) this.#inFlight.set(client, left)
      else this.#inFlight.delete(client)
    }
  }
}
