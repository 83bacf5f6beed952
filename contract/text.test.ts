import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { textWeight, withoutEnd } from './text.ts'

test.each([
  ['', '/', ''],
  ['a', '/', 'a'],
  ['/a//', '/', '/a'],
  ['//', '/', ''],
  ['a\r\n\n', '\r\n', 'a'],
  ['a\n \n', '\r\n', 'a\n '],
])('%j without trailing %j', (text, characters, rest) => {
  expect(withoutEnd(text, characters)).toBe(rest)
})

describe('the weight of a text', () => {
  test.each([
    ['', 0],
    ['hello', 5],
    ['größer', 8],
    ['日本語', 12],
    ['안녕', 8],
    ['！', 4],
    ['😀', 4],
    ['👍🏽', 8],
    ['a日b', 6],
  ])('of %j is %i', (text, weight) => {
    expect(textWeight(text)).toBe(weight)
  })

  test('is at least its bytes, and a token for each wide character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wide = [...text].filter((char) => (char.codePointAt(0) ?? 0) >= 0x2e80).length
        expect(textWeight(text)).toBeGreaterThanOrEqual(Math.max(Buffer.byteLength(text), 4 * wide))
        expect(textWeight(text)).toBeLessThanOrEqual(Buffer.byteLength(text) + wide)
      }),
    )
  })
})
