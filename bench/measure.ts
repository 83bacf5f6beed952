/** One measurement of one server under one load, and the statistics over several. */
import { type Load, load, type Target } from './load.ts'
import { cpuMicros } from './processes.ts'
import type { Scenario } from './scenarios.ts'

export const WARM_UP_MS = 1200
/** A paced stream lasts a second, so this is time for two in a row. */
export const MEASURE_MS = 1800

export interface Measurement {
  /** CPU microseconds per request, or per event of a stream. */
  cpuMicrosPerUnit: number
  p50Ms: number
  p99Ms: number
  requests: number
}

export async function measure(target: Target, scenario: Scenario, durationMs: number): Promise<Measurement> {
  const before = cpuMicros(target.pid)
  const done = await load(target, scenario, durationMs)
  const spent = cpuMicros(target.pid) - before
  return {
    cpuMicrosPerUnit: spent / (scenario.events === undefined ? done.requests : done.events),
    p50Ms: percentile(done, 0.5),
    p99Ms: percentile(done, 0.99),
    requests: done.requests,
  }
}

export function unitOf({ events }: Scenario): 'request' | 'event' {
  return events === undefined ? 'request' : 'event'
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

const percentile = ({ latencies }: Load, p: number) =>
  latencies[Math.floor((latencies.length - 1) * p)] ?? Number.NaN
