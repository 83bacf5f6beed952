import { expect, test } from 'vitest'
import { lossesOf } from './losses.ts'
import type { MeasurementLine, Rung } from './raw.ts'
import { Measured, short } from './report.ts'
import { SCENARIOS } from './scenarios.ts'
import { frontier, sustained } from './yardstick.ts'

const [scenario] = SCENARIOS
if (scenario === undefined) throw new Error('no scenarios')

function line(
  round: number,
  target: string,
  cpuMicros: number,
  rest: Partial<MeasurementLine> = {},
): MeasurementLine {
  const counts = { requests: 1, tokens: 0, units: 1, seconds: 1, latency: null, first: null, gap: null }
  return { kind: 'measurement', scenario: scenario?.name ?? '', ...counts, round, target, cpuMicros, ...rest }
}

test('a ratio is taken inside each round, and the median of the rounds counts', () => {
  const measured = new Measured([
    line(1, 'passthrough', 10),
    line(1, 'gateway', 20, { redisMicros: 5 }),
    // A busy machine.
    line(2, 'passthrough', 100),
    line(2, 'gateway', 200, { redisMicros: 50 }),
    line(3, 'passthrough', 10),
    line(3, 'gateway', 90, { redisMicros: 5 }),
  ])
  expect(measured.ratio(scenario, 'gateway')).toEqual({ own: 2, withRedis: 2.5 })
})

test('a loss is a scenario in which another server costs less than Sluice with its Redis', () => {
  const lines = (peer: number) => [
    line(1, 'direct', 1),
    line(1, 'passthrough', 10),
    line(1, 'Sluice, Redis', 20, { redisMicros: 10 }),
    line(1, 'peer', peer),
  ]
  expect(lossesOf(new Measured(lines(40)))).toBe('Sluice costs less than peer in every scenario.')
  expect(lossesOf(new Measured(lines(25)))).toContain('Sluice, Redis costs 1.2 times peer')
})

test('a round with a void measurement does not count', () => {
  const measured = new Measured([
    line(1, 'passthrough', 10),
    line(1, 'gateway', 20),
    line(2, 'passthrough', 10, { void: 'the upstream answered 1 of 2 requests' }),
    line(2, 'gateway', 900),
    line(3, 'passthrough', 10),
    line(3, 'gateway', 900, { void: 'logged 1 instead of 2' }),
  ])
  expect(measured.ratio(scenario, 'gateway').own).toBe(2)
  expect(measured.voids).toHaveLength(2)
})

const rung = (concurrency: number, perSecond: number, p99Ms: number, rest: Partial<Rung> = {}): Rung => ({
  concurrency,
  perSecond,
  p99Micros: p99Ms * 1_000,
  failures: 0,
  stalled: 0,
  ...rest,
})

test.each([
  [1, 100],
  [5, 400],
  [100, 400],
])('the frontier within %s ms is %s requests a second', (boundMs, expected) => {
  const rungs = [rung(1, 100, 0.5), rung(2, 400, 3), rung(4, 300, 20), rung(8, 900, 2, { failures: 1 })]
  expect(frontier(rungs, boundMs)).toBe(expected)
})

test('no rung within the bound is no request', () => {
  expect(frontier([rung(1, 100, 7)], 5)).toBe(0)
})

test('streams are sustained up to the first rung that lost or delayed a token', () => {
  const good = [rung(32, 1, 1), rung(64, 1, 1)]
  expect(sustained([...good, rung(128, 1, 1, { stalled: 1 }), rung(256, 1, 1)])).toBe(64)
  const stalled = { stalled: 1 }
  expect(sustained([...good, rung(128, 1, 1, stalled), rung(256, 1, 1), rung(512, 1, 1, stalled)])).toBe(64)
  expect(sustained(good)).toBe(64)
  expect(sustained([rung(32, 1, 1, { failures: 1 })])).toBe(0)
})

test.each([
  [0, '0'],
  [0.123, '0.12'],
  [12.34, '12.3'],
  [1_234.5, '1235'],
  [123_456, '123,456'],
  [Number.NaN, '–'],
])('%s is written as %s', (value, text) => {
  expect(short(value)).toBe(text)
})
