import { expect, test } from 'vitest'
import type { Measurement } from './measure.ts'
import type { Round } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import { report } from './verdict.ts'

const [scenario] = SCENARIOS
if (scenario === undefined) throw new Error('no scenarios')

interface Side {
  cpuMicros?: number
  p50?: number
}

function side(target: string, { cpuMicros = 100, p50 = 1_000 }: Side): [string, Measurement] {
  const latency = { count: 10, mean: p50, p50, p90: p50, p99: p50, p999: p50, max: p50 }
  const counts = { requests: 10, tokens: 0, seconds: 1, failures: {}, failure: '', stalled: 0, units: 10 }
  return [target, { ...counts, target, scenario: 'any', latency, first: null, gap: null, cpuMicros }]
}

const round = (base: Side, head: Side): Round => new Map([side('base', base), side('head', head)])

const worse = (...rounds: Round[]) => report(new Map([[scenario, rounds]])).worse

test('the median of the rounds decides, not a single slow one', () => {
  const slow = round({}, { cpuMicros: 300 })
  expect(worse(round({}, {}), slow, round({}, {}))).toEqual([])
  expect(worse(slow, slow, round({}, {}))).toEqual([`${scenario.name}: CPU 3.00`])
})

test('a round is compared inside itself: a busy machine slows both', () => {
  const busy = round({ cpuMicros: 300, p50: 9_000 }, { cpuMicros: 300, p50: 9_000 })
  expect(worse(busy, round({}, {}), busy)).toEqual([])
})

test('a scenario without a round that counts fails the check', () => {
  expect(worse()).toEqual([`${scenario.name}: every round is void`])
})

test.each([
  [1.14, []],
  [1.16, [`${scenario.name}: p50 1.16`]],
])('a median latency %s times as long', (factor, expected) => {
  expect(worse(round({}, { p50: factor * 1_000 }))).toEqual(expected)
})
