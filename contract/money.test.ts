import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cost,
  flatCost,
  formatDollars,
  MAX_DOLLARS,
  type Price,
  parseDollars,
  priceVersion,
} from './money.ts'
import { type Usage, zeroUsage } from './usage.ts'

const FREE: Price = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 0,
  perRequest: 0,
  perImage: 0,
  multipliers: {},
}
const BILLION = 1_000_000_000n

describe('decimal dollars', () => {
  it.each([
    ['0', 0],
    ['1', 1_000_000_000],
    ['0.000000001', 1],
    ['0.25', 250_000_000],
    ['-2.50', -2_500_000_000],
    ['9000000', 9_000_000_000_000_000],
    ['0000001.5', 1_500_000_000],
  ])('reads %s', (text, nanos) => {
    expect(parseDollars(text)).toBe(nanos)
  })

  it('never reads a negative zero', () => {
    expect(Object.is(parseDollars('-0.000'), 0)).toBe(true)
  })

  it.each([
    '',
    '.',
    '1.',
    '.5',
    '+1',
    '1e3',
    ' 1',
    '1,5',
    '1.0000000001',
    '10000000',
    '--1',
    '1.5.0',
    'NaN',
    '٣',
  ])('refuses %j', (text) => {
    expect(() => parseDollars(text)).toThrow(RangeError)
  })

  it('refuses amounts that are not a safe integer of nano-dollars', () => {
    expect(parseDollars('9007199.254740991')).toBe(Number.MAX_SAFE_INTEGER)
    expect(() => parseDollars('9007199.254740992')).toThrow(RangeError)
    expect(() => parseDollars('-9999999.999999999')).toThrow(RangeError)
  })

  it.each([
    [0, '0'],
    [1, '0.000000001'],
    [-1, '-0.000000001'],
    [1_500_000_000, '1.5'],
    [-20_000_000_000, '-20'],
  ])('writes %d as %s', (nanos, text) => {
    expect(formatDollars(nanos)).toBe(text)
  })

  it('reads back what it writes', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (nanos) => {
        expect(parseDollars(formatDollars(nanos))).toBe(nanos)
      }),
    )
  })

  it('is exact: agrees with integer arithmetic on the digits', () => {
    const whole = fc.bigInt({ min: 0n, max: BigInt(MAX_DOLLARS) - 1n })
    const fraction = fc.stringMatching(/^[0-9]{1,9}$/)
    fc.assert(
      fc.property(whole, fraction, fc.boolean(), (dollars, digits, negative) => {
        const size = dollars * BILLION + BigInt(digits) * 10n ** BigInt(9 - digits.length)
        const nanos = parseDollars(`${negative ? '-' : ''}${dollars}.${digits}`)
        expect(BigInt(nanos)).toBe(negative ? -size : size)
      }),
    )
  })
})

const price = fc.record({
  input: fc.nat(10 ** 9),
  cachedInput: fc.nat(10 ** 9),
  cacheWrite: fc.nat(10 ** 9),
  cacheWriteLong: fc.nat(10 ** 9),
  output: fc.nat(10 ** 9),
  perRequest: fc.nat(10 ** 9),
  perImage: fc.nat(10 ** 9),
  multipliers: fc.record({ priority: fc.integer({ min: 0, max: 3_000_000_000 }) }),
})
const tokens = fc.nat(1_000_000)
const usage = fc.record({
  input: tokens,
  cachedInput: tokens,
  cacheWrite: tokens,
  cacheWriteLong: tokens,
  output: tokens,
  reasoning: tokens,
  images: fc.nat(20),
})
const tier = fc.constantFrom(undefined, 'priority', 'flex')

/** The exact cost in units of 1e-24 dollars: nano-dollars x a million tokens x a billion of a factor. */
function exactCost(p: Price, u: Usage, tier: string | undefined): bigint {
  const perTokens: [number, number][] = [
    [p.input, u.input],
    [p.cachedInput, u.cachedInput],
    [p.cacheWrite, u.cacheWrite],
    [p.cacheWriteLong, u.cacheWriteLong],
    [p.output, u.output],
  ]
  let millionths = (BigInt(p.perRequest) + BigInt(p.perImage) * BigInt(u.images)) * 1_000_000n
  for (const [nanos, count] of perTokens) millionths += BigInt(nanos) * BigInt(count)
  return millionths * BigInt((tier === undefined ? undefined : p.multipliers[tier]) ?? 1_000_000_000)
}

describe('cost', () => {
  it('adds up the kinds of tokens, the request and its images', () => {
    const p = {
      ...FREE,
      input: parseDollars('3'),
      cachedInput: parseDollars('0.3'),
      cacheWrite: parseDollars('3.75'),
      cacheWriteLong: parseDollars('6'),
      output: parseDollars('15'),
      perRequest: parseDollars('0.01'),
      perImage: parseDollars('0.04'),
    }
    const u = {
      input: 1_000,
      cachedInput: 10_000,
      cacheWrite: 2_000,
      cacheWriteLong: 500,
      output: 400,
      reasoning: 300,
      images: 2,
    }
    // 0.003 + 0.003 + 0.0075 + 0.003 + 0.006 + 0.01 + 0.08; reasoning is part of the output.
    expect(cost(p, u)).toBe(parseDollars('0.1125'))
  })

  it('rounds up once, not for each kind', () => {
    const p = { ...FREE, input: 400_000, output: 400_000 }
    expect(cost(p, { ...zeroUsage(), input: 1 })).toBe(1)
    expect(cost(p, { ...zeroUsage(), input: 1, output: 1 })).toBe(1)
    expect(cost(p, { ...zeroUsage(), input: 2, output: 1 })).toBe(2)
  })

  it('applies the factor of a known tier to the whole cost, before rounding', () => {
    const p = { ...FREE, input: 1_000_000, perRequest: 3, multipliers: { fast: 1_500_000_000, flex: 0 } }
    const u = { ...zeroUsage(), input: 2 }
    expect(cost(p, u)).toBe(5)
    expect(cost(p, u, 'fast')).toBe(8)
    expect(cost(p, u, 'flex')).toBe(0)
    expect(cost(p, u, 'scale')).toBe(5)
    expect(cost(p, u, 'constructor')).toBe(5)
  })

  it('is the price per request when no usage is reported', () => {
    const p = { ...FREE, input: 9_000_000, perRequest: 7, multipliers: { fast: 2_000_000_000 } }
    expect(flatCost(p)).toBe(7)
    expect(flatCost(p, 'fast')).toBe(14)
  })

  it('is capped at the largest amount that the ledger can hold', () => {
    const p = { ...FREE, output: parseDollars('9000000') }
    expect(cost(p, { ...zeroUsage(), output: 2_000_000 })).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('is the smallest whole number of nano-dollars that covers the exact cost', () => {
    const unit = 1_000_000n * BILLION
    fc.assert(
      fc.property(price, usage, tier, (p, u, t) => {
        const exact = exactCost(p, u, t)
        const nanos = BigInt(cost(p, u, t))
        expect(nanos * unit >= exact).toBe(true)
        expect((nanos - 1n) * unit < exact).toBe(true)
      }),
    )
  })

  it('never falls when a request uses more', () => {
    fc.assert(
      fc.property(price, usage, usage, (p, u, more) => {
        const sum = { ...u, input: u.input + more.input, output: u.output + more.output }
        expect(cost(p, sum)).toBeGreaterThanOrEqual(cost(p, u))
      }),
    )
  })
})

describe('the version of a price', () => {
  const price = { ...FREE, input: 5, multipliers: { flex: 1, fast: 2 } }

  it('is the same for the same price, in any order', () => {
    const { multipliers: _, ...amounts } = price
    expect(priceVersion({ multipliers: { fast: 2, flex: 1 }, ...amounts })).toBe(priceVersion(price))
    expect(priceVersion(price)).toMatch(/^[0-9a-f]{8}$/)
  })

  it.each([{ input: 6 }, { output: 1 }, { multipliers: { flex: 1, fast: 3 } }, { multipliers: { flex: 1 } }])(
    'changes with %o',
    (change) => {
      expect(priceVersion({ ...price, ...change })).not.toBe(priceVersion(price))
    },
  )
})
