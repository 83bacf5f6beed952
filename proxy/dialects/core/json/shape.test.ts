import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonScanner } from './scanner.ts'
import { shapeOf } from './shape.ts'
import type { Fields } from './value.ts'

const NONE = { maxDepth: 100, maxKeys: 1_000 }

describe('shapeOf', () => {
  test('counts keys, also those before each top-level key', () => {
    const value = { a: 1, b: [{ c: 1 }, { d: { e: null } }], f: {}, g: 'x' }
    expect(shapeOf(value, NONE)).toMatchObject({ keys: 7, before: [0, 1, 5, 6], hasBackslash: false })
  })

  test.each([{ 'a\\': 1 }, { x: [{ y: { '\\': null } }] }])('sees a key with a backslash in %j', (value) => {
    expect(shapeOf(value, NONE).hasBackslash).toBe(true)
    expect(shapeOf({ x: '\\' }, NONE).hasBackslash).toBe(false)
  })

  test('depth, keys and values are bounded, and the bound itself is allowed', () => {
    const value = { a: [[1, 2], [{ b: 1, c: 'x' }]] }
    expect(() => shapeOf(value, { maxDepth: 4, maxKeys: 3, maxValues: 8 })).not.toThrow()
    expect(() => shapeOf(value, { ...NONE, maxDepth: 3 })).toThrow('The body nests deeper than 3 levels.')
    expect(() => shapeOf(value, { ...NONE, maxKeys: 2 })).toThrow('The body has more than 2 object keys.')
    expect(() => shapeOf(value, { ...NONE, maxValues: 7 })).toThrow('The body has more than 7 values.')
  })

  test('any depth is refused, not followed', () => {
    const value: Fields = JSON.parse(`{"a":${'['.repeat(60_000)}${']'.repeat(60_000)}}`)
    expect(() => shapeOf(value, NONE)).toThrow('deeper than 100')
  })

  test('counts values as a scan of the bytes does', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
        const text = JSON.stringify(body)
        const scanner = new JsonScanner()
        scanner.push(Buffer.from(text))
        const within = (maxValues: number) => () => shapeOf(JSON.parse(text), { ...NONE, maxValues })
        expect(within(scanner.values)).not.toThrow()
        expect(within(scanner.values - 1)).toThrow('values')
      }),
    )
  })
})
