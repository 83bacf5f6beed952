import { expect, test } from 'vitest'
import * as bytes from './bytes.ts'

test.each([
  ['\t', bytes.TAB],
  ['\n', bytes.LF],
  ['\r', bytes.CR],
  [' ', bytes.SPACE],
  ['"', bytes.QUOTE],
  [',', bytes.COMMA],
  ['-', bytes.DASH],
  ['0', bytes.ZERO],
  ['9', bytes.NINE],
  [':', bytes.COLON],
  ['[', bytes.OPEN_ARRAY],
  ['\\', bytes.BACKSLASH],
  [']', bytes.CLOSE_ARRAY],
  ['{', bytes.OPEN_OBJECT],
  ['}', bytes.CLOSE_OBJECT],
  ['\x7f', bytes.DELETE],
])('%j has its byte', (character, byte) => {
  expect(String.fromCharCode(byte)).toBe(character)
})

test('isSpace knows what JSON.parse skips, and nothing else', () => {
  const skipped = (byte: number) => {
    try {
      return JSON.parse(`${String.fromCharCode(byte)}true`) === true
    } catch {
      return false
    }
  }
  for (let byte = 0; byte < 256; byte++) expect([byte, bytes.isSpace(byte)]).toEqual([byte, skipped(byte)])
  expect(bytes.isSpace(undefined)).toBe(false)
})
