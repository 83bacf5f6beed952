import { describe, expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import {
  assistant,
  block,
  call,
  encode,
  PARAMETERS,
  result,
  SCHEMA,
  system,
  text,
  user,
} from './encode-testing.ts'

test('the conversation of the protocol notes, decoded from chat', () => {
  const { body, headers, losses } = encode({
    maxOutputTokens: 2000,
    reasoning: { effort: 'high' },
    parallelToolCalls: false,
    toolChoice: { type: 'required' },
    stop: ['END'],
    user: 'u1',
    stream: true,
    tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters: PARAMETERS }],
    format: { type: 'schema', name: 'out', strict: true, schema: SCHEMA },
    turns: [
      system('S'),
      user(
        { type: 'text', text: 'What is here?' },
        { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' }, detail: 'low' },
      ),
      assistant(
        {
          type: 'reasoning',
          texts: ['T'],
          carrier: { dialect: 'messages', kind: 'signature', value: 'SIG' },
        },
        { type: 'text', text: 'Let me look.' },
        {
          type: 'tool-call',
          kind: 'function',
          callId: 'call_1',
          name: 'get_weather',
          input: '{"city":"Rome"}',
        },
        { type: 'tool-call', kind: 'function', callId: 'call_2', name: 'get_weather', input: '{}' },
      ),
      {
        role: 'tool',
        results: [
          { callId: 'call_1', parts: [{ type: 'text', text: '20C' }] },
          { callId: 'call_2', parts: [{ type: 'text', text: 'Error: city missing' }] },
        ],
      },
      text('Go on'),
    ],
  })
  expect(body).toEqual({
    model: 'M',
    max_tokens: 2000,
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'high', format: { type: 'json_schema', schema: SCHEMA } },
    stop_sequences: ['END'],
    metadata: { user_id: 'u1' },
    stream: true,
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    tools: [{ name: 'get_weather', description: 'd', input_schema: PARAMETERS }],
    system: [block('S')],
    messages: [
      {
        role: 'user',
        content: [
          block('What is here?'),
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'T', signature: 'SIG' },
          block('Let me look.'),
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } },
          { type: 'tool_use', id: 'call_2', name: 'get_weather', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: '20C' },
          { type: 'tool_result', tool_use_id: 'call_2', content: 'Error: city missing' },
          block('Go on'),
        ],
      },
    ],
  })
  expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
  expect(losses).toEqual([
    'messages.content.image_url.detail',
    'response_format.json_schema.name',
    'response_format.json_schema.strict',
  ])
})

test('a minimal request gets the limit that the API requires', () => {
  expect(encode({})).toMatchObject({
    body: { model: 'M', max_tokens: 8192, messages: [{ role: 'user', content: [block('Q')] }] },
    losses: [],
  })
  expect(Object.keys(encode({}).body).sort()).toEqual(['max_tokens', 'messages', 'model'])
})

describe('scalars', () => {
  test.each<[string, Partial<ModelRequest>, Partial<Features>, object, string[]]>([
    [
      'supported sampling',
      { temperature: 0.5, topP: 0.9, topK: 3 },
      { sampling: true },
      { temperature: 0.5, top_p: 0.9, top_k: 3 },
      [],
    ],
    [
      'a temperature above the maximum',
      { temperature: 1.5 },
      { sampling: true },
      { temperature: 1 },
      ['temperature'],
    ],
    [
      'unsupported sampling',
      { temperature: 0, topP: 1 },
      { sampling: false },
      { temperature: undefined, top_p: undefined },
      ['temperature', 'top_p'],
    ],
    ['stop sequences of white space', { stop: ['a', ' \n', ''] }, {}, { stop_sequences: ['a'] }, ['stop']],
    ['only such stop sequences', { stop: [' '] }, {}, { stop_sequences: undefined }, ['stop']],
    ['the default tier', { tier: 'default' }, {}, { service_tier: 'standard_only' }, []],
    ['any tier', { tier: 'auto' }, {}, { service_tier: 'auto' }, []],
    ['a slow tier', { tier: 'flex' }, {}, { service_tier: undefined, speed: undefined }, ['service_tier']],
    ['a fast tier without support', { tier: 'priority' }, {}, { speed: undefined }, ['service_tier']],
    ['a fast tier with support', { tier: 'priority' }, { speed: true }, { speed: 'fast' }, []],
    [
      'fields that this API lacks',
      {
        seed: 1,
        frequencyPenalty: 0,
        presencePenalty: 1,
        verbosity: 'low',
        metadata: { a: 'b' },
        cacheKey: 'k',
        store: true,
      },
      {},
      {},
      ['frequency_penalty', 'metadata', 'presence_penalty', 'prompt_cache_key', 'seed', 'store', 'verbosity'],
    ],
    ['store: false, which is the API’s only behavior', { store: false }, {}, {}, []],
    [
      'json without a schema',
      { format: { type: 'json' } },
      {},
      {
        output_config: undefined,
        system: [block('Reply with JSON only, without any other text and without code fences.')],
      },
      ['response_format'],
    ],
  ])('%s', (_, fields, features, expected, lost) => {
    const { body, losses } = encode(fields, features)
    for (const [key, value] of Object.entries(expected)) expect(body[key]).toEqual(value)
    expect(losses).toEqual(lost)
  })

  test('speed needs its beta', () => {
    expect(encode({ tier: 'fast' }, { speed: true }).headers).toEqual({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'fast-mode-2026-02-01',
    })
  })

  test.each<[string, Partial<ModelRequest>]>([
    ['n', { choices: 2 }],
    ['logprobs', { logprobs: { top: 0 } }],
    ['messages.content.input_audio', { turns: [user({ type: 'audio', base64: 'AAAA', format: 'wav' })] }],
    [
      'messages.content.image_url',
      { turns: [user({ type: 'image', source: { kind: 'data', mediaType: 'image/bmp', base64: 'AAAA' } })] },
    ],
    [
      'messages.content.image_url',
      { turns: [user({ type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } })] },
    ],
    [
      'messages.content.file',
      { turns: [user({ type: 'file', source: { kind: 'id', id: 'f', vendor: 'openai' } })] },
    ],
    [
      'messages.content.file',
      {
        turns: [
          user({ type: 'file', source: { kind: 'data', mediaType: 'application/zip', base64: 'AAAA' } }),
        ],
      },
    ],
    [
      'messages.tool_calls.function.arguments',
      { turns: [text('Q'), assistant(call('c', '{"a":')), result('c', 'R')] },
    ],
    [
      'messages.tool_calls.function.arguments',
      { turns: [text('Q'), assistant(call('c', '[1]')), result('c', 'R')] },
    ],
  ])('%s is refused with its name', (param, fields) => {
    expect(() => encode(fields)).toThrow(expect.objectContaining({ code: 'unsupported_parameter', param }))
  })
})

describe('structured output', () => {
  test('without support the schema becomes an instruction', () => {
    const { body, losses } = encode(
      { format: { type: 'schema', schema: SCHEMA } },
      { structuredOutput: false },
    )
    expect(body.output_config).toBeUndefined()
    expect(JSON.stringify(body.system)).toContain(JSON.stringify(JSON.stringify(SCHEMA)).slice(1, -1))
    expect(losses).toEqual(['response_format'])
  })

  test('a changed schema is a loss', () => {
    const { body, losses } = encode({
      format: { type: 'schema', description: 'd', schema: { type: 'object' } },
    })
    expect(body.output_config).toEqual({
      format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } },
    })
    expect(losses).toEqual(['response_format.json_schema.description', 'response_format.json_schema.schema'])
  })
})
