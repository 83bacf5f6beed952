/** Passive ejection of one thing that can fail: it rests after failures in a row, then one request at a time probes it. */
import type { ChannelRecord } from '../../contract/table/records.ts'

export type EjectionPolicy = ChannelRecord['ejection']

/** Times are milliseconds of the caller's clock. */
export class Ejection {
  #failures = 0
  /** Length of the last rest; 0 when not ejected. */
  #restMs = 0
  #until = 0
  /** The request that probes it; 0 when none does. */
  #probe = 0
  #lastProbe = 0

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures
  }

  /** End of the rest; 0 when it may be used. */
  restingUntil(now: number): number {
    return this.#until > now ? this.#until : 0
  }

  /**
   * A request is about to use it. The first one after a rest is the probe and gets a number: until its result is known
   * the others see another rest of the same length, which also bounds the wait for a probe that never reports.
   */
  use(now: number): number | undefined {
    if (this.#restMs === 0 || this.#until > now) return undefined
    this.#until = now + this.#restMs
    this.#probe = ++this.#lastProbe
    return this.#probe
  }

  /** A probe ended without proving anything: the next request is the probe, at once. */
  unproven(probe: number): void {
    if (this.#probe !== probe) return
    this.#probe = 0
    this.#until = 0
  }

  succeeded(): void {
    this.#failures = 0
    this.#restMs = 0
    this.#until = 0
    this.#probe = 0
  }

  /** `probe`: the number that the failed request got. */
  failed(now: number, policy: EjectionPolicy, probe: number | undefined): void {
    this.#failures++
    if (policy.consecutiveFailures === 0 || this.#failures < policy.consecutiveFailures) return
    // Requests that were in flight when the rest began add nothing to it, nor do they end a probe.
    if (this.#until > now && this.#probe !== probe) return
    this.#probe = 0
    this.#restMs = Math.min(this.#restMs === 0 ? policy.intervalMs : this.#restMs * 2, policy.maxIntervalMs)
    this.#until = now + this.#restMs
  }
}
