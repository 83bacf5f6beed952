/**
 * The figures of onthebench.ai, in its definitions (repository GetBusbar/benchmarking). The server under test has half of the
 * cores to itself, upstream and load generator have the others. As in that suite, the sweep comes first, so that all else
 * is measured on a server that has run for a while.
 *
 * - added latency: p99 over direct with one connection.
 * - frontier: most requests a second while 99 % finish within a bound and none fails, from one sweep of connections.
 * - translated: both again, with a messages client on a chat upstream; direct is still the chat API.
 * - added time to the first token and between two tokens: 64 tokens, 20 ms apart, one stream.
 * - streams sustained: most streams at a time of which every token arrives, none more than ten intervals after the one
 *   before it.
 */
import { availableParallelism } from 'node:os'
import { type Measurement, measure, median } from './measure.ts'
import type { Rung, YardstickLine } from './raw.ts'
import { type Percentiles, startUpstream, type Upstream } from './rig.ts'
import type { Scenario } from './scenarios.ts'
import { direct, type Target } from './targets.ts'

export const TOKENS: Scenario = {
  name: 'yardstick: 64 tokens, 20 ms apart',
  client: 'chat',
  upstream: 'chat',
  answer: 's64x20',
  clients: 1,
  promptBytes: 60,
}
const JSON_CHAT: Scenario = { ...TOKENS, name: 'yardstick: JSON', answer: 'json' }
const JSON_TRANSLATED: Scenario = { ...JSON_CHAT, name: 'yardstick: JSON translated', client: 'messages' }
export const YARDSTICK_SCENARIOS = [TOKENS, JSON_CHAT, JSON_TRANSLATED]

const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
const STREAMS = [32, 64, 128, 256, 512, 1_024]
const ROUNDS = 3
const WARM_UP_MS = 1_500
const TOKENS_MS = 4_000
const STREAMS_MS = 2_000
const STALL_MS = 10 * 20

/** The cores of the server under test, and those of the rig. */
export function halves(): { under: string; rig: string; count: number } {
  const cores = availableParallelism()
  const count = Math.max(1, cores >> 1)
  const range = (from: number, to: number) => (from >= to ? String(from) : `${from}-${to}`)
  return { under: range(0, count - 1), rig: range(Math.min(count, cores - 1), cores - 1), count }
}

export interface Contestant {
  target: Target
  /** How many cores it has. */
  cores: number
}

interface YardstickOptions {
  /** Starts the servers on an upstream, on the given cores. */
  start: (upstream: Upstream, cores: string) => Promise<Contestant[]>
  measureMs: number
  onLine: (line: YardstickLine) => void
}

export async function runYardstick({ start, measureMs, onLine }: YardstickOptions): Promise<void> {
  const { under, rig } = halves()
  const upstream = await startUpstream({ cores: rig })
  const contestants = await start(upstream, under)
  const floor = direct(upstream)
  const of = (target: Target, scenario: Scenario, durationMs: number, connections = 1) =>
    measure(target, scenario, {
      upstream,
      durationMs,
      cores: rig,
      change: { connections, ...(scenario === TOKENS && { stallMs: STALL_MS }) },
    })

  /** Medians over rounds of what a target adds to direct. */
  const added = async (scenario: Scenario, durationMs: number, read: (one: Measurement) => number[]) => {
    const rounds = new Map<Target, number[][]>(contestants.map(({ target }) => [target, []]))
    for (const target of rounds.keys()) await of(target, scenario, WARM_UP_MS)
    for (let round = 0; round < ROUNDS; round++) {
      const base = read(await of(floor, scenario, durationMs))
      for (const [target, list] of rounds) {
        const measured = read(await of(target, scenario, durationMs))
        list.push(measured.map((value, i) => value - (base[i] ?? Number.NaN)))
      }
    }
    return (target: Target) => {
      const list = rounds.get(target) ?? []
      return (list[0] ?? []).map((_, i) => median(list.map((values) => values[i] ?? Number.NaN)))
    }
  }

  const sweep = async (scenario: Scenario, connections: readonly number[], durationMs: number) => {
    const rungs = new Map<Target, Rung[]>(contestants.map(({ target }) => [target, []]))
    for (const concurrency of connections)
      for (const [target, list] of rungs)
        list.push(rungOf(await of(target, scenario, durationMs, concurrency), concurrency))
    return rungs
  }

  const measureStreams = async () => {
    const tokens = await added(TOKENS, TOKENS_MS, ({ first, gap }) => [
      at(first, 'p50'),
      at(gap, 'p50'),
      at(gap, 'p99'),
    ])
    console.error('yardstick: tokens')
    const streams = await sweep(TOKENS, STREAMS, STREAMS_MS)
    console.error('yardstick: streams')
    return (target: Target) => {
      const [addedFirstTokenMicros, addedGapP50Micros, addedGapP99Micros] = tokens(target)
      return { addedFirstTokenMicros, addedGapP50Micros, addedGapP99Micros, streams: streams.get(target) }
    }
  }

  try {
    for (const [path, scenario] of [
      ['passthrough', JSON_CHAT],
      ['translated', JSON_TRANSLATED],
    ] as const) {
      const rungs = await sweep(scenario, CONNECTIONS, measureMs)
      const streaming = path === 'passthrough' ? await measureStreams() : undefined
      const latency = await added(scenario, measureMs, ({ latency }) => [at(latency, 'p99')])
      for (const { target, cores } of contestants) {
        const [addedP99Micros = Number.NaN] = latency(target)
        onLine({
          kind: 'yardstick',
          target: target.name,
          cores,
          path,
          addedP99Micros,
          rungs: rungs.get(target) ?? [],
          ...streaming?.(target),
        })
      }
    }
  } finally {
    for (const { target } of contestants) await target.stop()
    upstream.stop()
  }
}

const at = (values: Percentiles | null, p: 'p50' | 'p99') => values?.[p] ?? Number.NaN

function rungOf(measured: Measurement, concurrency: number): Rung {
  const failures = Object.values(measured.failures).reduce((sum, count) => sum + count, 0)
  return {
    concurrency,
    perSecond: measured.units / measured.seconds,
    p99Micros: measured.latency?.p99 ?? Number.MAX_SAFE_INTEGER,
    // Books that do not agree disqualify as a failure does.
    failures: failures + (failures === 0 && measured.void !== undefined ? 1 : 0),
    stalled: measured.stalled,
  }
}

/** Most requests a second with the p99 within the bound and no failure; 0 if no rung has that. */
export function frontier(rungs: readonly Rung[], boundMs: number): number {
  const within = rungs.filter(({ p99Micros, failures }) => failures === 0 && p99Micros < boundMs * 1_000)
  return Math.max(0, ...within.map(({ perSecond }) => perSecond))
}

/** The largest number of streams up to which no rung lost or delayed a token. */
export function sustained(rungs: readonly Rung[]): number {
  const bad = rungs.findIndex(({ failures, stalled }) => failures > 0 || stalled > 0)
  return rungs[(bad < 0 ? rungs.length : bad) - 1]?.concurrency ?? 0
}
