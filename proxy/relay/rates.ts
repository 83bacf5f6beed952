/** Bounds the relay, for the whole process and for each client. */
import { PerClient } from '../../kit/per-client.ts'
import { GatewayError } from '../errors.ts'

/** 0: no bound. */
export interface RateLimits {
  /** In the whole process; never 0. */
  maxInFlight: number
  maxInFlightPerClient: number
  /** Of one client. It may send all of them at once, then one more after each equal part of a minute. */
  requestsPerMinute: number
}

const MINUTE_MS = 60_000
/** With more clients than this, the idle one that was seen longest ago is forgotten. */
const MAX_CLIENTS = 100_000

export class RelayRates {
  readonly #limits: RateLimits
  readonly #now: () => number
  readonly #maxClients: number
  readonly #inFlightOf = new PerClient()
  /**
   * When the requests of a client would be over if they were spread evenly: in the past for a client that has a whole
   * minute left. In the order in which clients were last seen.
   */
  readonly #paidUntil = new Map<string, number>()
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

  /** Number of clients whose rate is remembered. */
  get clients(): number {
    return this.#paidUntil.size
  }

  /** Throws GatewayError overloaded at the bound of the process. */
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
   * Counts a request of a client until the returned function is called, once. Throws GatewayError rate_limit_exceeded; a
   * refused request does not count.
   */
  admit(client: string): () => void {
    const { maxInFlightPerClient, requestsPerMinute } = this.#limits
    if (requestsPerMinute > 0) this.#see(client)
    if (maxInFlightPerClient > 0 && this.#inFlightOf.of(client) >= maxInFlightPerClient)
      throw exceeded('Too many of your requests are being relayed at the same time.', 1)
    if (requestsPerMinute > 0) this.#spend(client, requestsPerMinute)
    return this.#inFlightOf.enter(client)
  }

  #spend(client: string, requestsPerMinute: number): void {
    const now = this.#now()
    const paidUntil = Math.max(this.#paidUntil.get(client) ?? 0, now) + MINUTE_MS / requestsPerMinute
    const waitMs = paidUntil - now - MINUTE_MS
    // Floating-point parts of a minute do not add up exactly.
    if (waitMs > 0.001)
      throw exceeded(`You may send ${requestsPerMinute} requests a minute.`, Math.ceil(waitMs / 1_000))
    this.#paidUntil.set(client, paidUntil)
  }

  /** Makes a client the one seen last, and forgets another one if there are too many. */
  #see(client: string): void {
    const known = this.#paidUntil.get(client)
    if (known === undefined && this.#paidUntil.size >= this.#maxClients) this.#forgetOne()
    this.#paidUntil.delete(client)
    this.#paidUntil.set(client, known ?? 0)
  }

  #forgetOne(): void {
    for (const client of this.#paidUntil.keys()) {
      if (this.#inFlightOf.of(client) > 0) continue
      this.#paidUntil.delete(client)
      return
    }
  }
}

function exceeded(message: string, retryAfterSeconds: number): GatewayError {
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds })
}
