/** Sheds new work before its body is read, when the process has more than it can do. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { GatewayError } from '../errors.ts'

const SAMPLE_MS = 500
/** Four samples in a row make two seconds. */
const BAD_SAMPLES = 4
const MAX_DELAY_P99_NS = 500_000_000

export class Overload {
  readonly #maxInFlight: number
  readonly #delay = monitorEventLoopDelay({ resolution: 20 })
  readonly #timer: NodeJS.Timeout
  #badSamples = 0
  inFlight = 0

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight
    this.#delay.enable()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
    this.#timer.unref()
  }

  /** Throws overloaded when new work must wait. */
  check(): void {
    if (this.inFlight >= this.#maxInFlight || this.#badSamples >= BAD_SAMPLES) {
      throw new GatewayError('overloaded', 'The gateway is overloaded; try again in a moment.', {
        retryAfterSeconds: 1,
      })
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#delay.disable()
  }

  #sample(): void {
    this.#badSamples = this.#delay.percentile(99) > MAX_DELAY_P99_NS ? this.#badSamples + 1 : 0
    // Resetting in this turn would lose a block that began in it.
    setImmediate(() => this.#delay.reset())
  }
}
