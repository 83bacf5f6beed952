import { describe, expect, test } from 'vitest'
import { featuresOf } from '../../../../../contract/profiles.ts'
import { completenessOfRequest } from '../../../../../test/conformance/dialects/laws.ts'
import type { Carrier, Envelopes } from '../../../core/neutral/types.ts'
import { noLosses } from '../../../testing.ts'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'

const LIMITS = { maxDepth: 64, maxKeys: 10_000 }
const CLAUDE: Carrier = { dialect: 'messages', kind: 'signature', value: 'SIG' }
const ENVELOPES: Envelopes = {
  seal: () => 'slc1.signature.AAAA',
  open: (text) => (text === 'slc1.signature.AAAA' ? CLAUDE : text.startsWith('slc1.') ? 'broken' : 'foreign'),
}

function roundTrip(body: object, lost: string[] = []): Record<string, unknown> {
  const request = decodeRequest(parseRequest(Buffer.from(JSON.stringify(body)), LIMITS), ENVELOPES)
  const losses = noLosses('responses')
  const target = {
    model: 'm',
    features: featuresOf('responses', 'generic'),
    defaultMaxOutputTokens: 100,
    losses,
  }
  const encoded = encodeRequest(request, target)
  expect(losses.names).toEqual(lost)
  return encoded.body
}

const user = (content: unknown, more: object = {}) => ({ type: 'message', role: 'user', content, ...more })
const assistant = (content: unknown, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content,
  ...more,
})
const output = (text: string, more: object = {}) => ({ type: 'output_text', text, annotations: [], ...more })

const INPUTS: Record<string, unknown> = {
  text: 'Hi',
  'empty text': '',
  'messages without type': [{ role: 'user', content: 'Hi' }],
  'text as a list': [
    user([
      { type: 'input_text', text: 'a' },
      { type: 'input_text', text: '' },
    ]),
  ],
  'empty contents': [user(''), user([]), assistant([]), assistant(''), assistant([])],
  'system and developer': [
    { role: 'system', content: 'S' },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'D' }] },
  ],
  media: [
    user([
      { type: 'input_image', image_url: 'data:image/png;charset=x;base64,AAAA', detail: 'low' },
      { type: 'input_image', image_url: 'https://x/y.png' },
      { type: 'input_image', file_id: 'file_1', image_url: null, detail: 'auto' },
      { type: 'input_file', file_data: 'JVBERi0=', filename: 'a.pdf' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' },
      { type: 'input_file', file_url: 'https://x/y.pdf' },
      { type: 'input_file', file_id: 'file_2' },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
      { type: 'input_text', text: 'b', prompt_cache_breakpoint: { mode: 'other' } },
      { type: 'input_hologram', shape: 'cube' },
    ]),
  ],
  'an answer': [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc', status: null },
    assistant([output('a'), output('b', { logprobs: [] })], {
      id: 'msg_1',
      status: 'completed',
      phase: 'commentary',
    }),
    assistant([output('c')], { id: 'msg_2' }),
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}', status: 'completed' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'x', namespace: 'ns' },
    { type: 'function_call_output', call_id: 'c1', output: '' },
    { type: 'custom_tool_call_output', id: 'o', call_id: 'c2', output: [{ type: 'input_text', text: 'y' }] },
    assistant('plain'),
  ],
  'annotations and a refusal': [
    assistant([
      output('a', {
        annotations: [
          { type: 'url_citation', url: 'https://x', title: 't', start_index: 0, end_index: 1 },
          { type: 'file_citation', file_id: 'f', filename: 'n', index: 0 },
        ],
        logprobs: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }],
      }),
      { type: 'refusal', refusal: 'No.' },
    ]),
  ],
  'reasoning in its forms': [
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'a' }],
      encrypted_content: null,
    },
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'raw' }] },
    {
      type: 'reasoning',
      id: 'r',
      summary: [{ type: 'summary_text', text: 'a' }],
      content: [{ type: 'reasoning_text', text: 'b' }],
    },
    { type: 'reasoning', id: 'r', encrypted_content: 'e' },
    assistant('x'),
  ],
  'hosted items': [
    { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'q' } },
    assistant('a'),
    { type: 'tool_search_call', arguments: { q: 1 }, execution: 'client', call_id: 't' },
    {
      type: 'tool_search_output',
      call_id: 't',
      tools: [{ type: 'function', name: 'found', defer_loading: true }],
    },
    { type: 'tool_search_call', id: 'tsc_1', status: 'completed', call_id: 'u', arguments: '{"q": cut' },
    { type: 'tool_search_call', call_id: 'v', arguments: [1], execution: 'client', glow: 1 },
    {
      type: 'tool_search_output',
      id: 'tso_1',
      status: 'completed',
      call_id: 'v',
      execution: 'client',
      tools: [],
    },
    { type: 'tool_search_call', call_id: null, arguments: {}, execution: 'server' },
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [
        { type: 'custom', name: 'more' },
        { type: 'mcp', server_label: 'l' },
      ],
    },
    { id: 'msg_9' },
    { type: 'item_reference', id: 'msg_8' },
    { type: 'compaction', encrypted_content: 'x' },
  ],
  'unknown fields': [
    user([{ type: 'input_text', text: 'a', glow: true }], { mood: 'new' }),
    assistant([output('b', { glow: 1 })], { mood: 'old' }),
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '', async: true },
    { type: 'function_call_output', call_id: 'c', output: 'x', name: 'f', caller: { type: 'direct' } },
  ],
}

test.each(Object.entries(INPUTS))('input: %s', (_name, input) => {
  const body = { model: 'm', input }
  completenessOfRequest('responses', body)
})

const FUNCTION = {
  type: 'function',
  name: 'f',
  description: 'd',
  parameters: { type: 'object' },
  strict: true,
}
const FIELDS: Record<string, object> = {
  'everything null': {
    instructions: null,
    stream: null,
    max_output_tokens: null,
    temperature: null,
    top_logprobs: null,
    include: null,
    reasoning: null,
    text: null,
    tools: null,
    tool_choice: null,
    metadata: null,
    user: null,
    previous_response_id: null,
    background: null,
  },
  'empty values': { instructions: '', tools: [], include: [], metadata: {}, reasoning: {}, text: {} },
  scalars: {
    instructions: 'I',
    stream: false,
    max_output_tokens: 1,
    temperature: 0,
    top_p: 0.5,
    top_logprobs: 0,
    parallel_tool_calls: true,
    user: 'u',
    safety_identifier: 's',
    metadata: { a: 'b' },
    prompt_cache_key: 'k',
    service_tier: 'auto',
    store: false,
    truncation: 'auto',
    background: false,
  },
  'user alone': { user: 'u' },
  logprobs: { top_logprobs: 3, include: ['message.output_text.logprobs', 'file_search_call.results'] },
  'logprobs without include': { top_logprobs: 2 },
  reasoning: { reasoning: { effort: null, summary: 'auto', context: 'all_turns' } },
  'old summary': { reasoning: { effort: 'high', generate_summary: 'concise' } },
  text: { text: { format: { type: 'text' }, verbosity: 'low' } },
  'text with unknown fields': { text: { format: { type: 'json_object' }, glow: 1 } },
  schema: {
    text: {
      format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: null, description: 'd' },
    },
  },
  grammar: { text: { format: { type: 'grammar', definition: 'g' } } },
  tools: {
    tools: [
      FUNCTION,
      { type: 'function', name: 'g', parameters: null, strict: null, description: '', defer_loading: true },
      { type: 'custom', name: 'c', format: { type: 'text' } },
      { type: 'custom', name: 'd', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      { type: 'namespace', name: 'n', description: 'N', tools: [FUNCTION, { type: 'custom', name: 'x' }] },
      { type: 'namespace', name: 'n', description: 'again', tools: [{ type: 'function', name: 'y' }] },
      { type: 'namespace', name: 'empty', tools: [] },
      { type: 'tool_search' },
      {
        type: 'tool_search',
        execution: 'client',
        description: 'Looks.',
        parameters: { type: 'object' },
        glow: 1,
      },
      { type: 'tool_search', execution: 'client', description: '', parameters: null },
      { type: 'web_search' },
      {
        type: 'web_search_preview',
        search_context_size: 'low',
        user_location: { type: 'approximate', city: 'Rome' },
      },
      { type: 'web_search', filters: { allowed_domains: ['a.b'], blocked: [] }, user_location: null },
      { type: 'mcp', server_label: 'l', server_url: 'https://x' },
    ],
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'function', name: 'f' }, { type: 'mcp' }],
    },
  },
  'a named tool': { tools: [FUNCTION], tool_choice: { type: 'function', name: 'f', namespace: 'n' } },
  'a hosted choice': { tools: [{ type: 'web_search_preview' }], tool_choice: { type: 'web_search_preview' } },
  state: { previous_response_id: 'resp_1', prompt: { id: 'p' } },
  'a conversation': { conversation: { id: 'c' } },
  'unknown fields': {
    glow: { a: [1] },
    client_metadata: { path: '/home' },
    stream: true,
    stream_options: {},
  },
}

test.each(Object.entries(FIELDS))('fields: %s', (_name, fields) => {
  const body = { model: 'm', input: [user('Hi')], ...fields }
  completenessOfRequest('responses', body)
})

describe('state', () => {
  test.each([
    ['forged', 'slc1.encrypted.forged'],
    ['that was sealed for another dialect', 'slc1.signature.AAAA'],
  ])('a carrier %s is dropped', (_what, encrypted) => {
    const thought = { type: 'reasoning', id: 'r', summary: [], encrypted_content: encrypted }
    const body = { model: 'm', input: [thought, assistant('x')] }
    expect(roundTrip(body, ['input.encrypted_content']).input).toEqual([assistant('x')])
  })
})
