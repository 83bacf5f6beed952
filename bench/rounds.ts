/**
 * Interleaved rounds: each round measures every target in turn, so that a busy machine slows them alike, and comparisons are
 * made inside a round. The first round only warms up.
 */
import { type Measurement, measure } from './measure.ts'
import type { Upstream } from './rig.ts'
import type { Scenario } from './scenarios.ts'
import type { Target } from './targets.ts'

interface RoundsOptions {
  upstream: Upstream
  targets: readonly Target[]
  scenarios: readonly Scenario[]
  rounds: number
  warmUpMs: number
  measureMs: number
  /** Takes every measurement that counts, and every void one, except those that warm up. */
  onMeasurement: (measurement: Measurement & { round: number }) => void
}

/** Measurements of one scenario, by target. */
export type Round = ReadonlyMap<string, Measurement>

/** The rounds of each scenario in which everyone counted the same; none if all are void. */
export async function runRounds(options: RoundsOptions): Promise<Map<Scenario, Round[]>> {
  const { upstream, targets, scenarios, rounds, warmUpMs, measureMs, onMeasurement } = options
  const kept = new Map<Scenario, Round[]>(scenarios.map((scenario) => [scenario, []]))
  /** Peers that fail in a scenario are left out of it. */
  const failing = new Map<Scenario, Set<Target>>()
  const takesPart = (target: Target, scenario: Scenario) =>
    target.serves?.(scenario) !== false && failing.get(scenario)?.has(target) !== true
  for (let round = 0; round <= rounds; round++) {
    const durationMs = round === 0 ? warmUpMs : measureMs
    const order = round % 2 === 0 ? targets : targets.toReversed()
    for (const [scenario, list] of kept) {
      const measured = new Map<string, Measurement>()
      for (const target of order.filter((one) => takesPart(one, scenario)))
        measured.set(target.name, await measure(target, scenario, { upstream, durationMs }))
      const problem = [...measured.values()].find((one) => one.void !== undefined)
      if (problem !== undefined)
        console.error(`void: ${scenario.name}, round ${round}, ${problem.target}: ${problem.void}`)
      if (round === 0) {
        const failed = targets.filter((one) => one.serves && measured.get(one.name)?.void !== undefined)
        failing.set(scenario, new Set(failed))
        continue
      }
      for (const one of measured.values()) onMeasurement({ ...one, round })
      if (problem === undefined) list.push(measured)
    }
    console.error(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`)
  }
  for (const [{ name }, list] of kept) if (list.length === 0) console.error(`${name}: every round is void`)
  return kept
}
