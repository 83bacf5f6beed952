import { describe, expect, test } from 'vitest'
import { testChannel } from '../outbound/testing.ts'
import { pathOf, upstreamRequest } from './request.ts'

const body = Buffer.from('{"model":"m"}')

describe('the path of an endpoint below a base URL', () => {
  test.each([
    ['chat_completion', 'https://api.example.com/v1', '/chat/completions', '/v1/chat/completions'],
    ['chat_completion', 'https://api.example.com/v1/', '/chat/completions', '/v1/chat/completions'],
    ['chat_completion', 'https://api.example.com', '/chat/completions', '/v1/chat/completions'],
    ['chat_completion', 'https://api.example.com/', '/chat/completions', '/v1/chat/completions'],
    ['chat_completion', 'https://example.com/openai', '/chat/completions', '/openai/chat/completions'],
    ['responses', 'http://localhost:8000', '/responses', '/v1/responses'],
    ['messages', 'https://api.example.com', '/messages', '/v1/messages'],
    ['messages', 'https://api.example.com/v1', '/messages', '/v1/messages'],
    ['messages', 'https://example.com/v1beta/', '/messages', '/v1beta/messages'],
    ['messages', 'https://example.com/api/coding', '/messages', '/api/coding/v1/messages'],
    ['messages', 'https://example.com/v1/extra', '/messages', '/v1/extra/v1/messages'],
    ['messages', 'https://api.example.com', '/messages/count_tokens', '/v1/messages/count_tokens'],
  ] as const)('%s at %s, %s', (type, baseURL, path, expected) => {
    const request = upstreamRequest(testChannel({ type, baseURL }), { path, body }, 'application/json')
    expect(request.path).toBe(expected)
  })
})

describe('upstreamRequest', () => {
  test('sends the body, the gateway’s own headers, and nothing else', () => {
    const request = upstreamRequest(testChannel(), { path: '/chat/completions', body }, 'text/event-stream')
    expect(request).toEqual({
      origin: 'https://api.example.com',
      path: '/v1/chat/completions',
      body,
      headers: {
        accept: 'text/event-stream',
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'user-agent': 'sluice',
        authorization: 'Bearer upstream-secret',
      },
    })
  })

  test.each([
    [{ scheme: 'Bearer', secret: 's3' }, { authorization: 'Bearer s3' }],
    [{ scheme: 'XApiKey', secret: 's3' }, { 'x-api-key': 's3' }],
    [{ scheme: 'Header', header: 'Api-Key', secret: 's3' }, { 'api-key': 's3' }],
    [{ scheme: 'None', secret: 's3' }, {}],
    [{ scheme: 'Bearer' }, {}],
  ] as const)('credential of %o', (auth, expected) => {
    const { headers } = upstreamRequest(testChannel({ auth }), { path: '/x', body }, 'application/json')
    const { accept, 'accept-encoding': _ae, 'content-type': _ct, 'user-agent': _ua, ...credential } = headers
    expect(accept).toBe('application/json')
    expect(credential).toEqual(expected)
  })

  test("the channel's headers replace the dialect's, whatever their case", () => {
    const channel = testChannel({ headers: { 'Anthropic-Version': '2099-01-01', 'User-Agent': 'custom' } })
    const { headers } = upstreamRequest(
      channel,
      { path: '/x', body, headers: { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one' } },
      'application/json',
    )
    expect(headers['anthropic-version']).toBe('2099-01-01')
    expect(headers['anthropic-beta']).toBe('one')
    expect(headers['user-agent']).toBe('custom')
    expect(Object.keys(headers).every((name) => name === name.toLowerCase())).toBe(true)
  })

  test('the query of the endpoint precedes that of the channel', () => {
    const path = '/models/m:stream?alt=sse'
    const at = (query: Record<string, string>) =>
      upstreamRequest(testChannel({ query }), { path, body }, 'text/event-stream').path
    expect(at({})).toBe('/v1/models/m:stream?alt=sse')
    expect(at({ key: 'k' })).toBe('/v1/models/m:stream?alt=sse&key=k')
    expect(pathOf(testChannel(), path)).toBe('/v1/models/m:stream')
  })

  test('query parameters are encoded, and an IPv6 address keeps its brackets', () => {
    const channel = testChannel({ baseURL: 'http://[::1]:9000/v1', query: { 'api-version': '2024-10 a&b' } })
    const request = upstreamRequest(channel, { path: '/chat/completions', body }, 'application/json')
    expect(request.origin).toBe('http://[::1]:9000')
    expect(request.path).toBe('/v1/chat/completions?api-version=2024-10+a%26b')
  })
})
