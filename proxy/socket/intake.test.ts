import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Intake, IntakePool } from './intake.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function intake(pool = new IntakePool(1_000_000)) {
  const state = { read: 500, isPaused: false }
  const onTimeout = vi.fn()
  const cutOff = vi.fn()
  const one = new Intake(pool, {
    messageMs: 100,
    bytesRead: () => state.read,
    isPaused: () => state.isPaused,
    onTimeout,
    cutOff,
  })
  const come = (bytes: number) => {
    state.read += bytes
    one.onBytes()
  }
  return { one, state, onTimeout, cutOff, come, pool }
}

test('bytes since the last message are held, except a few', () => {
  const { one, come, pool } = intake()
  come(4_096)
  expect(pool.used).toBe(0)
  come(1)
  expect(pool.used).toBe(4_097)
  one.queue(1_000)
  expect(pool.used).toBe(5_097)
  one.message()
  expect(pool.used).toBe(1_000)
  one.end()
  come(10_000)
  one.queue(5_000)
  expect(pool.used).toBe(0)
})

test('control frames start no message, but their bytes count as held', () => {
  const { one, come, onTimeout, pool } = intake()
  for (let n = 0; n < 100; n++) {
    one.control(0)
    come(125 + 6)
    one.control(125)
    one.onBytes()
  }
  expect(pool.used).toBe(100 * (125 + 6))
  vi.advanceTimersByTime(1_000)
  expect(onTimeout).not.toHaveBeenCalled()
  one.message()
  expect(pool.used).toBe(0)
})

test('the time of a message runs from its first byte, whatever follows', () => {
  const { come, onTimeout } = intake()
  come(5_000)
  vi.advanceTimersByTime(60)
  come(5_000)
  vi.advanceTimersByTime(39)
  expect(onTimeout).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(onTimeout).toHaveBeenCalledTimes(1)
})

test('a complete message stops the time, and the next one restarts it', () => {
  const { one, come, onTimeout } = intake()
  come(5_000)
  vi.advanceTimersByTime(90)
  one.message()
  come(5_000)
  vi.advanceTimersByTime(90)
  expect(onTimeout).not.toHaveBeenCalled()
  vi.advanceTimersByTime(10)
  expect(onTimeout).toHaveBeenCalledTimes(1)
})

test('a client that the gateway does not read gets more time', () => {
  const { state, come, onTimeout } = intake()
  come(5_000)
  state.isPaused = true
  vi.advanceTimersByTime(150)
  expect(onTimeout).not.toHaveBeenCalled()
  state.isPaused = false
  vi.advanceTimersByTime(50)
  expect(onTimeout).toHaveBeenCalledTimes(1)
})

test('the connection that holds most is cut off and then holds nothing', () => {
  const pool = new IntakePool(30_000)
  const [a, b, c] = [intake(pool), intake(pool), intake(pool)]
  a.come(10_000)
  b.come(15_000)
  c.come(5_000)
  expect(b.cutOff).not.toHaveBeenCalled()
  c.come(1)
  expect([a, b, c].map(({ cutOff }) => cutOff.mock.calls.length)).toEqual([0, 1, 0])
  expect(pool.used).toBe(15_001)
})
