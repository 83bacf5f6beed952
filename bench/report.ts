/** Markdown tables of raw lines. Every figure is a median over rounds; comparisons are made inside a round. */
import { median } from './measure.ts'
import { RECOVERY_MS } from './memory.ts'
import type { MeasurementLine, RawLine, RunLine, YardstickLine } from './raw.ts'
import { SCENARIOS, type Scenario, tokensOf, unitOf } from './scenarios.ts'
import { frontier, sustained } from './yardstick.ts'

export const FLOOR = 'passthrough'
const DIRECT = 'direct'
/** Columns of tables; peers follow. */
const ORDER = [DIRECT, FLOOR, 'nginx', 'Sluice, embedded', 'Sluice, Redis']
export const BOUNDS_MS = [1, 5, 10, 50, 100]

export function linesOf<K extends RawLine['kind']>(lines: readonly RawLine[], kind: K) {
  return lines.filter((line): line is Extract<RawLine, { kind: K }> => line.kind === kind)
}

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const aligns = head.map((_, i) => (i === 0 ? '---' : '--:'))
  return [head, aligns, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

const ABSENT = '–'

/** Three significant digits, without an exponent. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return ABSENT
  if (value === 0) return '0'
  const digits = Math.floor(Math.log10(Math.abs(value)))
  return value
    .toFixed(Math.min(2, Math.max(0, 2 - digits)))
    .replace(/\B(?=(\d{3})+$)/g, digits > 3 ? ',' : '')
}

/** The measurements of a scenario by round and server, without rounds in which one is void. */
export class Measured {
  readonly targets: string[]
  readonly #rounds = new Map<string, Map<number, Map<string, MeasurementLine>>>()
  readonly voids: MeasurementLine[]

  constructor(lines: readonly RawLine[]) {
    const all = linesOf(lines, 'measurement')
    const found = new Set(all.map(({ target }) => target))
    // Rounds alternate their order.
    this.targets = [...ORDER.filter((name) => found.delete(name)), ...found]
    this.voids = all.filter((line) => line.void !== undefined)
    for (const line of all) {
      const rounds = this.#rounds.get(line.scenario) ?? new Map<number, Map<string, MeasurementLine>>()
      this.#rounds.set(line.scenario, rounds)
      rounds.set(line.round, (rounds.get(line.round) ?? new Map()).set(line.target, line))
    }
    for (const line of this.voids) this.#rounds.get(line.scenario)?.delete(line.round)
  }

  scenarios(): Scenario[] {
    return SCENARIOS.filter(({ name }) => (this.#rounds.get(name)?.size ?? 0) > 0)
  }

  /** Median of what `read` makes of a server's measurement and that of another one in the same round; NaN without any. */
  of(
    scenario: Scenario,
    target: string,
    beside: string,
    read: (line: MeasurementLine, other: MeasurementLine) => number,
  ): number {
    const rounds = [...(this.#rounds.get(scenario.name)?.values() ?? [])]
    const values = rounds.flatMap((round) => {
      const [line, other] = [round.get(target), round.get(beside)]
      return line === undefined || other === undefined ? [] : [read(line, other)]
    })
    return median(values.filter((value) => !Number.isNaN(value)))
  }

  /** CPU over that of the passthrough; with that of Redis, if it has one. */
  ratio(scenario: Scenario, target: string): { own: number; withRedis: number } {
    return {
      own: this.of(scenario, target, FLOOR, (a, b) => a.cpuMicros / b.cpuMicros),
      withRedis: this.of(
        scenario,
        target,
        FLOOR,
        (a, b) => (a.cpuMicros + (a.redisMicros ?? 0)) / b.cpuMicros,
      ),
    }
  }
}

function cpuTable(measured: Measured): string {
  const rows = measured.scenarios().map((scenario) => [
    `${scenario.name}, per ${unitOf(scenario)}`,
    ...measured.targets.map((target) => {
      const micros = short(measured.of(scenario, target, target, (a) => a.cpuMicros))
      if (target === DIRECT || micros === ABSENT) return micros
      const { own } = measured.ratio(scenario, target)
      const redis = measured.of(
        scenario,
        target,
        FLOOR,
        (a, b) => (a.redisMicros ?? Number.NaN) / b.cpuMicros,
      )
      const more = Number.isNaN(redis) ? '' : ` + ${redis.toFixed(2)}`
      return `${micros} (${own.toFixed(2)}${more})`
    }),
  ])
  return tableOf(['CPU µs (times the passthrough)', ...measured.targets], rows)
}

function addedTable(measured: Measured): string {
  const targets = measured.targets.filter((target) => target !== DIRECT)
  const rows = measured.scenarios().map((scenario) => {
    const of = (line: MeasurementLine) => (tokensOf(scenario) === 0 ? line.latency : line.first)
    const added = (target: string, p: 'p50' | 'p90' | 'p99') =>
      short(
        measured.of(scenario, target, DIRECT, (a, b) => ((of(a)?.[p] ?? NaN) - (of(b)?.[p] ?? NaN)) / 1_000),
      )
    return [
      scenario.name,
      ...targets.map((target) => {
        const all = (['p50', 'p90', 'p99'] as const).map((p) => added(target, p))
        return all.includes(ABSENT) ? ABSENT : all.join(' / ')
      }),
    ]
  })
  return tableOf(['Added ms, p50 / p90 / p99', ...targets], rows)
}

function throughputTable(measured: Measured): string {
  const saturating = measured
    .scenarios()
    .filter(({ rate, clients, answer }) => rate === undefined && clients > 1 && !/x[1-9]/.test(answer))
  const rows = saturating.map((scenario) => [
    `${scenario.name}, ${unitOf(scenario)}s`,
    ...measured.targets.map((target) =>
      short(measured.of(scenario, target, target, (a) => a.units / a.seconds)),
    ),
  ])
  return tableOf(['Per second', ...measured.targets], rows)
}

function delayTable(measured: Measured): string {
  const known = (target: string) =>
    measured.scenarios().some((scenario) => !Number.isNaN(delay(measured, scenario, target)))
  const targets = measured.targets.filter(known)
  if (targets.length === 0) return ''
  const rows = measured
    .scenarios()
    .map((scenario) => [scenario.name, ...targets.map((target) => short(delay(measured, scenario, target)))])
  return tableOf(['Event loop delay, p99 ms', ...targets], rows)
}

const delay = (measured: Measured, scenario: Scenario, target: string) =>
  measured.of(scenario, target, target, (a) => a.loopDelayMs ?? Number.NaN)

function memoryTable(lines: readonly RawLine[]): string {
  const all = linesOf(lines, 'memory')
  const mb = (bytes: number) => short(bytes / 1e6)
  const counts = [...new Set(all.flatMap(({ streams }) => streams.map(({ count }) => count)))]
  const rows = all.map((line) => [
    line.target,
    mb(line.idle),
    ...counts.map((count) => {
      const bytes = line.streams.find((one) => one.count === count)?.bytes
      return bytes === undefined ? 'failed' : `${mb(bytes)} (${short((bytes - line.idle) / count / 1e3)})`
    }),
    mb(line.plateau),
    mb(line.growthPerMinute),
    mb(line.recovered),
  ])
  const minutes = (all[0]?.loadSeconds ?? 0) / 60
  const head = ['Resident MB', 'idle', ...counts.map((count) => `${short(count)} streams (kB a stream)`)]
  head.push(`after ${short(minutes)} min of load`, 'growth a minute', `${RECOVERY_MS / 1_000} s after it`)
  return tableOf(head, rows)
}

/** The same figures as in the table of onthebench.ai. */
export function yardstickTable(lines: readonly YardstickLine[], machine: string): string {
  const targets = [...new Set(lines.map(({ target }) => target))]
  const rows = targets.flatMap((target) => {
    const path = (name: YardstickLine['path']) =>
      lines.find((line) => line.target === target && line.path === name)
    const [bytes, translated] = [path('passthrough'), path('translated')]
    if (bytes === undefined) return []
    const best = (one: YardstickLine | undefined, bound: number) =>
      one === undefined || one.rungs.length === 0 ? '–' : short(frontier(one.rungs, bound))
    return [
      [
        target,
        machine,
        String(bytes.cores),
        short(bytes.addedP99Micros),
        BOUNDS_MS.map((bound) => best(bytes, bound)).join(' / '),
        short(bytes.addedFirstTokenMicros ?? Number.NaN),
        `${short(bytes.addedGapP50Micros ?? Number.NaN)} / ${short(bytes.addedGapP99Micros ?? Number.NaN)}`,
        bytes.streams === undefined ? '–' : short(sustained(bytes.streams)),
        translated === undefined ? '–' : short(translated.addedP99Micros),
        BOUNDS_MS.map((bound) => best(translated, bound)).join(' / '),
      ],
    ]
  })
  const head = [
    'Server',
    'machine',
    'cores',
    'added p99 µs',
    'requests/s with p99 within 1 / 5 / 10 / 50 / 100 ms',
  ]
  head.push('added first token µs', 'added per token µs, p50 / p99', 'streams', 'translated: added p99 µs')
  head.push('translated: requests/s within the same')
  return tableOf(head, rows)
}

export function describe(run: RunLine): string {
  return (
    `Machine: ${run.cores} × ${run.cpu}, ${run.memoryGB} GB, Linux ${run.kernel}; load average before the run ` +
    `${run.loadAverage}. Node ${run.node}, Redis ${run.redis}, nginx ${run.nginx}, Go ${run.go}. ` +
    `Commit ${run.commit}, ${run.at.slice(0, 10)}.`
  )
}

/** Sections of a document, by name; absent where the lines have nothing for one. */
export function sectionsOf(lines: readonly RawLine[]): Map<string, string> {
  const measured = new Measured(lines)
  const [run] = linesOf(lines, 'run')
  const yardsticks = linesOf(lines, 'yardstick')
  const isMeasured = measured.scenarios().length > 0
  const sections: [string, string][] = [
    ['machine', run === undefined ? '' : describe(run)],
    ['cpu', isMeasured ? cpuTable(measured) : ''],
    ['added', isMeasured && measured.targets.includes(DIRECT) ? addedTable(measured) : ''],
    ['throughput', isMeasured ? throughputTable(measured) : ''],
    ['delay', isMeasured ? delayTable(measured) : ''],
    ['void', voidNote(measured)],
    ['memory', linesOf(lines, 'memory').length > 0 ? memoryTable(lines) : ''],
    ['yardstick', yardsticks.length > 0 ? yardstickTable(yardsticks, 'this one') : ''],
  ]
  return new Map(sections.filter(([, text]) => text !== ''))
}

function voidNote({ voids }: Measured): string {
  if (voids.length === 0) return 'No round was void.'
  return `Void measurements: ${voids.length}. Their rounds do not count; the raw lines say why.`
}

export function tablesOf(lines: readonly RawLine[]): string {
  return [...sectionsOf(lines).values()].join('\n\n')
}
