import { expect, test } from 'vitest'
import type { Measurement } from './measure.ts'
import { SCENARIOS } from './scenarios.ts'
import { type Round, report } from './verdict.ts'

const [scenario] = SCENARIOS
if (scenario === undefined) throw new Error('no scenarios')

function round(base: Partial<Measurement>, head: Partial<Measurement>): Round {
  const usual = { cpuMicrosPerUnit: 100, p50Ms: 1, p99Ms: 2, requests: 10 }
  return { base: { ...usual, ...base }, head: { ...usual, ...head } }
}

const worse = (...rounds: Round[]) => report(new Map([[scenario, rounds]])).worse

test('the median of the rounds decides, not a single slow one', () => {
  const slow = round({}, { cpuMicrosPerUnit: 300 })
  expect(worse(round({}, {}), slow, round({}, {}))).toEqual([])
  expect(worse(slow, slow, round({}, {}))).toEqual([`${scenario.name}: CPU 3.00`])
})

test('a round is compared inside itself: a busy machine slows both', () => {
  const busy = round({ cpuMicrosPerUnit: 300, p50Ms: 9 }, { cpuMicrosPerUnit: 300, p50Ms: 9 })
  expect(worse(busy, round({}, {}), busy)).toEqual([])
})

test.each([
  [1.14, []],
  [1.16, [`${scenario.name}: p50 1.16`]],
])('a median latency %s times as long', (factor, expected) => {
  expect(worse(round({}, { p50Ms: factor }))).toEqual(expected)
})
