import { describe, expect, test } from 'vitest'
import { splice } from '../core/json/model-splice.ts'
import { upstreamHeaders } from './byte-lane/headers.ts'
import { parseRequest } from './request.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const PLAIN = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }

function parse(body: object | string, headers = {}) {
  return parseRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), LIMITS, headers)
}

describe('the head', () => {
  test('of a plain request', () => {
    expect(parse(PLAIN).head).toEqual({
      model: 'm',
      stream: false,
      maxOutputTokens: 10,
      choices: 1,
      wantsStreamUsage: false,
      input: { textBytes: 2, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    })
  })

  test.each([
    [{ service_tier: 'auto' }, undefined],
    [{ service_tier: 'standard_only' }, undefined],
    [{ service_tier: 'priority' }, 'priority'],
    [{ service_tier: 'auto', speed: 'fast' }, 'fast'],
    [{ speed: 'standard' }, undefined],
    [{ speed: null, service_tier: null }, undefined],
  ])('%j requests the tier %s', (fields, tier) => {
    expect(parse({ ...PLAIN, ...fields }).head.tier).toBe(tier)
  })

  test('zero output tokens fill the cache, and the body requests a stream', () => {
    expect(parse({ ...PLAIN, max_tokens: 0, stream: true }).head).toMatchObject({
      maxOutputTokens: 0,
      stream: true,
    })
  })

  test('all that reaches the model is weighed', () => {
    const tools = [{ name: 't', input_schema: { type: 'object' } }]
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'four' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'AAAAAAA=' },
            title: 'ab',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'abc' } },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'x', name: 't', input: { type: 'image', source: 1 } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'x', content: [{ type: 'image', source: {} }] }],
      },
    ]
    expect(parse({ ...PLAIN, system: [{ type: 'text', text: 'sys' }], messages, tools }).head.input).toEqual({
      textBytes: 4 + 2 + 3 + 1 + '{"type":"image","source":1}'.length + 3 + JSON.stringify(tools).length,
      images: 2,
      audioBytes: 0,
      fileBytes: 5,
      tools: 1,
    })
  })

  test('the headers that mean something are kept, whatever they say', () => {
    const headers = { 'anthropic-version': 'any', 'anthropic-beta': 'a,b', 'x-app': 'cli' }
    expect(parse(PLAIN, headers).headers).toEqual({ 'anthropic-version': 'any', 'anthropic-beta': 'a,b' })
    expect(parse(PLAIN).headers).toEqual({})
  })
})

describe('refusals name the field', () => {
  test.each([
    ['model', { model: '' }],
    ['model', { model: undefined }],
    ['max_tokens', { max_tokens: undefined }],
    ['max_tokens', { max_tokens: null }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['max_tokens', { max_tokens: '10' }],
    ['max_tokens', { max_tokens: 10_000_001 }],
    ['messages', { messages: undefined }],
    ['messages', { messages: [] }],
    ['messages', { messages: {} }],
    ['messages[0]', { messages: ['x'] }],
    ['messages[0].role', { messages: [{ content: 'x' }] }],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[1].content', { messages: [{ role: 'user', content: 'x' }, { role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: null }] }],
    ['messages[0].content[1]', { messages: [{ role: 'user', content: [{ type: 'text' }, 'x'] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{}] }] }],
    ['stream', { stream: 'true' }],
    ['system', { system: 1 }],
    ['system', { system: ['x'] }],
    ['tools', { tools: {} }],
    ['tools[0]', { tools: [null] }],
    ['service_tier', { service_tier: 1 }],
    ['speed', { speed: 1 }],
  ])('%s in %j', (param, fields) => {
    expect(() => parse({ ...PLAIN, ...fields })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    )
  })

  test('a key that the gateway acts on must occur once', () => {
    const twice = '{"model":"m","max_tokens":1,"max_tokens":9,"messages":[{"role":"user","content":"x"}]}'
    expect(() => parse(twice)).toThrow(expect.objectContaining({ param: 'max_tokens' }))
  })
})

describe('towards an upstream of the same dialect', () => {
  test('only the model changes', () => {
    const text =
      '{ "max_tokens" : 1e0,"model":"m" , "messages":[{"role":"user","content":"\\u0041","new":1}]}'
    const request = parse(text)
    const edits = { model: 'a"b', addStreamUsage: true }
    expect(splice(request, edits).toString()).toBe(text.replace('"m"', '"a\\"b"'))
    expect(splice({ ...request }, edits).toString()).toBe(text.replace('"m"', '"a\\"b"'))
    expect(splice(request, { ...edits, model: 'm' })).toBe(request.body)
  })

  test('the client’s version and betas go along', () => {
    expect(upstreamHeaders(parse(PLAIN))).toEqual({ 'anthropic-version': '2023-06-01' })
    const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'x' }
    expect(upstreamHeaders(parse(PLAIN, headers))).toEqual(headers)
  })
})
