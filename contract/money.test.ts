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
  unpricedKinds,
  withImagePrice,
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

  it('charges parts of the prompt and of the answer at their own prices', () => {
    const p = {
      ...FREE,
      input: parseDollars('2'),
      output: parseDollars('10'),
      imageInput: parseDollars('5'),
      audioInput: parseDollars('40'),
      audioOutput: parseDollars('80'),
      reasoning: parseDollars('4'),
    }
    const u = { ...zeroUsage(), input: 1_000, imageInput: 100, audioInput: 200 }
    // 700 of text, 100 of images, 200 of audio.
    expect(cost(p, u)).toBe(parseDollars('0.0014') + parseDollars('0.0005') + parseDollars('0.008'))
    const answer = { ...zeroUsage(), output: 1_000, audioOutput: 300, reasoning: 500 }
    // 200 of text, 300 of audio, 500 of reasoning.
    expect(cost(p, answer)).toBe(parseDollars('0.002') + parseDollars('0.024') + parseDollars('0.002'))
    expect([unpricedKinds(p, u), unpricedKinds(p, answer)]).toEqual([[], []])
  })

  it('charges a part without a price as the next more expensive kind, and names it', () => {
    const p = { ...FREE, input: parseDollars('2'), output: parseDollars('10') }
    const of = (kind: 'imageInput' | 'audioInput') => ({ ...zeroUsage(), input: 1_000, [kind]: 1_000 })
    expect(cost(p, of('imageInput'))).toBe(parseDollars('0.01'))
    expect(cost(p, of('audioInput'))).toBe(parseDollars('0.01'))
    const spoken = { ...zeroUsage(), output: 1_000, audioOutput: 1_000 }
    expect(cost(p, spoken)).toBe(parseDollars('0.01'))
    const withAudio = { ...p, audioInput: parseDollars('40') }
    expect(cost(withAudio, of('imageInput'))).toBe(parseDollars('0.04'))
    expect(cost(withAudio, spoken)).toBe(parseDollars('0.04'))
    expect(unpricedKinds(p, { ...of('audioInput'), ...{ output: 9, audioOutput: 9 } })).toEqual([
      'audioInput',
      'audioOutput',
    ])
    expect(cost(p, { ...zeroUsage(), output: 1_000, reasoning: 1_000 })).toBe(parseDollars('0.01'))
  })

  it('charges calls of hosted tools, and names those without a price', () => {
    const p = { ...FREE, perCall: { webSearch: parseDollars('0.01') } }
    const u = { ...zeroUsage(), webSearch: 20, fileSearch: 1 }
    expect(cost(p, u)).toBe(parseDollars('0.2'))
    expect(unpricedKinds(p, u)).toEqual(['fileSearch'])
    expect(unpricedKinds({ ...p, perCall: { fileSearch: 0 } }, { ...zeroUsage(), fileSearch: 1 })).toEqual([])
  })

  it('charges a whole request at the prices of its prompt’s length', () => {
    const p: Price = {
      ...FREE,
      ...{ input: 1_000, cachedInput: 500, output: 4_000 },
      above: [
        { ...FREE, tokens: 200_000, input: 2_000, cachedInput: 1_000, output: 6_000 },
        { ...FREE, tokens: 500_000, input: 3_000, cachedInput: 1_500, output: 8_000 },
      ],
    }
    const at = (input: number, cachedInput = 0) =>
      cost(p, { ...zeroUsage(), input, cachedInput, output: 1_000_000 })
    expect(at(200_000)).toBe(200 + 4_000)
    expect(at(200_001)).toBe(401 + 6_000)
    // Cached tokens are part of the prompt.
    expect(at(100_000, 200_000)).toBe(200 + 200 + 6_000)
    expect(at(1_000_000)).toBe(3_000 + 8_000)
  })

  it('never falls when more of a request counts as images, audio or calls without a price', () => {
    const part = fc.nat(5_000)
    fc.assert(
      fc.property(price, usage, part, part, part, (p, u, imageInput, audioInput, audioOutput) => {
        const parts = { ...u, imageInput, audioInput, audioOutput, webSearch: 3 }
        expect(cost(p, parts)).toBeGreaterThanOrEqual(cost(p, u))
      }),
    )
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

  it.each([
    { input: 6 },
    { output: 1 },
    { audioInput: 0 },
    { perCall: { webSearch: 1 } },
    { above: [{ ...FREE, tokens: 1 }] },
    { multipliers: { flex: 1, fast: 3 } },
    { multipliers: { flex: 1 } },
  ])('changes with %o', (change) => {
    expect(priceVersion({ ...price, ...change })).not.toBe(priceVersion(price))
  })
})

describe('the price of an image', () => {
  const images = [
    { size: '1024x1024', quality: 'high', amount: 200 },
    { size: '1024x1024', amount: 100 },
    { quality: 'low', amount: 300 },
  ]
  const of = (kind: { size?: string; quality?: string }, entries = images) =>
    withImagePrice({ ...FREE, perImage: 50, images: entries }, kind).perImage

  it.each([
    [{ size: '1024x1024', quality: 'high' }, 200],
    [{ size: '1024x1024', quality: 'low' }, 100],
    [{ size: '1x1', quality: 'low' }, 300],
    [{ size: '1x1', quality: 'high' }, 50],
    [{ size: '1024x1024' }, 200],
    [{ quality: 'high' }, 200],
    [{}, 300],
  ])('of %j', (kind, price) => {
    expect(of(kind)).toBe(price)
  })

  it('is the only one of a route without sizes', () => {
    expect(withImagePrice({ ...FREE, perImage: 50 }, { size: '1x1' }).perImage).toBe(50)
  })

  it('of a kind that is not known is never below that of any kind that it may be', () => {
    const size = fc.constantFrom('1x1', '2x2', '3x3')
    const quality = fc.constantFrom('low', 'high', 'other')
    const entry = fc.record({ size, quality, amount: fc.nat(100) }, { requiredKeys: ['amount'] })
    const unknown = fc.constantFrom<('size' | 'quality')[]>(['size'], ['quality'], ['size', 'quality'])
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), size, quality, unknown, (entries, ...kind) => {
        const [width, made, hidden] = kind
        const known = { size: width, quality: made }
        const partly = Object.fromEntries(
          Object.entries(known).filter(([k]) => !hidden.includes(k as 'size')),
        )
        expect(of(partly, entries as typeof images)).toBeGreaterThanOrEqual(
          of(known, entries as typeof images),
        )
      }),
    )
  })
})
