import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Sums } from './books.ts'
import { loopDelayOf, measure, median } from './measure.ts'
import { startUpstream, type Upstream } from './rig.ts'
import { SCENARIOS } from './scenarios.ts'
import { startPassthrough, type Target } from './targets.ts'

const [scenario] = SCENARIOS
if (scenario === undefined) throw new Error('no scenarios')

let upstream: Upstream
let floor: Target
beforeAll(async () => {
  upstream = await startUpstream()
  floor = await startPassthrough(upstream)
}, 120_000)
afterAll(async () => {
  await floor?.stop()
  upstream?.stop()
})

test('a measurement is void if the books have not counted its requests', { timeout: 60_000 }, async () => {
  const nothing: Sums = { logged: 0, loggedCost: 0, used: 0, usedCost: 0, spent: 0 }
  const target = { ...floor, books: { read: async () => nothing } }
  const { requests, void: reason } = await measure(target, scenario, { upstream, durationMs: 20 })
  expect(reason).toContain(`logged 0 instead of ${requests}`)
  expect(reason).toContain(`spent 0 instead of ${requests * 46_000}`)
})

test('a measurement is void if the upstream has answered another number of requests', async () => {
  let looks = 0
  const log = async () => ({
    '/other': { begun: 0, finished: 1_000_000 * looks++, broken: 0, events: 0, bytesIn: 0, bytesOut: 0 },
  })
  const measured = await measure(floor, scenario, { upstream: { ...upstream, log }, durationMs: 20 })
  expect(measured.void).toMatch(/^the upstream answered 1000000 of \d+ requests$/)
})

test('a measurement in which all agree counts', async () => {
  const measured = await measure(floor, scenario, { upstream, durationMs: 20 })
  expect(measured.void).toBeUndefined()
  expect(measured.units).toBe(measured.requests)
})

test('the loop delay is that of the metric, in milliseconds', () => {
  expect(loopDelayOf('# TYPE x gauge\nnodejs_eventloop_lag_p99_seconds 0.0225\n')).toBeCloseTo(22.5)
  expect(loopDelayOf('nothing\n')).toBeUndefined()
})

test('a median is a value of the list', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([])).toBeNaN()
})
