import { expect, test } from 'vitest'
import { QuietEvents } from './quiet.ts'

/** Number of admitted events in one second of a flood. */
function flood(quiet: QuietEvents): number {
  let admitted = 0
  while (admitted < 100_000 && quiet.admit()) admitted++
  return admitted
}

test('a thousand in a second, ten thousand in a stream', () => {
  let now = 0
  const quiet = new QuietEvents(() => now)
  const admitted: number[] = []
  for (; now < 20_000; now += 1_000) admitted.push(flood(quiet))
  expect(admitted.slice(0, 8)).toEqual(Array(8).fill(1_000))
  // Refused events count too.
  expect(admitted.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(10_000)
  expect(admitted.at(-1)).toBe(0)
})

test('an upstream that pings for hours is admitted', () => {
  let now = 0
  const quiet = new QuietEvents(() => now)
  for (let i = 0; i < 3_600; i++, now += 1_000) expect(quiet.admit()).toBe(true)
})
