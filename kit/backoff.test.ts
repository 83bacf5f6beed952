import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

const RANGE = { firstMs: 50, lastMs: 400 }

test('doubles with each failure up to the last wait', () => {
  expect([0, 1, 2, 3, 4, 10_000].map((failures) => backoffMs(failures, RANGE))).toEqual([
    50, 100, 200, 400, 400, 400,
  ])
})

test.each([
  [0, [100, 100, 100]],
  [0.5, [50, 75, 100]],
  [1, [0, 50, 100]],
])('jitter %d makes that part of the wait random', (jitter, waits) => {
  expect([0, 0.5, 1].map((random) => backoffMs(1, { ...RANGE, jitter }, random))).toEqual(waits)
})
