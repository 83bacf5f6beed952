import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDollars } from '../../contract/money.ts'
import { zeroUsage } from '../../contract/usage.ts'
import { billOf, type Served } from './bill.ts'
import { anyPrice, testPrice } from './testing.ts'

const PRICE = testPrice({ input: '2', cachedInput: '0.5', output: '10', perRequest: '0.001' })

function served(changes: Partial<Served> = {}): Served {
  return {
    usage: undefined,
    delivered: { deltas: 0, bytes: 0 },
    prompt: { textBytes: 4_000, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    ended: false,
    learned: { ratio: 1, hidden: 0, thinkingMs: 0 },
    requestedTier: undefined,
    servedTier: undefined,
    bounds: { contextLength: undefined, outputLimit: undefined },
    ...changes,
  }
}

describe('the bill', () => {
  test('charges the usage that the upstream reports, each kind at its price', () => {
    const usage = { ...zeroUsage(), input: 1_000, cachedInput: 2_000, output: 300, reasoning: 200 }
    const bill = billOf(
      PRICE,
      served({
        usage,
        delivered: { deltas: 999, bytes: 9_999 },
        learned: { ratio: 2, hidden: 9, thinkingMs: 9 },
      }),
    )
    expect(bill).toEqual({ actual: parseDollars('0.007'), usage, reason: 'usage', tier: '', clamped: false })
  })

  test('charges what is possible when the upstream claims more, and says so', () => {
    const usage = { ...zeroUsage(), input: 1_000, output: 900_000_000 }
    const bill = billOf(PRICE, served({ usage, bounds: { contextLength: undefined, outputLimit: 16 } }))
    // 0.001 for the request, 1,000 tokens of the prompt, four times sixteen of the answer.
    expect(bill).toEqual({
      actual: parseDollars('0.00364'),
      usage: { ...usage, output: 64 },
      reason: 'usage',
      tier: '',
      clamped: true,
    })
  })

  test('takes a reported zero at its word', () => {
    const bill = billOf(PRICE, served({ usage: zeroUsage(), delivered: { deltas: 7, bytes: 70 } }))
    expect(bill).toEqual({
      actual: parseDollars('0.001'),
      usage: zeroUsage(),
      reason: 'usage',
      tier: '',
      clamped: false,
    })
    const free = billOf(testPrice({ input: '2', output: '10' }), served({ usage: zeroUsage() }))
    expect(free.actual).toBe(0)
  })

  test('for a cut stream charges the prompt and the delivered output, corrected by what was learned', () => {
    const learned = { ratio: 1.5, hidden: 1_000, thinkingMs: 9 }
    const bill = billOf(PRICE, served({ delivered: { deltas: 10, bytes: 402 }, learned }))
    // 1,000 prompt tokens; 101 tokens of output times 1.5, and 1,000 of hidden reasoning, rounded up.
    expect(bill.usage).toEqual({ ...zeroUsage(), input: 1_000, output: 1_152 })
    expect([bill.actual, bill.reason]).toEqual([parseDollars('0.01452'), 'estimate'])
  })

  test('charges unreported images at the price of each and as tokens', () => {
    const price = testPrice({ input: '2', output: '10', perImage: '0.04' })
    const bill = billOf(price, served({ delivered: { deltas: 0, bytes: 0, images: 2 } }))
    // 1,000 prompt tokens, 2,048 per image.
    expect(bill).toEqual({
      actual: parseDollars('0.12296'),
      usage: { ...zeroUsage(), input: 1_000, output: 4_096, images: 2 },
      reason: 'estimate',
      tier: '',
      clamped: false,
    })
  })

  test('counts a single delta as delivered output, however short', () => {
    expect(billOf(PRICE, served({ delivered: { deltas: 1, bytes: 0 } })).usage.output).toBe(1)
  })

  test('charges the prompt alone if nothing was delivered', () => {
    const bill = billOf(PRICE, served({ learned: { ratio: 2, hidden: 500, thinkingMs: 9 } }))
    expect(bill).toEqual({
      actual: parseDollars('0.003'),
      usage: { ...zeroUsage(), input: 1_000 },
      reason: 'input_only',
      tier: '',
      clamped: false,
    })
  })

  test('charges the learned reasoning of an answer that ended without a visible word', () => {
    const bill = billOf(PRICE, served({ ended: true, learned: { ratio: 2, hidden: 500, thinkingMs: 9 } }))
    expect([bill.usage.output, bill.reason]).toEqual([500, 'estimate'])
  })

  test('charges part of the learned reasoning when a stream is left before its first word', () => {
    const learned = { ratio: 2, hidden: 500, thinkingMs: 1_000 }
    const bill = billOf(PRICE, served({ thinkingMs: 200, learned }))
    expect([bill.usage.output, bill.reason]).toEqual([100, 'estimate'])
  })

  test('without a price charges nothing and still reports the usage', () => {
    const usage = { ...zeroUsage(), input: 5, output: 5 }
    expect(billOf(undefined, served({ usage }))).toEqual({
      actual: 0,
      usage,
      reason: 'usage',
      tier: '',
      clamped: false,
    })
    expect(billOf(undefined, served())).toMatchObject({ actual: 0, reason: 'input_only' })
  })
})

describe('tiers', () => {
  const price = {
    ...testPrice({ output: '1' }),
    multipliers: { priority: 2_000_000_000, fast: 6_000_000_000, flex: 500_000_000 },
  }
  const usage = { ...zeroUsage(), output: 1_000_000 }

  test.each([
    ['none', undefined, undefined, '1'],
    ['requested, and the upstream reports none', 'priority', undefined, '2'],
    ['requested and served', 'flex', 'flex', '0.5'],
    ['cheap and not confirmed, so the upstream may not support it', 'flex', undefined, '1'],
    ['requested, but served at the normal price', 'priority', 'default', '1'],
    ['served without being requested', undefined, 'priority', '2'],
    ['fast, reported as priority', 'fast', 'priority', '6'],
    ['priority, reported as fast', 'priority', 'fast', '6'],
    ['fast, but not served', 'fast', 'standard', '1'],
    ['a name without a price', 'turbo', undefined, '1'],
    ['a name that every object inherits', 'priority', 'constructor', '1'],
    ['another inherited name', '__proto__', undefined, '1'],
  ])('%s', (_, requestedTier, servedTier, dollars) => {
    expect(billOf(price, served({ usage, requestedTier, servedTier })).actual).toBe(parseDollars(dollars))
  })

  test.each([
    ['flex', 'flex', 'flex'],
    ['flex', undefined, ''],
    ['priority', undefined, 'priority'],
    ['priority', 'default', 'default'],
    ['fast', 'priority', 'fast'],
  ])(
    'the bill names the tier that was charged: %s requested, %s served',
    (requestedTier, servedTier, tier) => {
      expect(billOf(price, served({ usage, requestedTier, servedTier })).tier).toBe(tier)
    },
  )

  test('priority, reported as fast, where only priority has a price', () => {
    const onlyPriority = { ...price, multipliers: { priority: 2_000_000_000 } }
    const bill = billOf(onlyPriority, served({ usage, requestedTier: 'priority', servedTier: 'fast' }))
    expect(bill.actual).toBe(parseDollars('2'))
  })
})

test('is an integer and never negative', () => {
  const size = fc.record({
    textBytes: fc.nat(1_000_000),
    images: fc.nat(9),
    audioBytes: fc.nat(1_000_000),
    fileBytes: fc.nat(1_000_000),
    tools: fc.nat(99),
  })
  const delivered = fc.record({ deltas: fc.nat(100_000), bytes: fc.nat(1_000_000) })
  const learned = fc.record({
    ratio: fc.double({ min: 0.1, max: 1_000, noNaN: true }),
    hidden: fc.double({ min: 0, max: 1_000_000, noNaN: true }),
    thinkingMs: fc.nat(100_000),
  })
  const tier = fc.option(fc.string(), { nil: undefined })
  fc.assert(
    fc.property(
      anyPrice,
      size,
      delivered,
      learned,
      tier,
      tier,
      (price, prompt, out, by, requestedTier, servedTier) => {
        const bill = billOf(price, served({ prompt, delivered: out, learned: by, requestedTier, servedTier }))
        expect(Number.isSafeInteger(bill.actual) && bill.actual >= 0).toBe(true)
        expect(Number.isInteger(bill.usage.output)).toBe(true)
      },
    ),
  )
})
