/** Passive ejection: failures in a row eject a channel or a model for a time, then one request at a time probes it. */
import type { ChannelRecord } from '../../contract/table/records.ts'

export type EjectionPolicy = ChannelRecord['ejection']

/** All times are milliseconds of the caller's clock. */
export class Ejection {
  #failures = 0
  /** Length of the last ejection; 0 when not ejected. */
  #ejectedMs = 0
  #until = 0
  /** Number of the probe in flight; 0 when there is none. */
  #probe = 0
  #lastProbe = 0

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures
  }

  /** When it ends, or ended; 0 when there was none since the last success. */
  get until(): number {
    return this.#until
  }

  /**
   * Called before a request. The first request after an ejection is the probe and gets a number. Until the probe has a
   * result, other requests see a second ejection of the same length. Without that length, a probe that never reports
   * would eject forever.
   */
  use(now: number): number | undefined {
    if (this.#ejectedMs === 0 || this.#until > now) return undefined
    this.#until = now + this.#ejectedMs
    this.#probe = ++this.#lastProbe
    return this.#probe
  }

  /** Ends a probe that has proven nothing: the next request is the probe. */
  unproven(probe: number): void {
    if (this.#probe !== probe) return
    this.#probe = 0
    this.#until = 0
  }

  succeeded(): void {
    this.#failures = 0
    this.#ejectedMs = 0
    this.#until = 0
    this.#probe = 0
  }

  /** `probe`: what `use` returned for the failed request. */
  failed(now: number, policy: EjectionPolicy, probe: number | undefined): void {
    this.#failures++
    if (policy.consecutiveFailures === 0 || this.#failures < policy.consecutiveFailures) return
    // A request that was in flight when the ejection began neither makes it longer nor ends a probe.
    if (this.#until > now && this.#probe !== probe) return
    this.#probe = 0
    this.#ejectedMs = Math.min(
      this.#ejectedMs === 0 ? policy.intervalMs : this.#ejectedMs * 2,
      policy.maxIntervalMs,
    )
    this.#until = now + this.#ejectedMs
  }
}
