import { describe, expect, test } from 'vitest'
import { completenessOfRequest } from '../../../../../test/conformance/dialects/laws.ts'
import { GatewayError } from '../../../../errors.ts'
import { chat } from '../../index.ts'
import { decode, encode, envelopes, parse } from '../testing.ts'

const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"b":1, "a":2}' } }
const USER = { role: 'user', content: 'Hi' }
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } }
const PNG = 'data:image/png;base64,AAAA'

describe('a request is complete in the neutral form', () => {
  const bodies: [string, object][] = [
    ['only text', {}],
    [
      'every scalar',
      {
        stream: true,
        stream_options: { include_usage: true, include_obfuscation: false },
        max_completion_tokens: 5,
        max_tokens: 6,
        temperature: 0.5,
        top_p: 0.9,
        stop: 'END',
        seed: 1,
        frequency_penalty: 1,
        presence_penalty: -1,
        logit_bias: { 5: 1 },
        logprobs: true,
        top_logprobs: 2,
        verbosity: 'low',
        reasoning_effort: 'xhigh',
        user: 'u',
        safety_identifier: 's',
        metadata: { a: 'b' },
        prompt_cache_key: 'k',
        prompt_cache_options: { mode: 'implicit' },
        service_tier: 'auto',
        store: false,
        prediction: { type: 'content', content: 'x' },
        modalities: ['text'],
        n: 1,
        an_unknown_one: { deep: [null, { x: null }] },
      },
    ],
    [
      'nulls and defaults',
      {
        temperature: null,
        stop: null,
        tools: null,
        n: null,
        stream: false,
        response_format: { type: 'text' },
        logprobs: false,
        max_tokens: null,
        user: null,
        unknown: null,
        parallel_tool_calls: true,
      },
    ],
    ['empty lists', { tools: [], stop: [], functions: [] }],
    ['max_tokens alone', { max_tokens: 7, stop: ['a', 'b'] }],
    ['the deprecated user', { user: 'u' }],
    [
      'tools',
      {
        tools: [
          {
            type: 'function',
            function: { name: 'f', description: 'd', parameters: SCHEMA, strict: false, x: 1 },
          },
          { type: 'function', function: { name: 'g', parameters: null }, x_top: 1 },
          { type: 'custom', custom: { name: 'c', format: { type: 'text' } } },
          {
            type: 'custom',
            custom: {
              name: 'd',
              format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } },
            },
          },
        ],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
        },
        parallel_tool_calls: false,
      },
    ],
    ['a forced custom tool', { tool_choice: { type: 'custom', custom: { name: 'c' } } }],
    [
      'functions',
      {
        functions: [{ name: 'f', parameters: SCHEMA, x: 1 }],
        function_call: { name: 'f' },
        messages: [
          USER,
          { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
          { role: 'function', name: 'f', content: null },
          { role: 'assistant', content: '', function_call: { name: 'f', arguments: '' } },
          { role: 'function', name: 'f', content: 'ok' },
        ],
      },
    ],
    [
      'search',
      {
        web_search_options: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: { city: 'Rome', region: null } },
        },
      },
    ],
    [
      'schemas',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', description: 'd', schema: SCHEMA, strict: true, x: 1 },
        },
      },
    ],
    ['a schema without one', { response_format: { type: 'json_schema', json_schema: { name: 'n' } } }],
    ['json', { response_format: { type: 'json_object' } }],
    [
      'messages of every role',
      {
        messages: [
          {
            role: 'developer',
            content: [{ type: 'text', text: 'S', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }],
          },
          { role: 'system', content: 'S2', name: 'sys' },
          {
            role: 'user',
            name: 'bob',
            content: [
              { type: 'text', text: 'a', x: 1 },
              { type: 'image_url', image_url: { url: PNG, detail: 'low', x: 1 }, y: 2 },
              { type: 'image_url', image_url: { url: 'data:image/png;charset=x;base64,AAA' } },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
              { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
              { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
              { type: 'file', file: { file_data: 'AAAA' } },
              { type: 'file', file: { file_id: 'file-1' } },
            ],
          },
          {
            role: 'assistant',
            content: 'x',
            tool_calls: [CALL],
            refusal: null,
            annotations: [],
            audio: null,
          },
          { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'r' }] },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'a' },
              { type: 'refusal', refusal: 'no' },
            ],
          },
          { role: 'assistant', content: null, refusal: 'No.' },
          { role: 'assistant', audio: { id: 'audio_1' } },
          {
            role: 'assistant',
            tool_calls: [{ ...CALL, index: 0, extra_content: { google: { thought_signature: 'S' } } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '', name: 'f' },
          { role: 'assistant', content: '', tool_calls: [], reasoning_content: '' },
          { role: 'user', content: [{ type: 'text', text: 'alone' }] },
          { role: 'user', content: [] },
        ],
      },
    ],
    [
      'reasoning',
      {
        messages: [
          USER,
          {
            role: 'assistant',
            content: 'x',
            reasoning: 'T',
            reasoning_details: [
              { type: 'reasoning.text', text: 'T', signature: 'SIG', format: null, index: 0 },
            ],
          },
          {
            role: 'assistant',
            content: 'x',
            thinking_blocks: [{ type: 'thinking', thinking: 'T', signature: 'SIG' }],
          },
        ],
      },
    ],
  ]

  test.each(bodies)('%s', (_, fields) => {
    completenessOfRequest('chat', { model: 'M', messages: [USER], ...fields })
  })
})

test('text as the only modality is not a loss', () => {
  expect(decode({ modalities: ['text'] }).ext?.fields ?? {}).toEqual({})
  expect(decode({ modalities: ['text', 'video'] }).ext?.fields).toHaveProperty('modalities')
})

test('a stream requests usage if the upstream can report it', () => {
  expect(encode(decode({ stream: true })).body.stream_options).toEqual({ include_usage: true })
  expect(encode(decode({ stream: true }), 'generic', { streamUsage: false }).body).not.toHaveProperty(
    'stream_options',
  )
  expect(encode(decode({})).body).not.toHaveProperty('stream_options')
})

describe('malformed fields are refused with their path', () => {
  const parts = (...content: unknown[]) => ({ messages: [USER, { role: 'user', content }] })
  const assistant = (fields: object) => ({ messages: [USER, { role: 'assistant', content: 'x', ...fields }] })
  test.each<[string, object]>([
    ['messages[0].role', { messages: [{ role: 'bot', content: 'x' }] }],
    ['messages[1].content[0].text', parts({ type: 'text' })],
    [
      'messages[1].content[1].image_url',
      parts({ type: 'text', text: 'a' }, { type: 'image_url', image_url: 'x' }),
    ],
    ['messages[1].content[0].image_url.url', parts({ type: 'image_url', image_url: {} })],
    [
      'messages[1].content[0].image_url.detail',
      parts({ type: 'image_url', image_url: { url: 'x', detail: 1 } }),
    ],
    ['messages[1].content[0].file', parts({ type: 'file', file: { filename: 'x' } })],
    ['messages[1].content[0].input_audio.format', parts({ type: 'input_audio', input_audio: { data: '' } })],
    [
      'messages[1].content[0].prompt_cache_breakpoint.ttl',
      parts({ type: 'text', text: '', prompt_cache_breakpoint: { ttl: '5m' } }),
    ],
    ['messages[1].content[0].type', parts({ type: 'refusal', refusal: 'x' })],
    [
      'messages[0].content[0].type',
      { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
    ],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[1].tool_calls', assistant({ tool_calls: {} })],
    [
      'messages[1].tool_calls[0].id',
      assistant({ tool_calls: [{ type: 'function', function: { name: 'f', arguments: '' } }] }),
    ],
    ['messages[1].tool_calls[0].type', assistant({ tool_calls: [{ id: 'a', type: 'x' }] })],
    [
      'messages[1].tool_calls[0].function.arguments',
      assistant({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: {} } }] }),
    ],
    ['messages[1].tool_calls[0].custom', assistant({ tool_calls: [{ id: 'a', type: 'custom' }] })],
    ['messages[1].function_call.name', assistant({ function_call: { arguments: '' } })],
    ['messages[1].reasoning_content', assistant({ reasoning_content: 5 })],
    ['messages[1].reasoning_details[0]', assistant({ reasoning_details: ['x'] })],
    ['temperature', { temperature: 2.1 }],
    ['top_p', { top_p: '1' }],
    ['stop', { stop: 5 }],
    ['stop[1]', { stop: ['a', 5] }],
    ['seed', { seed: 0.5 }],
    ['presence_penalty', { presence_penalty: 3 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['response_format', { response_format: 'json' }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
    [
      'response_format.json_schema.schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: [] } } },
    ],
    ['reasoning_effort', { reasoning_effort: 'very' }],
    ['metadata', { metadata: { a: 1 } }],
    ['store', { store: 'yes' }],
    ['tools[0].type', { tools: [{ type: 5 }] }],
    ['tools[0].type', { tools: [{ name: 'f' }] }],
    ['tools[0].function', { tools: [{ type: 'function', name: 'f' }] }],
    [
      'tools[1].function.name',
      {
        tools: [
          { type: 'custom', custom: { name: 'a' } },
          { type: 'function', function: {} },
        ],
      },
    ],
    [
      'tools[0].function.parameters',
      { tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
    ],
    [
      'tools[0].custom.format.grammar.definition',
      {
        tools: [
          { type: 'custom', custom: { name: 'f', format: { type: 'grammar', grammar: { syntax: 'lark' } } } },
        ],
      },
    ],
    ['functions[0].name', { functions: [{}] }],
    ['tool_choice', { tool_choice: 'every' }],
    ['tool_choice.type', { tool_choice: {} }],
    ['tool_choice.function.name', { tool_choice: { type: 'function', function: {} } }],
    [
      'tool_choice.allowed_tools.tools[0].type',
      { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'x' }] } } },
    ],
    [
      'web_search_options.user_location.approximate.city',
      { web_search_options: { user_location: { approximate: { city: 5 } } } },
    ],
  ])('%s', (param, fields) => {
    expect(refusalOf(fields)).toMatchObject({ code: 'invalid_request', param })
    expect(refusalOf(fields).message).toContain(param)
  })

  test.each<[string, object]>([
    ['modalities', { modalities: ['text', 'audio'], audio: { format: 'wav', voice: 'x' } }],
    ['messages[1].content[0].type', parts({ type: 'video_url', video_url: { url: 'x' } })],
  ])('%s cannot be converted', (param, fields) => {
    expect(refusalOf(fields)).toMatchObject({ code: 'unsupported_parameter', param })
  })

  test('refuses more than one answer', () => {
    expect(() => encode(decode({ n: 2 }))).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'n' }),
    )
  })
})

function refusalOf(fields: object): GatewayError {
  try {
    chat.codec.decodeRequest(parse({ model: 'M', messages: [USER], ...fields }), envelopes)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('the request was accepted')
}
