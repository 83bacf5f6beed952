import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RetryBudget } from './retry-budget.ts'

function granted(budget: RetryBudget, asked: number): number {
  let count = 0
  for (let i = 0; i < asked; i++) if (budget.takeRetry()) count++
  return count
}

describe('RetryBudget', () => {
  test('a hundred are free', () => {
    expect(granted(new RetryBudget(() => 0), 500)).toBe(100)
  })

  test('beyond that a fifth of the requests', () => {
    const budget = new RetryBudget(() => 0)
    for (let i = 0; i < 1_000; i++) budget.countRequest()
    expect(granted(budget, 1_000)).toBe(200)
  })

  test('requests and retries count for ten seconds', () => {
    const clock = { ms: 0 }
    const budget = new RetryBudget(() => clock.ms)
    for (let i = 0; i < 1_000; i++) budget.countRequest()
    clock.ms = 5_000
    expect(granted(budget, 1_000)).toBe(200)
    clock.ms = 9_999
    expect(granted(budget, 1)).toBe(0)
    clock.ms = 14_999
    expect(granted(budget, 1)).toBe(0)
    clock.ms = 15_000
    expect(granted(budget, 1_000)).toBe(100)
  })

  test('no window of ten seconds ever has more than its budget', () => {
    const steps = fc.array(
      fc.record({ wait: fc.integer({ min: 0, max: 12 }), requests: fc.nat(2_000), asked: fc.nat(400) }),
      { minLength: 1, maxLength: 20 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const clock = { ms: 0 }
        const budget = new RetryBudget(() => clock.ms)
        const log: { at: number; requests: number; retries: number }[] = []
        for (const { wait, requests, asked } of all) {
          clock.ms += wait * 1_000
          for (let i = 0; i < requests; i++) budget.countRequest()
          log.push({ at: clock.ms, requests, retries: granted(budget, asked) })
          const window = log.filter((entry) => entry.at > clock.ms - 10_000)
          const sum = (read: (entry: (typeof log)[number]) => number) =>
            window.reduce((total, entry) => total + read(entry), 0)
          const limit = Math.max(100, Math.floor(sum((e) => e.requests) * 0.2))
          // Retries granted while more requests were in the window stay granted.
          const newest = log.at(-1)?.retries ?? 0
          if (newest > 0) expect(sum((e) => e.retries)).toBeLessThanOrEqual(limit)
          if (newest < asked) expect(sum((e) => e.retries)).toBeGreaterThanOrEqual(limit)
        }
      }),
    )
  })
})
