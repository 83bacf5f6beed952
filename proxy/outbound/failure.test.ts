import { expect, test } from 'vitest'
import { faultOf } from './failure.ts'

const coded = (code: string) => Object.assign(new Error('connect 10.1.2.3:443 api.example.com'), { code })

test.each([
  ['ECONNREFUSED', 'connect_refused'],
  ['ETIMEDOUT', 'connect_timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connect_timeout'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENOTFOUND', 'dns'],
  ['EAI_AGAIN', 'dns'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
  ['CERT_HAS_EXPIRED', 'tls'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
  ['UND_ERR_HEADERS_OVERFLOW', 'bad_http'],
  ['UND_ERR_INVALID_ARG', 'bad_request'],
  ['UND_ERR_DESTROYED', 'connection_failed'],
] as const)('%s is %s', (code, fault) => {
  expect(faultOf(coded(code), false)).toBe(fault)
})

test('a lost connection cuts an answer that had begun', () => {
  for (const code of ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']) {
    expect(faultOf(coded(code), false)).toBe('reset')
    expect(faultOf(coded(code), true)).toBe('cut_stream')
  }
})

test('an error without a code is named without its text', () => {
  expect(faultOf(new Error('ECONNREFUSED 10.1.2.3'), false)).toBe('connection_failed')
})
