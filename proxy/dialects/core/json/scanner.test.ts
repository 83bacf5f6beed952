import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { objectText } from '../../../../test/harness/json-text.ts'
import { GatewayError } from '../../../errors.ts'
import { scanObject } from './scanner.ts'

describe('scanObject', () => {
  test('spans cut out exactly the top-level values, whatever the spacing and the escapes', () => {
    fc.assert(
      fc.property(objectText, ({ text, members }) => {
        const bytes = Buffer.from(text)
        JSON.parse(text)
        const found = scanObject(bytes)
        expect(found.map((m) => [`"${m.rawKey}"`, bytes.toString('utf8', m.start, m.end)])).toEqual(members)
      }),
    )
  })

  test('any bytes result in members within them or in a refusal', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({
        unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', ' ', 'a', '1'),
        maxLength: 200,
      }),
    )
    fc.assert(
      fc.property(bytes, (input) => {
        const buffer = Buffer.from(typeof input === 'string' ? Buffer.from(input) : input)
        try {
          for (const { start, end } of scanObject(buffer, { maxDepth: 5, maxKeys: 10 })) {
            expect(start).toBeGreaterThanOrEqual(0)
            expect(end).toBeLessThanOrEqual(buffer.length)
          }
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError)
        }
      }),
    )
  })

  test('depth and number of keys are bounded, and the bound itself is allowed', () => {
    const nested = (depth: number) => Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`)
    const limits = { maxDepth: 4, maxKeys: 3 }
    expect(() => scanObject(nested(4), limits)).not.toThrow()
    expect(() => scanObject(nested(5), limits)).toThrow(/deeper than 4/)
    expect(() => scanObject(Buffer.from('{"a":{"b":1,"c":2}}'), limits)).not.toThrow()
    expect(() => scanObject(Buffer.from('{"a":{"b":1,"c":2},"d":3}'), limits)).toThrow(/more than 3/)
  })

  test('brackets and colons inside strings do not count', () => {
    const body = Buffer.from(JSON.stringify({ a: '{[:"\\'.repeat(50) }))
    expect(scanObject(body, { maxDepth: 1, maxKeys: 1 })).toHaveLength(1)
  })

  test('a long run of backslashes or escaped quotes takes linear time', () => {
    const body = Buffer.from(`{"a":"${'\\\\'.repeat(1_000_000)}${'\\"'.repeat(1_000_000)}"}`)
    const [member] = scanObject(body)
    expect(member).toEqual({ rawKey: 'a', start: 5, end: body.length - 1 })
  })
})

describe('the number of values', () => {
  const within = (text: string, maxValues: number) => {
    try {
      scanObject(Buffer.from(text), { maxDepth: 64, maxKeys: 1_000, maxValues })
      return true
    } catch (error) {
      expect(error).toMatchObject({
        code: 'invalid_request',
        message: `The body has more than ${maxValues} values.`,
      })
      return false
    }
  }

  test.each<[string, number]>([
    ['{"a":1}', 1],
    ['{"a":[1,2,3]}', 4],
    ['{"a":{"b":[[1],[2]]},"c":"x"}', 7],
    ['{"a":",,,[[[{{{"}', 1],
    ['{"a":"\\",[","b":1}', 2],
  ])('%s has %d', (text, values) => {
    expect(within(text, values)).toBe(true)
    expect(within(text, values - 1)).toBe(false)
  })

  test('the count of a body is never below that of the parsed value', () => {
    const count = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce<number>((sum, inner) => sum + 1 + count(inner), 0)
        : 0
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
        const values = count(JSON.parse(JSON.stringify(body)))
        if (values > 0) expect(within(JSON.stringify(body), values - 1)).toBe(false)
      }),
    )
  })
})
