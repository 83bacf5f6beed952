/** Passive ejection of one thing that can fail: it rests after failures in a row, then one request probes it. */
import type { ChannelRecord } from '../../contract/table/records.ts'

export type EjectionPolicy = ChannelRecord['ejection']

/** Times are milliseconds of the caller's clock. */
export class Ejection {
  #failures = 0
  /** Length of the last rest; 0 when not ejected. */
  #restMs = 0
  #until = 0
  #probing = false

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures
  }

  /** End of the rest; 0 when it may be used. */
  restingUntil(now: number): number {
    return this.#until > now ? this.#until : 0
  }

  /**
   * A request is about to use it. The first one after a rest is the probe: until its result is known the others
   * see another rest of the same length, which also bounds the wait for a probe that never reports.
   */
  use(now: number): void {
    if (this.#restMs === 0 || this.#until > now) return
    this.#probing = true
    this.#until = now + this.#restMs
  }

  succeeded(): void {
    this.#failures = 0
    this.#restMs = 0
    this.#until = 0
    this.#probing = false
  }

  failed(now: number, policy: EjectionPolicy): void {
    this.#failures++
    if (policy.consecutiveFailures === 0 || this.#failures < policy.consecutiveFailures) return
    // Requests that were in flight when the rest began add nothing to it.
    if (this.#until > now && !this.#probing) return
    this.#probing = false
    this.#restMs = Math.min(this.#restMs === 0 ? policy.intervalMs : this.#restMs * 2, policy.maxIntervalMs)
    this.#until = now + this.#restMs
  }
}
