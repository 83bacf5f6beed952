import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Breaker } from './breaker.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => vi.useRealTimers())

/** A probe answers after `lateMs`, or finds out by then that the server does not. */
function setUp({ lateMs = 250, answers = true } = {}) {
  const server = { answers, probes: 0 }
  const closed = vi.fn()
  const breaker = new Breaker(closed)
  const probe = async () => {
    server.probes++
    await new Promise((resolve) => setTimeout(resolve, lateMs))
    return server.answers
  }
  const timeOut = (times: number) => Array.from({ length: times }, () => breaker.timedOut(probe))
  return { server, closed, breaker, timeOut }
}

test('the fifth time-out within two seconds opens it, and says so once', () => {
  const { breaker, timeOut } = setUp()
  expect(timeOut(4)).toEqual([false, false, false, false])
  expect(breaker.isOpen).toBe(false)
  expect(timeOut(3)).toEqual([true, false, false])
  expect(breaker.isOpen).toBe(true)
})

test('five time-outs over more than two seconds do not open it', () => {
  const { breaker, timeOut } = setUp()
  timeOut(1)
  vi.advanceTimersByTime(2_001)
  timeOut(4)
  expect(breaker.isOpen).toBe(false)
})

test('a server that answers again is used at once', async () => {
  const { server, closed, breaker, timeOut } = setUp({ lateMs: 1 })
  timeOut(64)
  await vi.advanceTimersByTimeAsync(10)
  expect([breaker.isOpen, server.probes, closed.mock.calls.length]).toEqual([false, 1, 1])
  await vi.advanceTimersByTimeAsync(60_000)
  expect([server.probes, closed.mock.calls.length]).toEqual([1, 1])
})

test('a server that stays away is probed less and less often, at last about once a second', async () => {
  const { server, closed, breaker, timeOut } = setUp({ answers: false })
  timeOut(5)
  const probesIn = async (ms: number) => {
    const before = server.probes
    await vi.advanceTimersByTimeAsync(ms)
    return server.probes - before
  }
  expect(await probesIn(600)).toBe(2)
  expect(await probesIn(3_000)).toBeLessThanOrEqual(4)
  // Each takes a quarter of a second to fail.
  expect(await probesIn(12_500)).toBe(10)
  expect(breaker.isOpen).toBe(true)
  server.answers = true
  await vi.advanceTimersByTimeAsync(1_250)
  expect([breaker.isOpen, closed.mock.calls.length]).toEqual([false, 1])
})

test('a reset while a probe is on its way is not undone by its failure', async () => {
  const { server, closed, breaker, timeOut } = setUp({ answers: false })
  timeOut(5)
  await vi.advanceTimersByTimeAsync(100)
  breaker.reset()
  await vi.advanceTimersByTimeAsync(10_000)
  expect([breaker.isOpen, server.probes, closed.mock.calls.length]).toEqual([false, 1, 0])
  expect(timeOut(5).at(-1)).toBe(true)
})
