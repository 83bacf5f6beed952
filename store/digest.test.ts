import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digest } from './digest.ts'

test('is the SHA-256 of JSON with sorted keys at every depth', () => {
  const canonical = '{"a":[{"c":1,"d":2}],"b":null}'
  expect(digest({ b: null, a: [{ d: 2, c: 1 }] })).toBe(createHash('sha256').update(canonical).digest('hex'))
})

test('depends on content, not on key order', () => {
  const record = fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.integer()), { minKeys: 1 })
  fc.assert(
    fc.property(record, (value) => {
      const turned = Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([key, inner]) => [key, Object.fromEntries(Object.entries(inner).toReversed())]),
      )
      expect(digest(turned)).toBe(digest(value))
      expect(digest([value])).not.toBe(digest(value))
    }),
  )
})

test('an undefined field counts as absent; the order of a list matters', () => {
  expect(digest({ a: 1, b: undefined })).toBe(digest({ a: 1 }))
  expect(digest([1, 2])).not.toBe(digest([2, 1]))
})
