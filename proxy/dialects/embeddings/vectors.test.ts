import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode, exactly, isEncoded, isNumbers } from './vectors.ts'

/** Base64 of the little-endian bytes of 1, -2.5 and 0.5: 3f800000, c0200000, 3f000000. */
const THREE = Buffer.from('0000803f000020c00000003f', 'hex').toString('base64')

/** Bits of every finite float32: zeros, subnormals, the largest ones. */
const bits = fc
  .oneof(
    { arbitrary: fc.integer({ min: 0, max: 0xffffffff }), weight: 5 },
    fc.constantFrom(0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff),
  )
  .filter((n) => (n & 0x7f800000) !== 0x7f800000)
const packed = fc.array(bits, { minLength: 1, maxLength: 4000 }).map((words) => {
  const bytes = Buffer.alloc(words.length * 4)
  words.forEach((word, i) => void bytes.writeUInt32LE(word, i * 4))
  return bytes.toString('base64')
})

test('base64 contains little-endian float32', () => {
  expect(decode(THREE)).toEqual([1, -2.5, 0.5])
  expect(encode([1, -2.5, 0.5])).toBe(THREE)
})

test('numbers of double precision are rounded to the nearest float32', () => {
  expect(encode([0.1])).toBe(Buffer.from('cdcccc3d', 'hex').toString('base64'))
})

test('every float32 keeps its bits, also through JSON', () => {
  fc.assert(
    fc.property(packed, (text) => {
      const numbers = decode(text)
      if (numbers === undefined) throw new Error('not read')
      expect(encode(numbers)).toBe(text)
      expect(encode(JSON.parse(JSON.stringify(exactly(numbers))))).toBe(text)
    }),
  )
})

test('a vector keeps its length', () => {
  fc.assert(fc.property(packed, (text) => decode(text)?.length === Buffer.from(text, 'base64').length / 4))
})

test('negative zero keeps its sign in JSON, even for readers that have integers', () => {
  expect(JSON.stringify(exactly([0, -0, 1]))).toBe('[0,-0.0,1]')
  expect(JSON.stringify(exactly([0, 1]))).toBe('[0,1]')
})

describe('not vectors', () => {
  test.each([
    [''],
    ['AAAA'],
    ['AAAAAAA='],
    ['AAAAAAAA'],
    ['AACAP!=='],
    ['AACAPw==AACAPw=='],
    [Buffer.from('0000c07f', 'hex').toString('base64')],
    [Buffer.from('0000803f000080ff', 'hex').toString('base64')],
    ['[0.1]'],
    [' '],
  ])('base64 %j', (text) => {
    expect(decode(text)).toBeUndefined()
    expect(isEncoded(text)).toBe(false)
  })

  test.each([[[]], [[null]], [[1, '2']], [[[1]]], [[1, Infinity]], [[NaN]], ['AACAPw=='], [{}], [null], [1]])(
    'numbers %j',
    (value) => {
      expect(isNumbers(value)).toBe(false)
    },
  )

  test.each([[1e39], [-3.5e38]])('%d is beyond float32', (number) => {
    expect(encode([0, number])).toBeUndefined()
  })
})

test('base64 without padding is accepted', () => {
  expect(decode('AACAPw==')).toEqual([1])
  expect(decode('AACAPw')).toEqual([1])
  expect(isEncoded('AACAPw')).toBe(true)
})
