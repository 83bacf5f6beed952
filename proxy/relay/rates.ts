/** How much may be relayed at a time, in the whole process and for each client. */
import { GatewayError } from '../errors.ts'

/** 0: no bound. */
export interface RateLimits {
  /** In flight in the process; not 0. */
  maxInFlight: number
  maxInFlightPerClient: number
  /** Of one client: as many at once as a minute allows, then one more whenever its part of the minute is over. */
  requestsPerMinute: number
}

interface ClientState {
  inFlight: number
  /** When the requests so far would be over, were they spread evenly; in the past for a client that has a whole minute left. */
  paidUntil: number
}

const MINUTE_MS = 60_000
/** Clients that are remembered; beyond it the one is forgotten that was seen longest ago and has nothing in flight. */
const MAX_CLIENTS = 100_000

export class RelayRates {
  readonly #limits: RateLimits
  readonly #now: () => number
  readonly #maxClients: number
  /** In the order in which they were last seen. */
  readonly #clients = new Map<string, ClientState>()
  #inFlight = 0

  /** `now`: milliseconds, monotonic. */
  constructor(limits: RateLimits, now: () => number, maxClients: number = MAX_CLIENTS) {
    this.#limits = limits
    this.#now = now
    this.#maxClients = maxClients
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get clients(): number {
    return this.#clients.size
  }

  /** Throws GatewayError overloaded when no more can be relayed now. */
  check(): void {
    if (this.#inFlight >= this.#limits.maxInFlight)
      throw new GatewayError('overloaded', 'Too many requests are being relayed; try again in a moment.', {
        retryAfterSeconds: 1,
      })
  }

  /** Counts a request until the returned function is called, once. Throws like `check`. */
  enter(): () => void {
    this.check()
    this.#inFlight++
    return () => {
      this.#inFlight--
    }
  }

  /**
   * Counts a request of a client until the returned function is called, once. Throws GatewayError rate_limit_exceeded;
   * what was refused does not count.
   */
  admit(client: string): () => void {
    const { maxInFlightPerClient, requestsPerMinute } = this.#limits
    if (maxInFlightPerClient === 0 && requestsPerMinute === 0) return () => undefined
    const state = this.#seen(client)
    if (maxInFlightPerClient > 0 && state.inFlight >= maxInFlightPerClient)
      throw exceeded('Too many of your requests are being relayed at the same time.', 1)
    if (requestsPerMinute > 0) {
      const now = this.#now()
      const paidUntil = Math.max(state.paidUntil, now) + MINUTE_MS / requestsPerMinute
      const waitMs = paidUntil - now - MINUTE_MS
      // Parts of a minute do not add up to it exactly.
      if (waitMs > 0.001)
        throw exceeded(`You may send ${requestsPerMinute} requests a minute.`, Math.ceil(waitMs / 1_000))
      state.paidUntil = paidUntil
    }
    state.inFlight++
    return () => {
      state.inFlight--
    }
  }

  #seen(client: string): ClientState {
    const known = this.#clients.get(client)
    if (known === undefined && this.#clients.size >= this.#maxClients) this.#forgetOne()
    const state = known ?? { inFlight: 0, paidUntil: 0 }
    this.#clients.delete(client)
    this.#clients.set(client, state)
    return state
  }

  #forgetOne(): void {
    for (const [client, { inFlight }] of this.#clients) {
      if (inFlight > 0) continue
      this.#clients.delete(client)
      return
    }
  }
}

function exceeded(message: string, retryAfterSeconds: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds })
}
