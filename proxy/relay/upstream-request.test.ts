import { expect, test } from 'vitest'
import type { RelayRequest } from './request.ts'
import { upstreamHeaders } from './upstream-request.ts'

const request: RelayRequest = {
  url: 'ignored',
  style: 'chat',
  body: Buffer.from('{"model":"é"}'),
  stream: false,
  headers: {},
}
const common = {
  'content-type': 'application/json',
  'content-length': '14',
  accept: 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'sluice',
  connection: 'close',
}
const at = (url: string, changes: Partial<RelayRequest> = {}) =>
  upstreamHeaders(new URL(url), 'k-1', { ...request, ...changes })

test('chat style', () => {
  const expected = { ...common, host: 'api.example.com', authorization: 'Bearer k-1' }
  expect(at('https://api.example.com/v1/x')).toEqual(expected)
  expect(at('https://api.example.com:443/v1/x')).toEqual(expected)
})

test('messages style', () => {
  const expected = {
    ...common,
    host: '[2001:db8::1]:8443',
    'x-api-key': 'k-1',
    'anthropic-version': '2023-06-01',
  }
  const headers = { 'anthropic-version': '2023-06-01' }
  expect(at('https://[2001:db8::1]:8443/', { style: 'messages', headers })).toEqual(expected)
})

test('a body that requests a stream sets the accept header', () => {
  expect(at('http://a.example/', { stream: true })).toHaveProperty('accept', 'text/event-stream')
})
