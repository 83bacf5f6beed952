import { expect, test } from 'vitest'
import { maskOf } from './mask.ts'

const mask = (secret: string | undefined, text: string) =>
  maskOf({ auth: { scheme: 'Bearer', ...(secret !== undefined && { secret }) } })(
    Buffer.from(text),
  ).toString()

test.each([
  ['unescaped', 'sk-0123456789abcdef', 'a sk-0123456789abcdef, sk-0123456789abcdef.', 'a ***, ***.'],
  ['escaped for JSON', 'sk-"0123456789\\abc', 'a sk-\\"0123456789\\\\abc b', 'a *** b'],
  ['escaped for a URL', 'sk/0123456789 abc', '?key=sk%2F0123456789%20abc&', '?key=***&'],
])('the credential is masked %s', (_, secret, text, masked) => {
  expect(mask(secret, text)).toBe(masked)
})

test.each([['sk-0123456789ab'], [''], [undefined]])('nothing is masked for %j', (secret) => {
  expect(mask(secret, 'a sk-0123456789ab b')).toBe('a sk-0123456789ab b')
})

test('bytes without it are not copied', () => {
  const bytes = Buffer.from('an answer')
  expect(maskOf({ auth: { scheme: 'Bearer', secret: 'sk-0123456789abcdef' } })(bytes)).toBe(bytes)
})
