import { expect, test } from 'vitest'
import { withoutEnd } from './text.ts'

test.each([
  ['', '/', ''],
  ['a', '/', 'a'],
  ['/a//', '/', '/a'],
  ['//', '/', ''],
  ['a\r\n\n', '\r\n', 'a'],
  ['a\n \n', '\r\n', 'a\n '],
])('%j without %j at its end', (text, signs, rest) => {
  expect(withoutEnd(text, signs)).toBe(rest)
})
