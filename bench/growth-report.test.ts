import { expect, test } from 'vitest'
import { growthTable } from './growth-report.ts'
import type { GrowthLine } from './raw.ts'

function line(count: number, round: number, cpuMicros: number): GrowthLine {
  return {
    kind: 'growth',
    of: 'routes',
    count,
    round,
    cpuMicros,
    redisMicros: 0,
    p50Micros: 0,
    residentBytes: 0,
  }
}

test('growth is a ratio inside a round: a busy round does not look like growth', () => {
  const lines = [
    line(1, 1, 10),
    line(100, 1, 20),
    line(1, 2, 1_000),
    line(100, 2, 2_000),
    line(1, 3, 5),
    line(100, 3, 10),
  ]
  expect(growthTable(lines)).toMatch(/\| routes \| 100 \| 20\.0 \| 2\.00 \|/)
})

test('of table swaps the median of the rounds counts, without void ones', () => {
  const swap = { kind: 'swap', routes: 1_000, swaps: 4, quietP99Micros: 1_000 } as const
  const lines = [
    { ...swap, round: 1, swappingP99Micros: 2_000 },
    { ...swap, round: 2, swappingP99Micros: 90_000, void: '1 × status 503' },
  ]
  expect(growthTable(lines)).toContain('p99 2.00 ms, 1.00 ms while nothing changes, 2.00 times as much')
})
