/** Refuses new requests before their bodies are read, when the process or one client has too many. */
import { watchLoopDelay } from '../../kit/loop-delay.ts'
import { GatewayError } from '../errors.ts'
import { ClientLoad } from './client-load.ts'

export interface LoadLimits {
  maxInFlight: number
  /** Bound per client; 0 for none. */
  maxInFlightPerClient: number
  /** 99th percentile of the event loop's delay, over two seconds. */
  maxLoopDelayMs: number
  /** Memory that the process may take. */
  maxMemoryBytes: number
}

const SAMPLE_MS = 500
/** Four samples in a row make two seconds. */
const BAD_SAMPLES = 4
const NS_PER_MS = 1_000_000
/** Memory counts as full only when this share of the bound is in use. */
const USED_SHARE = 0.5
/** Requests that are served however full the memory is. */
const ALWAYS_SERVED = 8

export class Overload {
  readonly #limits: LoadLimits
  readonly #clients: ClientLoad
  readonly #loop = watchLoopDelay()
  readonly #timer: NodeJS.Timeout
  #badSamples = 0
  #isFull = false
  inFlight = 0
  /** Since the start of the process. */
  begun = 0

  constructor(limits: LoadLimits) {
    this.#limits = limits
    this.#clients = new ClientLoad(limits.maxInFlightPerClient)
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
    this.#timer.unref()
  }

  /** The error `overloaded` when a new request must be refused. */
  problem(): GatewayError | undefined {
    const { maxInFlight } = this.#limits
    const isFull = this.#isFull && this.inFlight >= ALWAYS_SERVED
    if (this.inFlight < maxInFlight && this.#badSamples < BAD_SAMPLES && !isFull) return undefined
    const message = 'The gateway is overloaded; try again in a moment.'
    return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
  }

  /** Counts a request of a client, by its address; the returned function ends it. Throws overloaded and rate_limit_exceeded. */
  enter(client: () => string | undefined): () => void {
    const problem = this.problem()
    if (problem !== undefined) throw problem
    const leave = this.#clients.enter(client)
    this.inFlight++
    this.begun++
    return () => {
      this.inFlight--
      leave()
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#loop.stop()
  }

  #sample(): void {
    const { delays } = this.#loop
    const delayMs = delays.percentile(99) / NS_PER_MS
    delays.reset()
    const isLate = delayMs > this.#limits.maxLoopDelayMs
    this.#badSamples = isLate ? this.#badSamples + 1 : 0
    const { maxMemoryBytes } = this.#limits
    // An allocator keeps freed memory for a long time, so a large rss alone is not load.
    const { rss, heapUsed, external } = process.memoryUsage()
    this.#isFull = rss > maxMemoryBytes && heapUsed + external > maxMemoryBytes * USED_SHARE
  }
}
