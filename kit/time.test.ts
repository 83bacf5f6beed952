import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { MAX_TIMER_MS, pause, unlessAborted, withDeadline } from './time.ts'

afterEach(() => {
  vi.useRealTimers()
})

const never = () => new Promise<never>(() => undefined)
const late = () => new Error('late')

/** What a promise has come to by now. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  const pending = Symbol('pending')
  const state = await Promise.race([
    promise.catch((error: unknown) => error),
    Promise.resolve().then(() => Promise.resolve(pending)),
  ])
  return state === pending ? 'pending' : state
}

describe('pause', () => {
  test.each(['resolve', 'reject'] as const)(
    'resolves after its time, where an abort would %s',
    async (onAbort) => {
      vi.useFakeTimers()
      const { signal } = new AbortController()
      const paused = pause(1_000, signal, onAbort)
      await vi.advanceTimersByTimeAsync(999)
      expect(await stateOf(paused)).toBe('pending')
      await vi.advanceTimersByTimeAsync(1)
      expect(await stateOf(paused)).toBeUndefined()
      expect(getEventListeners(signal, 'abort')).toEqual([])
    },
  )

  test.each([
    ['resolve', undefined],
    ['reject', 'the reason'],
  ] as const)('ends at an abort, before or during the wait: %s', async (onAbort, outcome) => {
    vi.useFakeTimers()
    const control = new AbortController()
    const paused = pause(1_000, control.signal, onAbort)
    const state = stateOf(paused)
    control.abort('the reason')
    expect(await state).toBe(outcome)
    expect(await stateOf(pause(1_000, control.signal, onAbort))).toBe(outcome)
    expect(vi.getTimerCount()).toBe(0)
    expect(getEventListeners(control.signal, 'abort')).toEqual([])
  })

  test('waits when the time is longer than a timer takes', async () => {
    vi.useFakeTimers()
    const control = new AbortController()
    const paused = pause(MAX_TIMER_MS * 2, control.signal, 'resolve')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await stateOf(paused)).toBe('pending')
    control.abort()
  })
})

describe('withDeadline', () => {
  test('passes a result or an error on, and leaves no timer', async () => {
    vi.useFakeTimers()
    expect(await withDeadline(Promise.resolve('done'), 1_000, late)).toBe('done')
    await expect(withDeadline(Promise.reject(new Error('failed')), 1_000, late)).rejects.toThrow('failed')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('rejects after its time', async () => {
    vi.useFakeTimers()
    const rejected = expect(withDeadline(never(), 1_000, late)).rejects.toThrow('late')
    await vi.advanceTimersByTimeAsync(1_001)
    await rejected
  })

  test('prefers a result that arrived while the process stood still', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const result = withDeadline(promise, 1, late)
    const end = performance.now() + 20
    setTimeout(() => resolve('done'), 1)
    while (performance.now() < end);
    expect(await result).toBe('done')
  })
})

describe('unlessAborted', () => {
  test('passes a result or an error on, and leaves no listener', async () => {
    const { signal } = new AbortController()
    expect(await unlessAborted(Promise.resolve('done'), signal)).toBe('done')
    await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('rejects with the reason of the signal, before or during the work', async () => {
    const control = new AbortController()
    const result = unlessAborted(never(), control.signal)
    control.abort('the reason')
    await expect(result).rejects.toBe('the reason')
    await expect(unlessAborted(never(), control.signal)).rejects.toBe('the reason')
    expect(getEventListeners(control.signal, 'abort')).toEqual([])
  })
})
