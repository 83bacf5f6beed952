import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type LoadLimits, Overload } from './overload.ts'

/** The delay of the event loop in nanoseconds, and the number of resets. */
const loop = vi.hoisted(() => ({ p99: 0, resets: 0, watched: 0 }))
vi.mock('../../kit/loop-delay.ts', () => ({
  watchLoopDelay: () => {
    loop.watched += 1
    return {
      delays: {
        percentile: (percent: number) => (percent === 99 ? loop.p99 : 0),
        reset: () => {
          loop.resets += 1
        },
      },
      stop: () => {
        loop.watched -= 1
      },
    }
  },
}))

const MS = 1_000_000

beforeEach(() => {
  Object.assign(loop, { p99: 0, resets: 0, watched: 0 })
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => void vi.useRealTimers())

const LIMITS = { maxInFlight: 10, maxInFlightPerClient: 0, maxLoopDelayMs: 500, maxMemoryBytes: Infinity }

function overloadOf(limits: Partial<LoadLimits> = {}): Overload {
  const overload = new Overload({ ...LIMITS, ...limits })
  onTestFinished(() => overload.stop())
  return overload
}

function sheds(overload: Overload): boolean {
  const problem = overload.problem()
  if (problem === undefined) return false
  expect(problem).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 1 })
  return true
}

test('new work is refused at the limit, and accepted again below it', () => {
  const overload = overloadOf({ maxInFlight: 2 })
  const seen: boolean[] = []
  for (const inFlight of [0, 1, 2, 3, 1]) {
    overload.inFlight = inFlight
    seen.push(sheds(overload))
  }
  expect(seen).toEqual([false, false, true, true, false])
})

test('new work is refused when the loop is late by more than half a second for two seconds', () => {
  const overload = overloadOf()
  loop.p99 = 501 * MS
  vi.advanceTimersByTime(1_999)
  expect(sheds(overload)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(sheds(overload)).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(sheds(overload)).toBe(true)
})

test('one good sample ends the refusals and restarts the two seconds', () => {
  const overload = overloadOf()
  loop.p99 = 900 * MS
  vi.advanceTimersByTime(2_000)
  loop.p99 = 500 * MS
  vi.advanceTimersByTime(500)
  expect(sheds(overload)).toBe(false)
  loop.p99 = 900 * MS
  vi.advanceTimersByTime(1_999)
  expect(sheds(overload)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(sheds(overload)).toBe(true)
})

test('the longest acceptable delay is a setting', () => {
  const overload = overloadOf({ maxLoopDelayMs: 50 })
  loop.p99 = 51 * MS
  vi.advanceTimersByTime(2_000)
  expect(sheds(overload)).toBe(true)
})

test('a process with too much memory serves few requests at a time until it uses less', () => {
  const usage = { rss: 1_001, heapTotal: 0, heapUsed: 300, external: 201, arrayBuffers: 0 }
  const memory = vi.spyOn(process, 'memoryUsage').mockImplementation(() => usage)
  onTestFinished(() => memory.mockRestore())
  const overload = overloadOf({ maxMemoryBytes: 1_000 })
  vi.advanceTimersByTime(500)
  const leave = Array.from({ length: 8 }, () => overload.enter(() => '192.0.2.1'))
  expect(sheds(overload)).toBe(true)
  leave[0]?.()
  expect(sheds(overload)).toBe(false)
  overload.enter(() => '192.0.2.1')
  // Free memory that the allocator keeps is not load.
  usage.external = 200
  vi.advanceTimersByTime(500)
  expect(sheds(overload)).toBe(false)
  Object.assign(usage, { rss: 1_000, heapUsed: 900 })
  vi.advanceTimersByTime(500)
  expect(sheds(overload)).toBe(false)
})

test('the requests of one client are bounded, and count towards the total', () => {
  const overload = overloadOf({ maxInFlight: 3, maxInFlightPerClient: 1 })
  const leave = overload.enter(() => '192.0.2.1')
  expect(() => overload.enter(() => '192.0.2.1')).toThrow(
    expect.objectContaining({ code: 'rate_limit_exceeded' }),
  )
  expect(overload.inFlight).toBe(1)
  leave()
  expect(overload.inFlight).toBe(0)
  for (const last of [1, 2, 3]) overload.enter(() => `192.0.2.${last}`)
  expect(() => overload.enter(() => '192.0.2.4')).toThrow(expect.objectContaining({ code: 'overloaded' }))
})

test('each sample covers only its own interval', () => {
  overloadOf()
  vi.advanceTimersByTime(2_000)
  expect(loop.resets).toBe(4)
})

test('a stopped monitor takes no samples', () => {
  const overload = new Overload(LIMITS)
  expect(loop.watched).toBe(1)
  overload.stop()
  expect([loop.watched, vi.getTimerCount()]).toEqual([0, 0])
})
