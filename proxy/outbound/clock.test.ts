import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Clock } from './clock.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

function clock(silenceMs: number, totalMs: number) {
  const expired = vi.fn()
  return { expired, clock: new Clock(silenceMs, totalMs, expired) }
}

/** Advances to the last millisecond before and then past it. */
function expectAt(ms: number, expired: ReturnType<typeof vi.fn>, which: string) {
  vi.advanceTimersByTime(ms - 2)
  expect(expired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(3)
  expect(expired).toHaveBeenCalledExactlyOnceWith(which)
  vi.advanceTimersByTime(1_000_000)
  expect(expired).toHaveBeenCalledTimes(1)
}

it('expires after the first silence', () => {
  const { expired } = clock(100, 1_000)
  expectAt(100, expired, 'silence')
})

it('expires after the total, however often silence begins again', () => {
  const { expired, clock: running } = clock(100, 1_000)
  for (let i = 0; i < 9; i++) {
    vi.advanceTimersByTime(90)
    running.silence(100)
  }
  vi.advanceTimersByTime(90)
  running.silence(5_000)
  expectAt(100, expired, 'total')
})

it.each([
  ['longer', 500],
  ['shorter', 20],
])('a %s silence counts from its beginning', (_which, ms) => {
  const { expired, clock: running } = clock(100, 1_000)
  vi.advanceTimersByTime(90)
  running.silence(ms)
  expectAt(ms, expired, 'silence')
})

it('silence without a bound waits for the total alone, until it has a bound again', () => {
  const { expired, clock: running } = clock(100, 1_000)
  running.silence(Infinity)
  vi.advanceTimersByTime(800)
  expect(expired).not.toHaveBeenCalled()
  running.silence(50)
  expectAt(50, expired, 'silence')
})

it('a total beyond the longest timer of Node does not expire at once', () => {
  const { expired, clock: running } = clock(100, 2 ** 40)
  running.silence(Infinity)
  vi.advanceTimersByTime(1_000)
  expect(expired).not.toHaveBeenCalled()
  running.stop()
})

it('a stopped clock holds no timer and starts none', () => {
  const { expired, clock: running } = clock(100, 1_000)
  running.stop()
  running.silence(10)
  expect(vi.getTimerCount()).toBe(0)
  vi.advanceTimersByTime(2_000)
  expect(expired).not.toHaveBeenCalled()
})
