/** Tables and plots of growth: medians over rounds. */
import { median } from './measure.ts'
import { curves } from './plot.ts'
import type { GrowthLine, RawLine } from './raw.ts'
import { linesOf, short, tableOf } from './report.ts'

interface Point {
  count: number
  cpuMicros: number
  /** CPU over that of the first point in the same round. */
  ratio: number
  redisMicros: number
  p50Micros: number
  residentBytes: number
}

function pointsOf(lines: readonly RawLine[]): Map<GrowthLine['of'], Point[]> {
  const good = linesOf(lines, 'growth').filter((line) => line.void === undefined)
  const series = Map.groupBy(good, ({ of }) => of)
  return new Map(
    Array.from(series, ([of, all]) => {
      const counts = Array.from(Map.groupBy(all, ({ count }) => count)).sort(([a], [b]) => a - b)
      const first = new Map(counts[0]?.[1].map(({ round, cpuMicros }) => [round, cpuMicros]))
      const points = counts.map(([count, some]) => {
        const at = (read: (line: GrowthLine) => number) => median(some.map(read))
        return {
          count,
          cpuMicros: at((line) => line.cpuMicros),
          ratio: at(({ round, cpuMicros }) => cpuMicros / (first.get(round) ?? Number.NaN)),
          redisMicros: at((line) => line.redisMicros),
          p50Micros: at((line) => line.p50Micros),
          residentBytes: at((line) => line.residentBytes),
        }
      })
      return [of, points]
    }),
  )
}

export function growthTable(lines: readonly RawLine[]): string {
  const rows = Array.from(pointsOf(lines), ([of, points]) =>
    points.map((point) => [
      of,
      point.count.toLocaleString('en'),
      short(point.cpuMicros),
      point.ratio.toFixed(2),
      short(point.redisMicros),
      short(point.p50Micros / 1_000),
      short(point.residentBytes / 1e6),
    ]),
  ).flat()
  const head = [
    'What grows',
    'count',
    'CPU µs a request',
    'times the first',
    'Redis µs',
    'p50 ms',
    'resident MB',
  ]
  return [tableOf(head, rows), swapNote(lines)].join('\n\n')
}

function swapNote(lines: readonly RawLine[]): string {
  const swaps = linesOf(lines, 'swap').filter((line) => line.void === undefined)
  const [first] = swaps
  if (first === undefined) return 'No round with table swaps counts.'
  const ms = (read: (line: (typeof swaps)[number]) => number) => short(median(swaps.map(read)) / 1_000)
  const ratio = median(swaps.map((line) => line.swappingP99Micros / line.quietP99Micros))
  return (
    `A table of ${first.routes.toLocaleString('en')} routes is replaced ${short(median(swaps.map((line) => line.swaps)))} times ` +
    `within the seconds of a measurement: p99 ${ms((line) => line.swappingP99Micros)} ms, ` +
    `${ms((line) => line.quietP99Micros)} ms while nothing changes, ${ratio.toFixed(2)} times as much.`
  )
}

export function growthPlot(lines: readonly RawLine[]): string {
  return curves(
    'CPU of the proxy for a request, by what it knows',
    { x: 'count', y: 'µs' },
    Array.from(pointsOf(lines), ([name, points]) => ({
      name,
      points: points.map(({ count, cpuMicros }) => ({ x: count, y: cpuMicros })),
    })),
  )
}
