import { expect, test } from 'vitest'
import { withoutEnd } from './text.ts'

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
