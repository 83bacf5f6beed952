/** The verdict over paired rounds of two gateways, named base and head. */
import { type Measurement, median } from './measure.ts'
import type { Round } from './rounds.ts'
import { type Scenario, tokensOf, unitOf } from './scenarios.ts'

/** A ratio up to this is noise. */
const WORSE = 1.15

/** A Markdown table, and one entry for each figure that is worse than noise. */
export function report(rounds: ReadonlyMap<Scenario, readonly Round[]>): { table: string; worse: string[] } {
  const worse: string[] = []
  const lines = Array.from(rounds, ([scenario, kept]) => {
    if (kept.length === 0) worse.push(`${scenario.name}: every round is void`)
    const pairs = kept.map((round) => ({ base: sideOf(round, 'base'), head: sideOf(round, 'head') }))
    const of = (read: (measured: Measurement) => number) => ({
      base: median(pairs.map(({ base }) => read(base))),
      head: median(pairs.map(({ head }) => read(head))),
      ratio: median(pairs.map(({ base, head }) => read(head) / read(base))),
    })
    const cpu = of(({ cpuMicros }) => cpuMicros)
    const latency = tokensOf(scenario) === 0 ? 'latency' : 'first'
    const p50 = of((measured) => (measured[latency]?.p50 ?? Number.NaN) / 1_000)
    if (cpu.ratio > WORSE) worse.push(`${scenario.name}: CPU ${cpu.ratio.toFixed(2)}`)
    if (p50.ratio > WORSE) worse.push(`${scenario.name}: p50 ${p50.ratio.toFixed(2)}`)
    const cells = [scenario.name, cpu.base.toFixed(1), cpu.head.toFixed(1), unitOf(scenario)]
    cells.push(cpu.ratio.toFixed(2), p50.base.toFixed(2), p50.head.toFixed(2), p50.ratio.toFixed(2))
    return `| ${cells.join(' | ')} |`
  })
  const head = [
    '| scenario | base CPU µs | CPU µs | per | ratio | base p50 ms | p50 ms | ratio |',
    '|---|--:|--:|---|--:|--:|--:|--:|',
  ]
  return { table: [...head, ...lines].join('\n'), worse }
}

function sideOf(round: Round, name: 'base' | 'head'): Measurement {
  const found = round.get(name)
  if (found === undefined) throw new Error(`a round without ${name}`)
  return found
}
