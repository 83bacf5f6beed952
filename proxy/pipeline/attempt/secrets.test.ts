import { expect, it } from 'vitest'
import { secretsOf } from './secrets.ts'

const BEARER = { scheme: 'Bearer' } as const

it.each([
  ['the credential', { auth: { ...BEARER, secret: 'one' }, headers: {}, query: {} }, 'one'],
  ['a header', { auth: BEARER, headers: { 'x-token': 'one' }, query: {} }, 'one'],
  ['a header with its scheme', { auth: BEARER, headers: { 'x-token': 'Token one' }, query: {} }, 'Token one'],
  ['a header without its scheme', { auth: BEARER, headers: { 'x-token': 'Token one' }, query: {} }, 'one'],
  ['a query parameter', { auth: BEARER, headers: {}, query: { key: 'one' } }, 'one'],
  ['what JSON escapes', { auth: { ...BEARER, secret: 'a"b\\c' }, headers: {}, query: {} }, 'a\\"b\\\\c'],
  ['what a URL escapes', { auth: BEARER, headers: {}, query: { key: 'a/b c' } }, 'a%2Fb%20c'],
  ['what a form escapes', { auth: BEARER, headers: {}, query: { key: 'a/b c' } }, 'a%2Fb+c'],
])('holds %s', (_what, channel, spelling) => {
  expect(secretsOf(channel)).toContain(spelling)
})

it('takes any text: also one that no URL can hold', () => {
  expect(secretsOf({ auth: BEARER, headers: {}, query: { key: '\ud800' } })).toContain('\ud800')
})
