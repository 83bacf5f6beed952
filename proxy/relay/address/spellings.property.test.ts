/** Every spelling of an address gets the decision for that address, which an independent oracle computes. */
import { isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import {
  type Bits,
  bitsOf,
  FixedLookups,
  isWithin,
  makePolicy,
  mayBeCalled,
  REFUSED_RANGES,
  rangeOf,
  textOf,
  verdict,
} from './testing.ts'

const bits = (width: 32 | 128) =>
  fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }).map((value): Bits => ({ value, width }))

/** Any address of a refused range, often one of its ends. */
const refusedAddress = fc.constantFrom(...REFUSED_RANGES).chain((range) => {
  const size = 1n << BigInt(range.width - range.prefix)
  const first = (range.value / size) * size
  const offset = fc.oneof(fc.constantFrom(0n, size - 1n), fc.bigInt({ min: 0n, max: size - 1n }))
  return offset.map((n): Bits => ({ value: first + n, width: range.width }))
})

/** An address just outside a refused range, or anywhere. */
const publicAddress = fc
  .oneof(
    fc.constantFrom(...REFUSED_RANGES).chain((range) => {
      const size = 1n << BigInt(range.width - range.prefix)
      const first = (range.value / size) * size
      return fc.constantFrom(first - 1n, first + size).map((value): Bits => ({ value, width: range.width }))
    }),
    bits(32),
    bits(128).map(({ value, width }): Bits => ({ value: (value >> 3n) | (1n << 125n), width })),
  )
  .filter(({ value, width }) => value >= 0n && value < 1n << BigInt(width))
  .filter(mayBeCalled)

const disguised = (text: string) =>
  fc
    .array(fc.constantFrom('plain', 'percent', 'wide', 'upper'), {
      minLength: text.length,
      maxLength: text.length,
    })
    .map((ways) => [...text].map((char, i) => disguise(char, ways[i] ?? 'plain')).join(''))

function disguise(char: string, way: string): string {
  const code = char.codePointAt(0) ?? 0
  if (way === 'percent') return `%${code.toString(16).padStart(2, '0')}`
  if (way === 'wide') return char === '.' ? '。' : String.fromCodePoint(code + 0xfee0)
  return way === 'upper' ? char.toUpperCase() : char
}

const number = (value: bigint) =>
  fc.oneof(
    fc.constant(value.toString()),
    fc.nat(8).map((zeros) => `0x${'0'.repeat(zeros)}${value.toString(16)}`),
    fc.nat(8).map((zeros) => `0${'0'.repeat(zeros)}${value.toString(8)}`),
  )

/** One to four numbers, the last of which fills the rest, in any base and in equivalent characters. */
const ipv4 = ({ value }: Bits) =>
  fc
    .integer({ min: 1, max: 4 })
    .chain((count) => {
      const heads = Array.from({ length: count - 1 }, (_, i) => (value >> BigInt(24 - 8 * i)) & 255n)
      const last = value & ((1n << BigInt(8 * (5 - count))) - 1n)
      return fc.tuple(...[...heads, last].map(number))
    })
    .chain((parts) => disguised(parts.join('.')))
    .chain((text) => fc.constantFrom(text, `${text}.`))

/** Eight groups with leading zeros, any run of zeros left out, the tail perhaps dotted. */
const ipv6 = ({ value }: Bits) =>
  fc
    .record({
      widths: fc.array(fc.nat(4), { minLength: 8, maxLength: 8 }),
      isDotted: fc.boolean(),
      isUpper: fc.boolean(),
      from: fc.nat(7),
      length: fc.nat(8),
    })
    .map(({ widths, isDotted, isUpper, from, length }) => {
      const groups = widths.map((width, i) =>
        ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16).padStart(width, '0'),
      )
      if (isDotted) groups.splice(6, 2, textOf({ value: value & 0xffffffffn, width: 32 }))
      const run = groups.slice(from, from + length)
      const isShort = run.length > 0 && run.every((group) => /^0+$/.test(group))
      const text = isShort
        ? `${groups.slice(0, from).join(':')}::${groups.slice(from + length).join(':')}`
        : groups.join(':')
      return `[${isUpper ? text.toUpperCase() : text}]`
    })

const mapped = ({ value }: Bits) => ipv6({ value: value | (0xffffn << 32n), width: 128 })

const spelt = (address: Bits) =>
  address.width === 128 ? ipv6(address) : fc.oneof(ipv4(address), mapped(address))
const url = (address: Bits) =>
  fc
    .record({
      scheme: fc.constantFrom('http', 'https', 'HTTP', 'hTTps'),
      host: spelt(address),
      port: fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined }),
    })
    .map(({ scheme, host, port }) => `${scheme}://${host}${port === undefined ? '' : `:${port}`}/v1`)
const withUrl = (address: Bits) => url(address).map((text) => ({ address, text }))

test.each(REFUSED_RANGES.map((range) => [`${textOf(range)}/${range.prefix}`, range] as const))(
  'the ends of %s are refused, and their neighbours get decisions of their own',
  async (_text, { value, width, prefix }) => {
    const size = 1n << BigInt(width - prefix)
    const first = (value / size) * size
    const found = [first - 1n, first, first + size - 1n, first + size]
      .filter((each) => each >= 0n && each < 1n << BigInt(width))
      .map(async (each): Promise<[string, boolean, boolean]> => {
        const address: Bits = { value: each, width }
        const host = width === 32 ? textOf(address) : `[${textOf(address)}]`
        const isCalled = (await verdict(makePolicy(), `https://${host}/`)) !== 'address_refused'
        return [host, isCalled, mayBeCalled(address)]
      })
    for (const [host, isCalled, expected] of await Promise.all(found))
      expect([host, isCalled]).toEqual([host, expected])
  },
)

test('no spelling of a refused address is called', async () => {
  const policy = makePolicy()
  await fc.assert(
    fc.asyncProperty(refusedAddress.chain(withUrl), async ({ text }) => {
      expect(await verdict(policy, text)).toBe('address_refused')
    }),
  )
})

test('every spelling of a public address is called, at that address', async () => {
  const policy = makePolicy()
  await fc.assert(
    fc.asyncProperty(publicAddress.chain(withUrl), async ({ address, text }) => {
      const found = await verdict(policy, text)
      expect(isIP(found)).not.toBe(0)
      expect(bitsOf(found)).toEqual(address)
    }),
  )
})

test('exactly the addresses in no registry and not outside 2000::/3 are public', async () => {
  const policy = makePolicy()
  await fc.assert(
    fc.asyncProperty(fc.oneof(bits(32), bits(128), refusedAddress), async (address) => {
      const host = address.width === 32 ? textOf(address) : `[${textOf(address)}]`
      expect(await verdict(policy, `https://${host}/`)).toSatisfy((found: string) =>
        mayBeCalled(address) ? found !== 'address_refused' : found === 'address_refused',
      )
    }),
  )
})

test('a name may be called at all of its addresses or at none', async () => {
  const answers = fc.array(fc.oneof({ weight: 3, arbitrary: publicAddress }, refusedAddress), {
    maxLength: 20,
  })
  await fc.assert(
    fc.asyncProperty(answers, async (addresses) => {
      const lookups = new FixedLookups(...addresses.map(textOf))
      const found = await verdict(makePolicy({}, lookups), 'https://example.com/')
      if (addresses.length > 0 && addresses.every(mayBeCalled)) {
        const first = [...new Set(addresses.map(textOf))].slice(0, 16)
        expect(found).toBe(first.join(' '))
      } else expect(found).toBe('address_refused')
    }),
  )
})

test('a range or address entry allows its addresses, and no others', async () => {
  const inner = fc.constantFrom(
    '10.1.0.0/16',
    '169.254.169.254',
    'fe80::/10',
    '::/0',
    '0.0.0.0/0',
    '64:ff9b::/96',
  )
  await fc.assert(
    fc.asyncProperty(inner, fc.oneof(refusedAddress, bits(32), bits(128)), async (entry, address) => {
      fc.pre(!isWithin(address, rangeOf('::ffff:0:0/96')))
      const host = address.width === 32 ? textOf(address) : `[${textOf(address)}]`
      const found = await verdict(makePolicy({ mode: 'allowlist', allow: entry }), `http://${host}/`)
      if (isWithin(address, rangeOf(entry))) expect(bitsOf(found)).toEqual(address)
      else expect(found).toBe('address_refused')
    }),
  )
})

test('any text results in a refusal or in a target that may be called', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'http://',
      'https://',
      '//',
      '/',
      '\\',
      '@',
      ':',
      '#',
      '?',
      '[',
      ']',
      '%',
      '.',
      '..',
      '::',
    ),
    fc.constantFrom(
      '127',
      '0x7f',
      'ffff',
      'localhost',
      'example',
      '.com',
      '%00',
      '%2e',
      '\t',
      '\u3002',
      '\ud800',
    ),
    fc.constantFrom('８', 'ß', 'ſ', '\u00ad', '\u202e', 'xn--', 'xn--a', '-', '_', '0', '1', '255', '65535'),
    fc.string({ unit: 'binary', maxLength: 4 }),
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc.array(piece).map((pieces) => pieces.join('')),
    fc.array(piece).map((pieces) => `http://${pieces.join('')}`),
  )
  const answer = fc.oneof(fc.string(), publicAddress.map(textOf), refusedAddress.map(textOf))
  await fc.assert(
    fc.asyncProperty(text, fc.array(answer, { maxLength: 3 }), async (input, answers) => {
      const policy = makePolicy({}, new FixedLookups(...answers))
      try {
        const target = await policy.target(input, new AbortController().signal)
        expect(target.addresses.length).toBeGreaterThan(0)
        for (const address of target.addresses) {
          expect(isIP(address)).not.toBe(0)
          expect(mayBeCalled(bitsOf(address))).toBe(true)
          expect(policy.isAllowed(address, target)).toBe(true)
        }
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError)
        expect(error).toMatchObject({ param: 'url', status: 400 })
      }
    }),
  )
})
