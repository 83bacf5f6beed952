import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../../errors.ts'
import { addExtLosses } from '../../../core/neutral/losses.ts'
import type { Envelopes, ModelRequest } from '../../../core/neutral/types.ts'
import { noLosses } from '../../../testing.ts'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'

const LIMITS = { maxDepth: 64, maxKeys: 10_000 }
const ENVELOPES: Envelopes = {
  seal: () => '',
  open(text) {
    if (text === 'slc1.signature.OURS') return { dialect: 'messages', kind: 'signature', value: 'SIG' }
    return text.startsWith('slc1.') ? 'broken' : 'foreign'
  },
}

function decode(fields: object): ModelRequest {
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...fields }))
  return decodeRequest(parseRequest(body, LIMITS), ENVELOPES)
}

/** Without `ext`. */
function bare(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (key === 'ext' || key === 'names' ? undefined : inner)),
  )
}

const turns = (input: unknown, fields: object = {}) => bare(decode({ input, ...fields }).turns)

function lossesOf(fields: object): string[] {
  const losses = noLosses('responses')
  addExtLosses(decode(fields), 'chat', losses)
  return losses.names
}

describe('turns', () => {
  test('instructions come first, before a text', () => {
    expect(turns('Hi', { instructions: 'I' })).toEqual([
      { role: 'system', placement: 'top', parts: [{ type: 'text', text: 'I' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
    ])
  })

  test('the items of an answer are one turn, their results another', () => {
    const input = [
      { role: 'developer', content: 'D' },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'T' }],
        encrypted_content: 'E',
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a', annotations: [] }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a": 1}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'g', namespace: 'n', input: 'free' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
      {
        type: 'custom_tool_call_output',
        call_id: 'c2',
        output: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }],
      },
      { role: 'user', content: 'next' },
    ]
    expect(turns(input)).toEqual([
      { role: 'system', placement: 'message', parts: [{ type: 'text', text: 'D' }] },
      {
        role: 'assistant',
        parts: [
          {
            type: 'reasoning',
            texts: ['T'],
            raw: false,
            carrier: { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' },
          },
          { type: 'text', text: 'a' },
          { type: 'tool-call', callId: 'c1', name: 'f', kind: 'function', input: '{"a": 1}' },
          { type: 'tool-call', callId: 'c2', name: 'g', namespace: 'n', kind: 'custom', input: 'free' },
        ],
      },
      {
        role: 'tool',
        results: [
          { callId: 'c1', kind: 'function', parts: [{ type: 'text', text: 'x' }] },
          {
            callId: 'c2',
            kind: 'custom',
            parts: [{ type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' } }],
          },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'next' }] },
    ])
  })

  test('media of a user', () => {
    const content = [
      { type: 'input_image', image_url: 'https://x/y.png', detail: 'high' },
      { type: 'input_image', file_id: 'file_1' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' },
      { type: 'input_file', file_data: 'JVBERi0=' },
      { type: 'input_file', file_url: 'https://x/y.pdf' },
      { type: 'input_text', text: 't', prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } },
    ]
    const pdf = { kind: 'data', mediaType: 'application/pdf', base64: 'JVBERi0=' }
    expect(turns([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'image', source: { kind: 'url', url: 'https://x/y.png' }, detail: 'high' },
          { type: 'image', source: { kind: 'id', id: 'file_1', vendor: 'openai' } },
          { type: 'file', source: pdf, name: 'a.pdf' },
          { type: 'file', source: pdf },
          { type: 'file', source: { kind: 'url', url: 'https://x/y.pdf' } },
          { type: 'text', text: 't', cache: { ttl: '30m' } },
        ],
      },
    ])
  })

  test.each([
    ['a chain of thought', { content: [{ type: 'reasoning_text', text: 'R' }] }, { texts: ['R'], raw: true }],
    [
      'an envelope of another dialect',
      { summary: [], encrypted_content: 'slc1.signature.OURS' },
      { texts: [], carrier: { dialect: 'messages', kind: 'signature', value: 'SIG' } },
    ],
    [
      'a forged envelope',
      { summary: [], encrypted_content: 'slc1.encrypted.x' },
      { texts: [], lostCarrier: true },
    ],
    ['nothing', {}, { texts: [] }],
  ])('reasoning with %s', (_name, fields, expected) => {
    const input = [{ type: 'reasoning', id: 'rs_1', ...fields }]
    expect(turns(input)).toEqual([{ role: 'assistant', parts: [{ type: 'reasoning', ...expected }] }])
  })

  test('a search for tools by the client is a call with a result', () => {
    const input = [
      { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { query: 'a' } },
      {
        type: 'tool_search_output',
        call_id: 'c',
        execution: 'client',
        status: 'completed',
        tools: [
          { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', description: 'F' }] },
          { type: 'web_search' },
          { type: 'custom', name: 'g' },
        ],
      },
    ]
    const call = { type: 'tool-call', callId: 'c', name: 'tool_search', kind: 'function', search: true }
    const found = [
      { type: 'function', name: 'f', namespace: 'n', description: 'F' },
      { type: 'custom', name: 'g' },
    ]
    expect(turns(input)).toEqual([
      { role: 'assistant', parts: [{ ...call, input: '{"query":"a"}' }] },
      { role: 'tool', results: [{ callId: 'c', kind: 'function', parts: [], found }] },
    ])
  })

  test.each([
    ['text', '{"query": cut', '{"query": cut'],
    ['nothing', undefined, '{}'],
    ['null', null, '{}'],
  ])('the arguments of a search may be %s', (_what, given, input) => {
    const item = { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: given }
    expect(turns([item])).toMatchObject([{ parts: [{ type: 'tool-call', input }] }])
  })

  test.each([
    { type: 'tool_search_call', call_id: null, execution: 'client', arguments: {} },
    { type: 'tool_search_call', call_id: 'c', execution: 'server', arguments: {} },
    { type: 'tool_search_output', call_id: 'c', execution: 'server', tools: [] },
  ])('a search that the vendor ran is kept whole: %j', (item) => {
    const parts = [{ type: 'hosted', dialect: 'responses', name: item.type, item, path: 'input[0]' }]
    expect(turns([item])).toEqual([{ role: 'assistant', parts }])
  })

  test('other items are kept whole', () => {
    const item = { type: 'web_search_call', id: 'ws', action: {} }
    const parts = [{ type: 'hosted', dialect: 'responses', name: 'web_search_call', item, path: 'input[0]' }]
    expect(turns([item])).toEqual([{ role: 'assistant', parts }])
  })
})

describe('tools', () => {
  const f = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true }

  test('of each kind', () => {
    const tools = [
      f,
      { type: 'namespace', name: 'n', description: 'N', tools: [{ type: 'custom', name: 'c' }] },
      { type: 'custom', name: 'd', format: { type: 'grammar', syntax: 'lark', definition: 'g' } },
      {
        type: 'web_search_2025_08_26',
        filters: { allowed_domains: ['a.b'] },
        user_location: { type: 'approximate', city: 'Rome', country: null },
      },
      { type: 'tool_search', execution: 'client', description: 'L', parameters: { type: 'object' } },
      { type: 'tool_search' },
    ]
    expect(bare(decode({ tools }).tools)).toEqual([
      f,
      { type: 'custom', name: 'c', namespace: 'n' },
      { type: 'custom', name: 'd', grammar: { syntax: 'lark', definition: 'g' } },
      { type: 'web-search', allowedDomains: ['a.b'], userLocation: { city: 'Rome' } },
      {
        type: 'function',
        name: 'tool_search',
        description: 'L',
        parameters: { type: 'object' },
        search: true,
      },
      { type: 'hosted', dialect: 'responses', name: 'tool_search', tool: { type: 'tool_search' } },
    ])
  })

  test('in items are added to the list once', () => {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'c' }, f] },
      { type: 'tool_search_output', call_id: null, tools: [{ type: 'function', name: 'g' }] },
      { role: 'user', content: 'Hi' },
    ]
    const names = decode({ input, tools: [f] }).tools.map((tool) => tool.type !== 'web-search' && tool.name)
    expect(names).toEqual(['f', 'c', 'g'])
  })

  test('a function that a search found may have the name of the search', () => {
    const input = [
      { type: 'tool_search_output', call_id: 'c', tools: [{ type: 'function', name: 'tool_search' }] },
    ]
    expect(bare(decode({ input, tools: [{ type: 'tool_search', execution: 'client' }] }).tools)).toEqual([
      { type: 'function', name: 'tool_search', search: true },
      { type: 'function', name: 'tool_search' },
    ])
  })

  test.each([
    ['auto', { type: 'auto' }],
    [
      { type: 'custom', name: 'c' },
      { type: 'tool', kind: 'custom', name: 'c' },
    ],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
      { type: 'allowed', mode: 'required', tools: [{ kind: 'function', name: 'f' }] },
    ],
    [{ type: 'web_search_preview' }, { type: 'web-search' }],
    [
      { type: 'mcp', server_label: 's' },
      { type: 'hosted', dialect: 'responses', name: 'mcp', choice: { type: 'mcp', server_label: 's' } },
    ],
  ])('choice %j', (choice, expected) => {
    expect(decode({ tools: [f], tool_choice: choice }).toolChoice).toEqual(expected)
  })
})

test('fields', () => {
  const fields = {
    stream: true,
    max_output_tokens: 5,
    temperature: 0,
    top_p: 0.5,
    top_logprobs: 2,
    parallel_tool_calls: false,
    reasoning: { effort: 'xhigh', summary: 'detailed' },
    text: {
      format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      verbosity: 'low',
    },
    user: 'old',
    safety_identifier: 'new',
    metadata: { a: 'b' },
    prompt_cache_key: 'k',
    service_tier: 'flex',
    store: true,
  }
  expect(bare(decode(fields))).toEqual({
    model: 'm',
    stream: true,
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    tools: [],
    parallelToolCalls: false,
    maxOutputTokens: 5,
    temperature: 0,
    topP: 0.5,
    logprobs: { top: 2 },
    format: { type: 'schema', name: 'n', schema: { type: 'object' }, strict: true },
    verbosity: 'low',
    reasoning: { effort: 'xhigh', summary: 'detailed' },
    user: 'new',
    metadata: { a: 'b' },
    cacheKey: 'k',
    tier: 'flex',
    store: true,
  })
})

describe('losses in other dialects', () => {
  test.each<[string, object, string[]]>([
    ['nothing', { stream: false, include: ['reasoning.encrypted_content'], truncation: 'disabled' }, []],
    ['no padding', { stream: true, stream_options: { include_obfuscation: false } }, []],
    ['client metadata never', { client_metadata: { installation: 'x' } }, []],
    [
      'fields that only responses has',
      { max_tool_calls: 3, truncation: 'auto' },
      ['max_tool_calls', 'truncation'],
    ],
    ['a null', { max_tool_calls: null }, []],
    ['includes', { include: ['web_search_call.results'] }, ['include']],
    ['reasoning', { reasoning: { effort: 'low', context: 'all_turns' } }, ['reasoning.context']],
    ['both users', { user: 'a', safety_identifier: 'b' }, ['user']],
    [
      'tools',
      {
        tools: [
          { type: 'function', name: 'f', defer_loading: true },
          {
            type: 'namespace',
            name: 'n',
            description: 'N',
            tools: [{ type: 'function', name: 'g', output_schema: {} }],
          },
          { type: 'web_search', search_context_size: 'low' },
        ],
      },
      ['tools.defer_loading', 'tools.description', 'tools.tools.output_schema', 'tools.search_context_size'],
    ],
    [
      'items',
      {
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'a', glow: 1 }], mood: 1 },
          {
            type: 'message',
            id: 'msg_1',
            status: 'completed',
            phase: 'final_answer',
            role: 'assistant',
            content: 'b',
          },
          {
            type: 'function_call',
            id: 'fc',
            status: 'completed',
            call_id: 'c',
            name: 'f',
            arguments: '',
            async: true,
          },
        ],
      },
      ['input.content.glow', 'input.mood', 'input.phase', 'input.async'],
    ],
  ])('%s', (_name, fields, expected) => {
    expect(lossesOf(fields).toSorted()).toEqual(expected.toSorted())
  })
})

describe('malformed fields are named', () => {
  const item = (fields: object) => ({ input: [{ role: 'user', content: 'a' }, fields] })
  const content = (part: unknown) => item({ role: 'user', content: [part] })
  test.each<[string, object]>([
    ['input[1].type', item({ type: 7 })],
    ['input[1].role', item({ role: 'critic', content: 'x' })],
    ['input[1].content', item({ role: 'user', content: 7 })],
    ['input[1].content', item({ role: 'user' })],
    ['input[1].content[0]', content('x')],
    ['input[1].content[0].type', content({ text: 'x' })],
    ['input[1].content[0].text', content({ type: 'input_text', text: 7 })],
    ['input[1].content[0].image_url', content({ type: 'input_image', image_url: 'data:nonsense' })],
    ['input[1].content[0]', content({ type: 'input_image' })],
    ['input[1].content[0].file_data', content({ type: 'input_file', file_data: 7 })],
    ['input[1].call_id', item({ type: 'function_call', name: 'f', arguments: '' })],
    ['input[1].arguments', item({ type: 'function_call', call_id: 'c', name: 'f', arguments: {} })],
    ['input[1].output', item({ type: 'function_call_output', call_id: 'c' })],
    [
      'input[1].output[0].text',
      item({ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text' }] }),
    ],
    ['input[1].summary[0].text', item({ type: 'reasoning', summary: [{ text: 1 }] })],
    ['input[1].tools', item({ type: 'additional_tools', tools: 'x' })],
    ['tools[0].name', { tools: [{ type: 'function' }] }],
    ['tools[0].description', { tools: [{ type: 'tool_search', execution: 'client', description: 7 }] }],
    ['tools[0].parameters', { tools: [{ type: 'tool_search', execution: 'client', parameters: 'x' }] }],
    ['input[1].tools', item({ type: 'tool_search_output', call_id: 'c', tools: 'x' })],
    ['tools[0].parameters', { tools: [{ type: 'function', name: 'f', parameters: 'x' }] }],
    ['tools[0].tools[0].name', { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }] }],
    ['tools[0].format.syntax', { tools: [{ type: 'custom', name: 'c', format: { type: 'grammar' } }] }],
    ['tool_choice', { tool_choice: 7 }],
    ['tool_choice.name', { tool_choice: { type: 'function' } }],
    ['temperature', { temperature: 'hot' }],
    ['metadata.a', { metadata: { a: 1 } }],
    ['include[0]', { include: [1] }],
    ['reasoning', { reasoning: 'high' }],
    ['reasoning.effort', { reasoning: { effort: 'extreme' } }],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'n' } } }],
    ['text', { text: 'x' }],
  ])('%s', (param, fields) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  test('the message states the rule and quotes nothing', () => {
    const attempt = () => decode({ temperature: 'secret' })
    expect(attempt).toThrow(GatewayError)
    expect(attempt).toThrow(/^temperature must be a number\.$/)
  })
})
