import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cost, parseDollars } from '../../contract/money.ts'
import { holdAmount, inputEstimate, inputUpperBound, outputEstimate } from './estimate.ts'
import { anyPrice, testPrice } from './testing.ts'

const TEXT = { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 }

describe('prompt tokens', () => {
  test('the hold assumes two bytes a token and 64 tokens more, the estimate four bytes a token', () => {
    expect(inputUpperBound({ ...TEXT, textBytes: 1_000 })).toBe(564)
    expect(inputEstimate({ ...TEXT, textBytes: 1_000 })).toBe(250)
    expect([inputUpperBound(TEXT), inputEstimate(TEXT)]).toEqual([64, 0])
    expect([inputUpperBound({ ...TEXT, textBytes: 1 }), inputEstimate({ ...TEXT, textBytes: 1 })]).toEqual([
      65, 1,
    ])
  })

  test.each(['images', 'audioBytes', 'fileBytes', 'tools'] as const)(
    '%s have a price of their own',
    (part) => {
      const size = { ...TEXT, [part]: 100_000 }
      expect(inputEstimate(size)).toBeGreaterThan(0)
      expect(inputUpperBound(size)).toBe(inputEstimate(size) + 64)
    },
  )

  test('the hold covers the estimate', () => {
    const size = fc.record({
      textBytes: fc.nat(100_000_000),
      images: fc.nat(1_000),
      audioBytes: fc.nat(100_000_000),
      fileBytes: fc.nat(100_000_000),
      tools: fc.nat(1_000),
    })
    fc.assert(
      fc.property(size, (s) => {
        expect(inputUpperBound(s)).toBeGreaterThan(inputEstimate(s))
      }),
    )
  })
})

test.each([
  ['nothing', { deltas: 0, bytes: 0 }, 0],
  ['at least one per delta', { deltas: 10, bytes: 12 }, 10],
  ['at least one per four bytes', { deltas: 1, bytes: 4_001 }, 1_001],
  ['a fixed number per image', { deltas: 0, bytes: 0, images: 3 }, 6_144],
])('output tokens: %s', (_, delivered, tokens) => {
  expect(outputEstimate(delivered)).toBe(tokens)
})

describe('hold', () => {
  test('covers prompt and output at a plain price', () => {
    // 1,000 at 3 dollars a million and 4,096 at 15.
    expect(
      holdAmount(testPrice({ input: '3', output: '15' }), { inputTokens: 1_000, outputTokens: 4_096 }),
    ).toBe(parseDollars('0.06444'))
  })

  test('assumes a cache write of the whole prompt where that costs more', () => {
    const price = testPrice({ input: '3', cacheWrite: '3.75', cacheWriteLong: '6', output: '15' })
    expect(holdAmount(price, { inputTokens: 1_000_000, outputTokens: 0 })).toBe(parseDollars('6'))
    expect(holdAmount({ ...price, cacheWriteLong: 0 }, { inputTokens: 1_000_000, outputTokens: 0 })).toBe(
      parseDollars('3.75'),
    )
  })

  test('a more expensive tier raises it, a cheaper one does not lower it', () => {
    const price = { ...testPrice({ output: '10' }), multipliers: { fast: 6_000_000_000, flex: 500_000_000 } }
    const hold = (tier: string | undefined) =>
      holdAmount(price, { inputTokens: 0, outputTokens: 1_000_000, tier })
    expect([hold('fast'), hold('flex'), hold(undefined), hold('unheard-of')]).toEqual(
      ['60', '10', '10', '10'].map(parseDollars),
    )
  })

  test('takes the highest price that a prompt of at most this length may have, and of reasoning', () => {
    const base = { ...testPrice({ input: '1', output: '4' }), reasoning: parseDollars('6') }
    const price = { ...base, above: [{ ...testPrice({ input: '2', output: '8' }), tokens: 200_000 }] }
    const hold = (inputTokens: number) => holdAmount(price, { inputTokens, outputTokens: 1_000_000 })
    expect([hold(200_000), hold(200_001)]).toEqual([parseDollars('6.2'), parseDollars('8.400002')])
  })

  test('contains a price per request once', () => {
    expect(holdAmount(testPrice({ perRequest: '0.04' }), { inputTokens: 5_000, outputTokens: 5_000 })).toBe(
      parseDollars('0.04'),
    )
  })

  test('contains a price per image for each image', () => {
    expect(holdAmount(testPrice({ perImage: '0.04' }), { inputTokens: 0, outputTokens: 0, images: 3 })).toBe(
      parseDollars('0.12'),
    )
  })

  test('is never below the cost of the same tokens, whatever part of the prompt the cache served', () => {
    const tokens = fc.nat(10_000_000)
    const prompt = fc.record({
      input: tokens,
      cachedInput: tokens,
      cacheWrite: tokens,
      cacheWriteLong: tokens,
    })
    const tier = fc.constantFrom(undefined, 'priority', 'flex', 'fast', 'other', 'constructor')
    fc.assert(
      fc.property(anyPrice, prompt, tokens, tier, (price, read, output, requestedTier) => {
        const input = read.input + read.cachedInput + read.cacheWrite + read.cacheWriteLong
        const hold = holdAmount(price, { inputTokens: input, outputTokens: output, tier: requestedTier })
        const usage = { ...read, output, reasoning: output, images: 0 }
        expect(Number.isSafeInteger(hold)).toBe(true)
        expect(hold).toBeGreaterThanOrEqual(cost(price, usage, requestedTier))
        // An upstream may serve a requested tier at the normal price.
        expect(hold).toBeGreaterThanOrEqual(cost(price, usage))
      }),
    )
  })

  test.each(['constructor', '__proto__', 'toString'])(
    'a client that requests the tier %s pays the price',
    (tier) => {
      expect(holdAmount(testPrice({ output: '1' }), { inputTokens: 0, outputTokens: 1_000_000, tier })).toBe(
        parseDollars('1'),
      )
    },
  )
})
