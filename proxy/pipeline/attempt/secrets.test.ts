import { expect, it } from 'vitest'
import { secretsOf } from './secrets.ts'

const BEARER = { scheme: 'Bearer' } as const

it.each([
  ['the credential', { auth: { ...BEARER, secret: 'one' }, headers: {}, query: {} }, 'one'],
  ['a header', { auth: BEARER, headers: { 'x-token': 'one' }, query: {} }, 'one'],
  ['a header with its scheme', { auth: BEARER, headers: { 'x-token': 'Token one' }, query: {} }, 'Token one'],
  ['a header without its scheme', { auth: BEARER, headers: { 'x-token': 'Token one' }, query: {} }, 'one'],
  ['a query parameter', { auth: BEARER, headers: {}, query: { key: 'one' } }, 'one'],
  [
    'a secret as JSON escapes it',
    { auth: { ...BEARER, secret: 'a"b\\c' }, headers: {}, query: {} },
    'a\\"b\\\\c',
  ],
  ['a secret as a URL escapes it', { auth: BEARER, headers: {}, query: { key: 'a/b c' } }, 'a%2Fb%20c'],
  ['a secret as a form escapes it', { auth: BEARER, headers: {}, query: { key: 'a/b c' } }, 'a%2Fb+c'],
])('contains %s', (_what, channel, spelling) => {
  expect(secretsOf(channel)).toContain(spelling)
})

it('accepts any text, even one that no URL can contain', () => {
  expect(secretsOf({ auth: BEARER, headers: {}, query: { key: '\ud800' } })).toContain('\ud800')
})
