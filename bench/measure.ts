/** One measurement of one target under one load: latencies, CPU, and whether everyone counted the same requests. */
import { disagreement } from './books.ts'
import { priceOf } from './config.ts'
import { cpuMicros } from './processes.ts'
import { type LoadResult, type LoadSpec, type Pin, runLoad, type Upstream } from './rig.ts'
import { expectation, requestBody, type Scenario, tokensOf } from './scenarios.ts'
import type { Target } from './targets.ts'

export interface Measurement extends LoadResult {
  target: string
  scenario: string
  /** Requests, or events of streams: what costs are divided by. */
  units: number
  /** CPU microseconds of the target and of its Redis, for each unit. */
  cpuMicros: number
  redisMicros?: number
  /** 99th percentile of the event loop delay in milliseconds. */
  loopDelayMs?: number
  /** Why it does not count. */
  void?: string
}

/** The load of a scenario, as the target takes it. */
export function specOf(target: Target, scenario: Scenario, durationMs: number): LoadSpec {
  const api = target.api(scenario)
  const webSocket = scenario.webSocket === true && target.webSocket
  const { webSocket: _, ...withoutSocket } = scenario
  return {
    address: `127.0.0.1:${target.port}`,
    path: target.path(scenario),
    headers: target.headers(scenario),
    ...(target.keys && { keys: target.keys }),
    bodies: [requestBody(api, webSocket ? scenario : withoutSocket, target.model?.(scenario))],
    connections: scenario.clients,
    ...(scenario.rate && { rate: scenario.rate }),
    durationMs,
    webSocket,
    expect: expectation(api, scenario),
  }
}

interface MeasureOptions extends Pin {
  upstream: Upstream
  durationMs: number
  /** Changes the load of the scenario. */
  change?: Partial<LoadSpec>
}

export async function measure(
  target: Target,
  scenario: Scenario,
  { upstream, durationMs, change, cores }: MeasureOptions,
): Promise<Measurement> {
  const { books, redisPid, pids } = target
  const before = await books?.read()
  const answered = await finished(upstream)
  await target.metrics?.()
  const cpu = cpuOf(pids)
  const redis = redisPid && cpuMicros(redisPid)
  const done = await runLoad({ ...specOf(target, scenario, durationMs), ...change }, { cores })
  const spent = cpuOf(pids) - cpu
  const redisSpent = redisPid && redis !== undefined ? cpuMicros(redisPid) - redis : undefined
  const metrics = await target.metrics?.()
  const units = tokensOf(scenario) === 0 ? done.requests : done.tokens
  const problems = [...failuresOf(done)]
  // Requests that failed are in some books and not in others.
  if (before !== undefined && books !== undefined && problems.length === 0) {
    const cost = done.requests * priceOf(scenario.upstream)
    const difference = await disagreement(books, before, { requests: done.requests, cost })
    if (difference !== undefined) problems.push(difference)
  }
  const served = (await finished(upstream)) - answered
  if (served !== done.requests) problems.push(`the upstream answered ${served} of ${done.requests} requests`)
  const loopDelayMs = metrics === undefined ? undefined : loopDelayOf(metrics)
  return {
    ...done,
    target: target.name,
    scenario: scenario.name,
    units,
    cpuMicros: spent / units,
    ...(redisSpent !== undefined && { redisMicros: redisSpent / units }),
    ...(loopDelayMs !== undefined && { loopDelayMs }),
    ...(problems.length > 0 && { void: problems.join('; ') }),
  }
}

export function failuresOf({ failures, failure, requests }: LoadResult): string[] {
  const all = Object.entries(failures).map(([kind, count]) => `${count} × ${kind}`)
  if (requests === 0) return ['no request was answered', failure]
  return all.length === 0 ? [] : [all.join(', '), failure]
}

const cpuOf = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)

/** Answers that the upstream has given. */
export async function finished(upstream: Upstream): Promise<number> {
  return Object.values(await upstream.log()).reduce((sum, counts) => sum + counts.finished, 0)
}

export function loopDelayOf(metrics: string): number | undefined {
  const [, seconds] = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics) ?? []
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
