/** The verdict over paired rounds of two gateways. */
import { type Measurement, median, unitOf } from './measure.ts'
import type { Scenario } from './scenarios.ts'

/** A ratio up to this is noise. */
const WORSE = 1.15

/** Both gateways, measured one after the other. */
export interface Round {
  base: Measurement
  head: Measurement
}

/** A Markdown table, and one entry for each figure that is worse than noise. */
export function report(rounds: Map<Scenario, Round[]>): { table: string; worse: string[] } {
  const worse: string[] = []
  const lines = Array.from(rounds, ([scenario, kept]) => {
    const of = (read: (measured: Measurement) => number) => {
      const [base, head] = [median(kept.map((r) => read(r.base))), median(kept.map((r) => read(r.head)))]
      return { base, head, ratio: median(kept.map((r) => read(r.head) / read(r.base))) }
    }
    const cpu = of(({ cpuMicrosPerUnit }) => cpuMicrosPerUnit)
    const p50 = of(({ p50Ms }) => p50Ms)
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
