import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answerHeaders } from './answer-headers.ts'

const OWN = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': 'sandbox',
}

test('these headers pass', () => {
  const passed = {
    'content-type': 'text/event-stream; charset=utf-8',
    'content-encoding': 'gzip',
    'content-length': '0012',
    'retry-after': '3',
    'retry-after-ms': '2500',
    'x-should-retry': 'false',
    'x-ratelimit-remaining-tokens': '5',
    'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:00Z',
  }
  expect(answerHeaders(200, passed)).toEqual({ ...passed, ...OWN })
})

test('these headers do not pass', () => {
  const others = [
    'set-cookie2',
    'location',
    'server',
    'via',
    'alt-svc',
    'date',
    'connection',
    'keep-alive',
    'transfer-encoding',
    'trailer',
    'upgrade',
    'strict-transport-security',
    'access-control-allow-origin',
    'www-authenticate',
    'cf-ray',
    'openai-organization',
    'anthropic-organization-id',
    'x-sluice-error',
    'refresh',
    'link',
    'clear-site-data',
    '__proto__x',
    'x-ratelimit',
    'x-content-type',
  ]
  const upstream = {
    ...Object.fromEntries(others.map((name) => [name, 'v'])),
    'cache-control': 'public',
    'content-security-policy': 'default-src *',
    'x-content-type-options': 'sniff',
    'set-cookie': ['a=b'],
  }
  expect(answerHeaders(200, upstream)).toEqual(OWN)
})

test('the upstream’s request id gets a header of its own', () => {
  expect(answerHeaders(200, { 'x-request-id': 'u-1' })).toEqual({ ...OWN, 'x-upstream-request-id': 'u-1' })
  expect(answerHeaders(200, { 'x-request-id': 'u-1', 'request-id': 'u-2' })).toEqual({
    ...OWN,
    'x-upstream-request-id': 'u-2',
  })
})

test.each([204, 304])('%i has no body and so no length', (status) => {
  expect(answerHeaders(status, { 'content-length': '5' })).toEqual(OWN)
})

test.each(['', '-1', '+1', '1.0', '1e3', '0x10', '1, 1', '9'.repeat(16)])('length %j is none', (length) => {
  expect(answerHeaders(200, { 'content-length': length })).toEqual(OWN)
})

test('any header of an upstream results in valid headers', () => {
  const name = fc.oneof(
    fc.constantFrom(
      'content-type',
      'retry-after',
      'request-id',
      'x-ratelimit-a',
      'content-length',
      'location',
    ),
    fc.string(),
  )
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('a\r\nset-cookie: x', '\u0000', '\u0100', 'é'),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (pairs) => {
      for (const [key, text] of Object.entries(answerHeaders(200, Object.fromEntries(pairs))))
        expect(() => validateHeaderValue(key, text)).not.toThrow()
    }),
  )
})
