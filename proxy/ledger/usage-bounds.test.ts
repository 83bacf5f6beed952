import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { totalInput, type Usage, zeroUsage } from '../../contract/usage.ts'
import { boundUsage, MAX_CONTEXT_TOKENS } from './usage-bounds.ts'

const NONE = { contextLength: undefined, outputLimit: undefined }
const usage = (counts: Partial<Usage>): Usage => ({ ...zeroUsage(), ...counts })

describe('what an upstream claims', () => {
  test.each<[string, Partial<Usage>]>([
    ['nothing', {}],
    ['a long prompt', { input: 1_500_000, cachedInput: 500_000, output: 128_000, reasoning: 100_000 }],
    ['the largest answer', { output: MAX_CONTEXT_TOKENS }],
  ])('counts as it is: %s', (_, counts) => {
    expect(boundUsage(usage(counts), NONE)).toEqual({ usage: usage(counts), clamped: false })
  })

  test('is bounded by the context window of the route, or else by two million tokens', () => {
    const absurd = usage({ input: 900_000_000, output: 900_000_000, reasoning: 900_000_000 })
    const most = { input: MAX_CONTEXT_TOKENS, output: MAX_CONTEXT_TOKENS, reasoning: MAX_CONTEXT_TOKENS }
    expect(boundUsage(absurd, NONE)).toEqual({ usage: usage(most), clamped: true })
    const window = { ...NONE, contextLength: 8_000 }
    const bounded = { input: 8_000, output: 8_000, reasoning: 8_000 }
    expect(boundUsage(absurd, window)).toEqual({ usage: usage(bounded), clamped: true })
  })

  test('is bounded by four times the output limit that was sent', () => {
    const limit = { ...NONE, outputLimit: 16 }
    expect(boundUsage(usage({ output: 64 }), limit)).toEqual({ usage: usage({ output: 64 }), clamped: false })
    expect(boundUsage(usage({ output: 65 }), limit)).toEqual({ usage: usage({ output: 64 }), clamped: true })
    expect(boundUsage(usage({ input: 5_000 }), limit).clamped).toBe(false)
  })

  test.each([0, 1, 15])(
    'a limit of %i, which an upstream may have got as 16, bounds it by 64',
    (outputLimit) => {
      const limit = { ...NONE, outputLimit }
      expect(boundUsage(usage({ output: 64 }), limit).clamped).toBe(false)
      expect(boundUsage(usage({ output: 65 }), limit).usage.output).toBe(64)
    },
  )

  test('shares the context window among all kinds of prompt tokens', () => {
    const window = { ...NONE, contextLength: 100 }
    const claimed = usage({ input: 60, cachedInput: 30, cacheWrite: 20, cacheWriteLong: 5 })
    expect(boundUsage(claimed, window)).toEqual({
      usage: usage({ input: 60, cachedInput: 30, cacheWrite: 10, cacheWriteLong: 0 }),
      clamped: true,
    })
  })

  test('never grows, and says so exactly when it shrinks', () => {
    const count = fc.oneof(fc.nat(1_000), fc.nat(1_000_000_000))
    const counts = fc.record({
      input: count,
      cachedInput: count,
      cacheWrite: count,
      cacheWriteLong: count,
      output: count,
      reasoning: count,
      images: fc.nat(9),
    })
    const bound = fc.option(fc.integer({ min: 1, max: 5_000_000 }), { nil: undefined })
    fc.assert(
      fc.property(counts, bound, bound, (claimed, contextLength, outputLimit) => {
        const { usage: bounded, clamped } = boundUsage(claimed, { contextLength, outputLimit })
        expect(totalInput(bounded)).toBe(Math.min(totalInput(claimed), contextLength ?? MAX_CONTEXT_TOKENS))
        expect(bounded.output).toBeLessThanOrEqual(
          Math.min(claimed.output, 4 * Math.max(16, outputLimit ?? Infinity)),
        )
        expect(bounded.images).toBe(claimed.images)
        const less = totalInput(bounded) < totalInput(claimed) || bounded.output < claimed.output
        expect(clamped).toBe(less)
      }),
    )
  })
})
