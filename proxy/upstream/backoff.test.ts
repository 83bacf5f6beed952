import { describe, expect, test } from 'vitest'
import { retryDelay } from './backoff.ts'

describe('retryDelay', () => {
  test.each([
    [1, 50],
    [2, 100],
    [3, 200],
    [4, 400],
    [5, 400],
  ])('retry %i waits below %i ms', (retry, ceiling) => {
    expect(retryDelay(retry, undefined, 0)).toBe(0)
    expect(retryDelay(retry, undefined, 0.5)).toBe(ceiling / 2)
    expect(retryDelay(retry, undefined, 0.999)).toBeLessThan(ceiling)
  })

  test('waits for a short Retry-After, not for a long one', () => {
    expect(retryDelay(1, 0, 0.9)).toBe(0)
    expect(retryDelay(1, 2, 0.9)).toBe(2_000)
    expect(retryDelay(3, 5, 0.9)).toBe(5_000)
    expect(retryDelay(1, 5.1, 0.9)).toBeUndefined()
  })
})
