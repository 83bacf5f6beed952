import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import type { AssistantPart, ModelRequest, Tool } from '../../../core/neutral/types.ts'
import { assistant, encode, F, type Options, USER_ITEM } from './testing.ts'

test('the golden request', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  }
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const call = (callId: string, args: string): AssistantPart => ({
    type: 'tool-call',
    callId,
    name: 'get_weather',
    kind: 'function',
    input: args,
  })
  const { body, losses } = encode({
    maxOutputTokens: 2000,
    reasoning: { effort: 'high', alwaysShown: true },
    parallelToolCalls: false,
    toolChoice: { type: 'required' },
    user: 'u1',
    stream: true,
    tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters }],
    format: { type: 'schema', name: 'out', strict: true, schema },
    turns: [
      { role: 'system', placement: 'message', parts: [{ type: 'text', text: 'S' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'What is here?' },
          { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' }, detail: 'low' },
        ],
      },
      assistant(
        {
          type: 'reasoning',
          texts: ['T'],
          carrier: { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' },
        },
        { type: 'text', text: 'Let me look.' },
        call('call_1', '{"city":"Rome"}'),
        call('call_2', '{}'),
      ),
      {
        role: 'tool',
        results: [
          { callId: 'call_1', parts: [{ type: 'text', text: '20C' }] },
          { callId: 'call_2', parts: [{ type: 'text', text: 'Error: city missing' }] },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'Go on' }] },
    ],
  })
  expect(losses).toEqual([])
  expect(body).toEqual({
    model: 'm',
    max_output_tokens: 2000,
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
    parallel_tool_calls: false,
    tool_choice: 'required',
    safety_identifier: 'u1',
    stream: true,
    tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters, strict: false }],
    text: { format: { type: 'json_schema', name: 'out', strict: true, schema } },
    input: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'S' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is here?' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
        ],
      },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'T' }],
        encrypted_content: 'E',
      },
      { type: 'message', role: 'assistant', content: 'Let me look.' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call', call_id: 'call_2', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: '20C' },
      { type: 'function_call_output', call_id: 'call_2', output: 'Error: city missing' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on' }] },
    ],
  })
})

describe('tools', () => {
  test('of each kind', () => {
    const tools: Tool[] = [
      { ...F, namespace: 'n', strict: true },
      { type: 'custom', name: 'c', namespace: 'n', grammar: { syntax: 'lark', definition: 'g' } },
      { type: 'web-search', allowedDomains: ['a.b'], userLocation: { city: 'Rome' } },
      { type: 'hosted', dialect: 'messages', name: 'bash_20250124', tool: {} },
    ]
    const { body, losses } = encode({ tools, toolChoice: { type: 'tool', kind: 'custom', name: 'c' } })
    expect(body.tools).toEqual([
      {
        type: 'namespace',
        name: 'n',
        description: '',
        tools: [
          { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: true },
          { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'g' } },
        ],
      },
      {
        type: 'web_search',
        filters: { allowed_domains: ['a.b'] },
        user_location: { type: 'approximate', city: 'Rome' },
      },
    ])
    expect(body.tool_choice).toEqual({ type: 'custom', name: 'c' })
    expect(losses).toEqual(['tools'])
  })

  test('are not strict if the model cannot enforce a schema', () => {
    const { body, losses } = encode(
      { tools: [{ ...F, strict: true }] },
      { features: { structuredOutput: false } },
    )
    expect(body.tools).toMatchObject([{ strict: false }])
    expect(losses).toEqual(['tools.function.strict'])
  })

  test('an empty list has no choice', () => {
    const { body } = encode({ toolChoice: { type: 'auto' }, parallelToolCalls: false })
    expect(Object.keys(body).toSorted()).toEqual(['include', 'input', 'model', 'store'])
  })
})

describe('scalars', () => {
  test.each<[string, Partial<ModelRequest>, Options, object, string[]]>([
    ['the minimum output', { maxOutputTokens: 16 }, {}, { max_output_tokens: 16 }, []],
    [
      'less than the minimum output',
      { maxOutputTokens: 15 },
      {},
      { max_output_tokens: 16 },
      ['max_completion_tokens'],
    ],
    [
      'a long user',
      { user: 'u'.repeat(129) },
      {},
      {
        safety_identifier: createHash('sha256').update('u'.repeat(129)).digest('hex'),
      },
      ['safety_identifier'],
    ],
    ['a user that just fits', { user: 'u'.repeat(128) }, {}, { safety_identifier: 'u'.repeat(128) }, []],
    ['store', { store: true }, {}, { store: true }, []],
    [
      'log probabilities',
      { logprobs: { top: 2 } },
      {},
      { top_logprobs: 2, include: ['reasoning.encrypted_content', 'message.output_text.logprobs'] },
      [],
    ],
    ['sampling', { temperature: 0, topP: 0.5 }, {}, { temperature: 0, top_p: 0.5 }, []],
    [
      'cache key, metadata, tier',
      { cacheKey: 'k', metadata: { a: 'b' }, tier: 'flex' },
      {},
      {
        prompt_cache_key: 'k',
        metadata: { a: 'b' },
        service_tier: 'flex',
      },
      [],
    ],
    ['verbosity', { verbosity: 'low' }, {}, { text: { verbosity: 'low' } }, []],
    ['JSON', { format: { type: 'json' } }, {}, { text: { format: { type: 'json_object' } } }, []],
    [
      'fields that responses lacks',
      { topK: 1, seed: 1, presencePenalty: 0 },
      {},
      {},
      ['topK', 'seed', 'presence_penalty'],
    ],
    [
      'an effort that the model lacks',
      { reasoning: { effort: 'max', alwaysShown: true } },
      { features: { efforts: ['low', 'high'] } },
      {
        reasoning: { effort: 'high', summary: 'auto' },
      },
      ['reasoning_effort'],
    ],
    [
      'the session of an agent',
      { session: '5e55' },
      { source: 'messages' },
      { prompt_cache_key: '5e55' },
      [],
    ],
    ['speed if it is not allowed', { tier: 'fast', speed: true }, { source: 'messages' }, {}, ['speed']],
    [
      'speed if it is allowed',
      { tier: 'fast', speed: true },
      { source: 'messages', features: { speed: true } },
      { service_tier: 'fast' },
      [],
    ],
    [
      'thinking off',
      { reasoning: { thinking: 'off', effort: 'high' } },
      { source: 'messages' },
      {
        reasoning: { effort: 'none' },
      },
      [],
    ],
    [
      'a budget',
      { reasoning: { budgetTokens: 2048 } },
      { source: 'messages' },
      {
        reasoning: { effort: 'medium', summary: 'auto' },
      },
      ['thinking.budget_tokens'],
    ],
    [
      'hidden thinking',
      { reasoning: { thinking: 'adaptive', effort: 'low', summary: 'none' } },
      { source: 'messages' },
      {
        reasoning: { effort: 'low' },
      },
      [],
    ],
    [
      'visible thinking',
      { reasoning: { thinking: 'adaptive' } },
      { source: 'messages' },
      {
        reasoning: { summary: 'auto' },
      },
      [],
    ],
  ])('%s', (_name, fields, options, expected, lost) => {
    const { body, losses } = encode(fields, options)
    const plain = { model: 'm', input: [USER_ITEM], store: false, include: ['reasoning.encrypted_content'] }
    expect(body).toEqual({ ...plain, ...expected })
    expect(losses).toEqual(lost)
  })

  test('a model without reasoning gets no reasoning field', () => {
    const features: Partial<Features> = { reasoning: 'None', sampling: false }
    const { body, losses } = encode({ reasoning: { effort: 'low' }, temperature: 1, topP: 0.1 }, { features })
    expect(body).toEqual({ model: 'm', input: [USER_ITEM], store: false })
    expect(losses.toSorted()).toEqual(['reasoning_effort', 'top_p'])
  })

  test('more than one answer is refused', () => {
    expect(() => encode({ choices: 2 })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'n' }),
    )
  })

  test.each([
    [{ type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false }, true],
    [{ type: 'object', properties: { a: {} }, additionalProperties: false }, false],
    [{ type: 'array', items: { type: 'object', properties: {} } }, false],
    [{ type: 'object', additionalProperties: false, properties: {}, default: { type: 'object' } }, true],
  ])('a schema that the client’s API would enforce is strict if possible: %j', (schema, strict) => {
    const { body } = encode({ format: { type: 'schema', schema, enforced: true } })
    expect(body.text).toEqual({ format: { type: 'json_schema', name: 'response', schema, strict } })
  })

  test('a model that cannot enforce a schema gets it as an instruction', () => {
    const format = { type: 'schema', name: 'n', schema: { type: 'object' } } as const
    const { body, losses } = encode({ format }, { features: { structuredOutput: false } })
    expect(body.text).toEqual({ format: { type: 'json_object' } })
    expect(body.instructions).toContain('{"type":"object"}')
    expect(losses).toEqual(['response_format'])
  })
})
