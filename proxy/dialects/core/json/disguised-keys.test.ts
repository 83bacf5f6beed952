import { expect, test } from 'vitest'
import { hasDisguisedKey } from './disguised-keys.ts'
import { shapeOf } from './shape.ts'
import type { Fields } from './value.ts'

const shape = (value: Fields) => shapeOf(value, { maxDepth: 8, maxKeys: 100 })
const disguised = (text: string) => hasDisguisedKey(text, shape(JSON.parse(text)))

test.each([
  ['beside a key with a backslash', String.raw`{"a\\":1,"typ\u0065":2}`],
  ['in a nested object', String.raw`{"x":[{"a\\b":{"\u0074ype" : 1}}]}`],
  ['behind an escaped backslash', String.raw`{"a\\\\\u0062":1}`],
  ['of a digit', String.raw`{"a\\":1,"x\u0031":2}`],
  ['of an underscore', String.raw`{"a\\":1,"web\u005Fsearch_options":2}`],
  ['of a capital letter', String.raw`{"a\\":1,"\u005A":2}`],
])('an escape %s in a key is found', (_, text) => {
  expect(disguised(text)).toBe(true)
})

test.each([
  ['an escape in a value', String.raw`{"^\\d+$":1,"x":"typ\u0065"}`],
  ['a value that looks like a key', String.raw`{"^\\d+$":1,"x":"\"typ\u0065\": 1"}`],
  [
    'keys that need their escapes',
    String.raw`{"^\\d+$":1,"\"\n":2,"\u00fcber":3,"a\/b":4,"\u003ca\u003e":5}`,
  ],
  ['a pattern with escapes of its own', String.raw`{"^[\\u0041-\\u005a]\\\\u0030":1}`],
  ['no escape', '{"a":{"b":[1,null,"c",{}]}}'],
])('%s is nothing to find', (_, text) => {
  expect(disguised(text)).toBe(false)
})

test('a field is seen, or found to be disguised, whatever was parsed before', () => {
  for (const name of ['type', 'web_search_options', 'n', 'tools'])
    for (let at = 0; at < name.length; at++) {
      const code = name.charCodeAt(at).toString(16).padStart(4, '0')
      const raw = `${name.slice(0, at)}\\u${code}${name.slice(at + 1)}`
      // What the engine may mistake the key for: the first characters of its text.
      const bait = raw.slice(0, name.length)
      for (const before of ['', '"model":"m",', '"model":"m","stream":true,']) {
        JSON.parse(`{${before}${JSON.stringify(bait)}:1}`)
        const text = `{${before}"${raw}":1}`
        const value: Fields = JSON.parse(text)
        expect(Object.hasOwn(value, name) || hasDisguisedKey(text, shape(value))).toBe(true)
      }
    }
})
