/**
 * What the gateway costs compared with a bare passthrough, in about three minutes: CPU per request and per event, and added
 * latency. Each round measures both in turn and compares them, so a busy machine affects both. The first round only
 * warms up. Differences below 15 % are noise. Linux only (/proc).
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Target } from './load.ts'
import { MEASURE_MS, type Measurement, measure, median, unitOf, WARM_UP_MS } from './measure.ts'
import { gatewayTarget, startGateway, startScript, stopAll } from './processes.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)

async function startTargets(): Promise<{ floor: Target; gateway: Target }> {
  const upstream = await startScript('upstream.ts')
  const passthrough = await startScript('passthrough.ts', String(upstream.port))
  const gateway = await startGateway(upstream.port)
  return {
    floor: {
      name: 'passthrough',
      origin: `http://127.0.0.1:${passthrough.port}`,
      pid: passthrough.pid,
      path: ({ answer }) => `/${answer}/v1/chat/completions`,
      headers: {},
      converts: false,
    },
    gateway: gatewayTarget('gateway', gateway),
  }
}

interface Round {
  floor: Measurement
  gateway: Measurement
}

function summarise(scenario: Scenario, rounds: Round[]) {
  const of = (read: (round: Round) => number) => median(rounds.map(read))
  return {
    scenario: scenario.name,
    unit: unitOf(scenario),
    floorMicros: of(({ floor }) => floor.cpuMicrosPerUnit),
    gatewayMicros: of(({ gateway }) => gateway.cpuMicrosPerUnit),
    ratio: of(({ floor, gateway }) => gateway.cpuMicrosPerUnit / floor.cpuMicrosPerUnit),
    addedP50Ms: of(({ floor, gateway }) => gateway.p50Ms - floor.p50Ms),
    addedP99Ms: of(({ floor, gateway }) => gateway.p99Ms - floor.p99Ms),
    rounds,
  }
}

function table(rows: ReturnType<typeof summarise>[]): string {
  const head = [
    '| scenario | passthrough CPU µs | gateway CPU µs | per | ratio | added p50 ms | added p99 ms |',
    '|---|--:|--:|---|--:|--:|--:|',
  ]
  const lines = rows.map(({ scenario, unit, floorMicros, gatewayMicros, ratio, addedP50Ms, addedP99Ms }) => {
    const numbers = [floorMicros.toFixed(1), gatewayMicros.toFixed(1), unit, ratio.toFixed(2)]
    return `| ${[scenario, ...numbers, addedP50Ms.toFixed(2), addedP99Ms.toFixed(2)].join(' | ')} |`
  })
  return [...head, ...lines].join('\n')
}

try {
  const { floor, gateway } = await startTargets()
  const rounds = new Map<Scenario, Round[]>(SCENARIOS.map((scenario) => [scenario, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    const durationMs = round === 0 ? WARM_UP_MS : MEASURE_MS
    for (const [scenario, kept] of rounds) {
      const measured = {
        floor: await measure(floor, scenario, durationMs),
        gateway: await measure(gateway, scenario, durationMs),
      }
      if (round > 0) kept.push(measured)
    }
    console.error(round === 0 ? 'warmed up' : `round ${round} of ${ROUNDS}`)
  }
  const rows = [...rounds].map(([scenario, kept]) => summarise(scenario, kept))
  console.log(table(rows))
  const folder = join(import.meta.dirname, '../.run')
  mkdirSync(folder, { recursive: true })
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length }
  writeFileSync(join(folder, 'bench-quick.json'), JSON.stringify({ at: new Date(), machine, rows }, null, 2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  stopAll()
}
