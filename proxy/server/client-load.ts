/** Bounds the requests in flight of one client. */

import { networkOf } from '../../contract/address.ts'
import { PerClient } from '../../kit/per-client.ts'
import { GatewayError } from '../errors.ts'

export class ClientLoad {
  readonly #max: number
  /** By network. */
  readonly #inFlight = new PerClient()

  /** `max` requests of one client; 0 for no bound. */
  constructor(max: number) {
    this.#max = max
  }

  /**
   * Counts a request from an address until the returned function is called. All clients whose address is unknown count
   * as one. Throws rate_limit_exceeded at the bound.
   */
  enter(addressOf: () => string | undefined): () => void {
    if (this.#max === 0) return () => undefined
    const address = addressOf()
    const client = address === undefined ? '' : networkOf(address)
    if (this.#inFlight.of(client) >= this.#max) {
      throw new GatewayError('rate_limit_exceeded', 'You have too many requests in flight.', {
        retryAfterSeconds: 1,
      })
    }
    return this.#inFlight.enter(client)
  }
}
