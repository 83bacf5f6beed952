import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { objectText } from '../../../../test/harness/json-text.ts'
import { findMembers } from './find-members.ts'
import { scanObject } from './scanner.ts'
import { shapeOf } from './shape.ts'
import type { Fields } from './value.ts'

const LIMITS = { maxDepth: 64, maxKeys: 10_000 }

function find(text: string) {
  const value: Fields = JSON.parse(text)
  return findMembers(text, value, { shape: shapeOf(value, LIMITS), body: Buffer.from(text) })
}

/** Expects the members that a scan of the bytes finds. */
function expectFound(text: string) {
  expect(find(text), text).toEqual(scanObject(Buffer.from(text)))
}

describe('findMembers', () => {
  test('finds what a scan finds, or nothing', () => {
    fc.assert(
      fc.property(objectText, ({ text }) => {
        const found = find(text)
        if (found !== undefined) expect(found).toEqual(scanObject(Buffer.from(text)))
      }),
    )
  })

  test('finds the members of what clients send', () => {
    const word = fc.stringMatching(/^[a-z_]{1,12}$/).filter((key) => key !== '__proto__')
    const text = fc.string({ unit: 'grapheme' }).map((s) => (/^\s*:/.test(s) ? `.${s}` : s))
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.constantFrom(null, true, 0, -1.5, 'a "quoted": word', '{"type":"x"}', '\\', '\\"'),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(word, tie('value'), { maxKeys: 4 }),
        fc.constant({ 50256: -100, 11: 1 }),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(word, value), fc.constantFrom(undefined, 1, '\t'), (body, indent) => {
        const colons = JSON.stringify(body).split(':').length
        // Colons that are too close to each other are left to a scan.
        const prose = '.'.repeat(32 * colons)
        expectFound(JSON.stringify({ ...body, prose, last: 1 }, undefined, indent))
      }),
    )
  })

  test.each([
    ['no member', ' { } '],
    ['a key in the values of others', '{"messages":[{"model":"x","content":"\\"model\\":1"}],"model":"m"}'],
    ['escapes of a nested key', '{"a":{"\\u0062\\"":1},"model":"m"}'],
    ['numbers as nested keys', '{"logit_bias":{"9":1,"1":{"x":2}},"model":"m"}'],
    ['white space in odd places', '\n{ "a"\t\n:\r[ 1 , "x" ] , "b" : {  } }\n'],
    ['characters of several bytes', '{"ü":"😀: ","model":"m","größe":1}'],
    ['a key that is empty', '{"":{"":1}}'],
    ['__proto__', '{"__proto__":{"a":1},"model":"m"}'],
  ])('finds members beside %s', (_, text) => {
    expectFound(text)
  })

  test.each([
    ['a key twice', '{"a":1,"a":2}'],
    ['a key twice in a value', '{"a":{"b":1,"b":2},"model":"m"}'],
    ['a number as a key', '{"b":1,"1":2}'],
    ['an escaped key', '{"\\u0061":1}'],
    ['a string that begins with a colon', '{"a":": b"}'],
    ['very many colons', JSON.stringify({ a: 'x:'.repeat(10_000) })],
  ])('leaves %s to a scan', (_, text) => {
    expect(find(text)).toBeUndefined()
  })

  test('a key twice and a string that begins with a colon do not make up for each other', () => {
    for (const text of ['{"model":"a","model":"b","x":":"}', '{"x":":","model":"a","model":"b"}'])
      expect(find(text)).toBeUndefined()
  })

  test('long runs of colons, quotes, backslashes and white space take linear time', () => {
    const long = 1_000_000
    for (const run of ['\\"', '\\\\', ' ', ':', '\\":'])
      expectFoundOrLeft(`{"a":"x${run.repeat(long)}","model":"m"}`)
    expectFound(`{"a"${' '.repeat(long)}:${' '.repeat(long)}1${' '.repeat(long)},"model":"m"}`)
  })
})

function expectFoundOrLeft(text: string) {
  const found = find(text)
  if (found !== undefined) expect(found).toEqual(scanObject(Buffer.from(text)))
}
