import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RetryBudget } from './retry-budget.ts'

function granted(budget: RetryBudget, wanted: number): number {
  let count = 0
  for (let i = 0; i < wanted; i++) if (budget.takeRetry()) count++
  return count
}

describe('RetryBudget', () => {
  test('always grants a hundred', () => {
    expect(granted(new RetryBudget(() => 0), 500)).toBe(100)
  })

  test('beyond that grants a fifth of the requests', () => {
    const budget = new RetryBudget(() => 0)
    for (let i = 0; i < 1_000; i++) budget.countRequest()
    expect(granted(budget, 1_000)).toBe(200)
  })

  test('counts requests and retries for ten seconds', () => {
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

  test('never grants more than its budget in ten seconds', () => {
    const steps = fc.array(
      fc.record({ wait: fc.integer({ min: 0, max: 12 }), requests: fc.nat(2_000), wanted: fc.nat(400) }),
      { minLength: 1, maxLength: 20 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const clock = { ms: 0 }
        const budget = new RetryBudget(() => clock.ms)
        const log: { at: number; requests: number; retries: number }[] = []
        for (const { wait, requests, wanted } of all) {
          clock.ms += wait * 1_000
          for (let i = 0; i < requests; i++) budget.countRequest()
          log.push({ at: clock.ms, requests, retries: granted(budget, wanted) })
          const window = log.filter((entry) => entry.at > clock.ms - 10_000)
          const sum = (read: (entry: (typeof log)[number]) => number) =>
            window.reduce((total, entry) => total + read(entry), 0)
          const limit = Math.max(100, Math.floor(sum((e) => e.requests) * 0.2))
          // Retries that were granted while the window had more requests stay granted.
          const newest = log.at(-1)?.retries ?? 0
          if (newest > 0) expect(sum((e) => e.retries)).toBeLessThanOrEqual(limit)
          if (newest < wanted) expect(sum((e) => e.retries)).toBeGreaterThanOrEqual(limit)
        }
      }),
    )
  })
})
