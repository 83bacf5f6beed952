import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { watchLoopDelay } from './loop-delay.ts'

const MS = 1_000_000

function watch() {
  const watched = watchLoopDelay()
  onTestFinished(() => watched.stop())
  return watched.delays
}

async function looks(delays: { count: number }, count: number): Promise<void> {
  const from = delays.count
  while (delays.count < from + count) await delay(5)
}

function standStill(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a stand-still is a delay of its length, less the time until the next look', async () => {
  const delays = watch()
  await looks(delays, 1)
  standStill(300)
  await looks(delays, 1)
  expect(delays.max).toBeGreaterThanOrEqual(245 * MS)
})

test('everyone has delays of their own, and resets only these', async () => {
  const [one, other] = [watch(), watch()]
  await looks(one, 2)
  expect(other.count).toBe(one.count)
  one.reset()
  expect([one.count, other.count > 0]).toEqual([0, true])
})

test('a watch that was stopped counts nothing, and others go on', async () => {
  const stopped = watchLoopDelay()
  const other = watch()
  stopped.stop()
  await looks(other, 2)
  expect(stopped.delays.count).toBe(0)
})

test('watching starts again after the last watch was stopped', async () => {
  watchLoopDelay().stop()
  const delays = watch()
  standStill(100)
  await looks(delays, 1)
  expect(delays.max).toBeGreaterThanOrEqual(45 * MS)
})

test('looks that are on time add up to no delay', async () => {
  const delays = watch()
  await looks(delays, 10)
  delays.reset()
  await looks(delays, 3)
  expect(delays.min).toBeLessThan(400 * MS)
})
