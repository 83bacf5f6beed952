/**
 * What the gateway costs compared with a bare passthrough, in two minutes: CPU per request and per event, and added latency.
 * Differences below 15 % are noise. Linux only (/proc). BENCH_ROUNDS sets the number of rounds.
 */
import { join } from 'node:path'
import { writeConfig } from './config.ts'
import { startEmbedded } from './gateway.ts'
import { machine } from './machine.ts'
import { type Measurement, median } from './measure.ts'
import { openRaw } from './raw.ts'
import { startUpstream } from './rig.ts'
import { type Round, runRounds } from './rounds.ts'
import { SCENARIOS, type Scenario, tokensOf, unitOf } from './scenarios.ts'
import { RUN, startPassthrough, type Target } from './targets.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const KEYS = 1_000
const WARM_UP_MS = 700
/** A paced stream lasts a second, so this is time for two in a row. */
const MEASURE_MS = 1_100

function row(scenario: Scenario, rounds: readonly Round[], floor: Target, gateway: Target): string {
  const of = (read: (floor: Measurement, gateway: Measurement) => number) =>
    median(
      rounds.map((round) => {
        const [one, other] = [round.get(floor.name), round.get(gateway.name)]
        return one === undefined || other === undefined ? Number.NaN : read(one, other)
      }),
    )
  const latency = (one: Measurement) => (tokensOf(scenario) === 0 ? one.latency : one.first)
  const added = (p: 'p50' | 'p99') => of((a, b) => ((latency(b)?.[p] ?? 0) - (latency(a)?.[p] ?? 0)) / 1_000)
  const cells = [
    scenario.name,
    of((a) => a.cpuMicros).toFixed(1),
    of((_, b) => b.cpuMicros).toFixed(1),
    unitOf(scenario),
    of((a, b) => b.cpuMicros / a.cpuMicros).toFixed(2),
    added('p50').toFixed(2),
    added('p99').toFixed(2),
  ]
  return `| ${cells.join(' | ')} |`
}

const began = performance.now()
const upstream = await startUpstream()
const scenarios = SCENARIOS.filter(({ quick }) => quick)
const config = join(RUN, 'config-quick')
writeConfig(config, upstream.port, { scenarios, keys: KEYS })
const floor = await startPassthrough(upstream)
const gateway = await startEmbedded({ config, keys: KEYS })
const write = openRaw(join(RUN, 'quick.jsonl'))
write(machine())
try {
  const kept = await runRounds({
    upstream,
    targets: [floor, gateway],
    scenarios,
    rounds: ROUNDS,
    warmUpMs: WARM_UP_MS,
    measureMs: MEASURE_MS,
    onMeasurement: (one) => write({ kind: 'measurement', ...one }),
  })
  console.log(
    '| scenario | passthrough CPU µs | gateway CPU µs | per | ratio | added p50 ms | added p99 ms |',
  )
  console.log('|---|--:|--:|---|--:|--:|--:|')
  for (const [scenario, rounds] of kept) console.log(row(scenario, rounds, floor, gateway))
  console.error(`${((performance.now() - began) / 1_000).toFixed(0)} s`)
} finally {
  await Promise.all([gateway.stop(), floor.stop()])
  upstream.stop()
}
process.exit()
