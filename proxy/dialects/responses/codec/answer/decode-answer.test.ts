import { describe, expect, test } from 'vitest'
import type { ModelAnswer } from '../../../core/neutral/types.ts'
import { clientFor, requestFor, withoutExt } from './answer-testing.ts'
import { decodeAnswer } from './decode-answer.ts'
import { encodeAnswer } from './encode-answer.ts'

const response = (fields: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 100,
  completed_at: 101,
  status: 'completed',
  model: 'up-1',
  error: null,
  incomplete_details: null,
  metadata: { a: 'b' },
  tools: [{ type: 'function', name: 'f' }],
  service_tier: 'default',
  output: [],
  usage: null,
  ...fields,
})
const message = (...content: object[]) => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  phase: 'final_answer',
  content,
})
const text = (text: string, fields: object = {}) => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
  ...fields,
})
const CITATION = { type: 'url_citation', url: 'https://e.x', title: 'T', start_index: 1, end_index: 4 }
const FILE_CITATION = { type: 'file_citation', file_id: 'file-1', filename: 'a.pdf', index: 3 }
const TOKEN = { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }
const CALL = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a": 1}' }

function decode(value: unknown): ModelAnswer {
  const answer = decodeAnswer(value, requestFor())
  if (!('parts' in answer)) throw new Error(`a failure: ${JSON.stringify(answer)}`)
  return answer
}

const IMAGE = {
  id: 'ig_1',
  type: 'image_generation_call',
  status: 'completed',
  action: 'generate',
  background: 'opaque',
  output_format: 'webp',
  quality: 'low',
  revised_prompt: 'A cat.',
  size: '1x2',
  result: 'AAAA',
}

const ITEMS: [string, object[], unknown[]][] = [
  [
    'an image',
    [IMAGE],
    [
      {
        type: 'image',
        source: { kind: 'data', mediaType: 'image/webp', base64: 'AAAA' },
        made: { revisedPrompt: 'A cat.', size: '1x2', quality: 'low', background: 'opaque', format: 'webp' },
      },
    ],
  ],
  [
    'image calls without an image',
    [
      { id: 'ig_1', type: 'image_generation_call', status: 'failed', result: null },
      { id: 'ig_2', type: 'image_generation_call', status: 'failed', result: '' },
    ],
    [
      {
        type: 'hosted',
        dialect: 'responses',
        name: 'image_generation_call',
        item: { id: 'ig_1', type: 'image_generation_call', status: 'failed', result: null },
      },
      {
        type: 'hosted',
        dialect: 'responses',
        name: 'image_generation_call',
        item: { id: 'ig_2', type: 'image_generation_call', status: 'failed', result: '' },
      },
    ],
  ],
  ['a text', [message(text('Hi'))], [{ type: 'text', text: 'Hi' }]],
  [
    'several content parts',
    [message(text('a'), text('b'), { type: 'refusal', refusal: 'no' })],
    [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'refusal', text: 'no' },
    ],
  ],
  [
    'annotations and logprobs',
    [message(text('a', { annotations: [CITATION, FILE_CITATION], logprobs: [TOKEN] }))],
    [
      {
        type: 'text',
        text: 'a',
        annotations: [{ type: 'url', url: 'https://e.x', title: 'T', start: 1, end: 4 }, { type: 'other' }],
        logprobs: [TOKEN],
      },
    ],
  ],
  ['a message without content', [message()], [{ type: 'text', text: '' }]],
  [
    'a summary',
    [
      {
        id: 'rs_1',
        type: 'reasoning',
        encrypted_content: 'E',
        summary: [
          { type: 'summary_text', text: 'one' },
          { type: 'summary_text', text: 'two' },
        ],
      },
    ],
    [
      {
        type: 'reasoning',
        texts: ['one', 'two'],
        raw: false,
        carrier: { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' },
      },
    ],
  ],
  [
    'a chain of thought',
    [{ id: 'rs_1', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] }],
    [{ type: 'reasoning', texts: ['hm'], raw: true }],
  ],
  [
    'both',
    [
      {
        id: 'rs_1',
        type: 'reasoning',
        status: 'completed',
        encrypted_content: 'E',
        summary: [{ type: 'summary_text', text: 'one' }],
        content: [{ type: 'reasoning_text', text: 'hm' }],
      },
    ],
    [
      { type: 'reasoning', texts: ['one'], raw: false },
      {
        type: 'reasoning',
        texts: ['hm'],
        raw: true,
        carrier: { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' },
      },
    ],
  ],
  [
    'reasoning without text',
    [{ id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: null }],
    [{ type: 'reasoning', texts: [], raw: false }],
  ],
  [
    'a function call',
    [{ ...CALL, status: 'completed', namespace: 'ns', x: 1 }],
    [
      {
        type: 'tool-call',
        callId: 'call_1',
        name: 'f',
        namespace: 'ns',
        kind: 'function',
        input: '{"a": 1}',
      },
    ],
  ],
  [
    'a custom call',
    [{ id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: '*** Begin' }],
    [{ type: 'tool-call', callId: 'call_2', name: 'patch', kind: 'custom', input: '*** Begin' }],
  ],
  [
    'a hosted item',
    [{ id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } }],
    [
      {
        type: 'hosted',
        dialect: 'responses',
        name: 'web_search_call',
        item: { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search' } },
      },
    ],
  ],
]

describe('items', () => {
  test.each(ITEMS)('%s', (_name, output, parts) => {
    expect(withoutExt(decode(response({ output }))).parts).toEqual(parts)
  })

  test.each(ITEMS)('%s is the same after encoding and decoding', (_name, output) => {
    const whole = response({ output: [...output, message(text('after'))] })
    const nameless = (answer: ModelAnswer) =>
      JSON.parse(JSON.stringify(answer.parts, (key, value) => (key === 'id' ? undefined : value)))
    const answer = decode(whole)
    expect(nameless(decode(encodeAnswer(answer, clientFor())))).toEqual(nameless(answer))
  })

  test('leaves out values that are not items', () => {
    expect(decode(response({ output: [null, 'x', 7, [], {}, { type: 3 }] })).parts).toEqual([])
  })

  test.each([
    ['message', { content: [null, 3, { type: 'output_text', text: null, annotations: 'x', logprobs: {} }] }],
    ['message', { content: [{ type: 'new_kind', x: 1 }, { x: 1 }] }],
    ['reasoning', { summary: 'x', content: [1], encrypted_content: 5 }],
    ['function_call', { arguments: {}, name: 'f' }],
  ])('a strange %s does not throw', (type, fields) => {
    const answer = decode(response({ output: [{ type, ...fields }] }))
    expect(() => encodeAnswer(answer, clientFor())).not.toThrow()
  })

  test.each([
    ['unreadable_answer', { type: 'message', content: 'x' }],
    ['unreadable_answer', { type: 'message', content: [{ type: 'output_text', text: 5 }] }],
    ['unreadable_answer', { type: 'message', content: [{ type: 'refusal', refusal: [] }] }],
    ['nameless_tool_call', { type: 'function_call', call_id: 'c', arguments: '{}' }],
    ['nameless_tool_call', { type: 'custom_tool_call', call_id: 'c', name: 7, input: 'x' }],
  ])('%s: %j is lost content, so the answer is a failure', (detail, item) => {
    const failure = { class: 'unknown', status: 200, detail }
    expect(decodeAnswer(response({ output: [message(text('Hi')), item] }), requestFor())).toEqual(failure)
  })

  test('keeps arguments that are an object', () => {
    const item = { type: 'function_call', call_id: 'c', name: 'f', arguments: { a: 1 } }
    expect(decode(response({ output: [item] })).parts).toMatchObject([{ input: '{"a":1}' }])
  })
})

describe('finish', () => {
  test.each<[object, object]>([
    [{ status: 'completed' }, { reason: 'stop' }],
    [{ status: 'completed', output: [CALL] }, { reason: 'tool-calls' }],
    [{ status: undefined }, { reason: 'stop' }],
    [
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [CALL] },
      { reason: 'length' },
    ],
    [
      { status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
      { reason: 'content-filter' },
    ],
    [
      { status: 'incomplete', incomplete_details: { reason: 'steered' } },
      { reason: 'stop', raw: 'steered' },
    ],
    [
      { status: 'incomplete', incomplete_details: { reason: 'max_messages' } },
      { reason: 'stop', raw: 'max_messages' },
    ],
    [{ status: 'incomplete' }, { reason: 'length' }],
    [
      { status: 'incomplete', incomplete_details: { reason: 'new' } },
      { reason: 'length', raw: 'new' },
    ],
  ])('%j', (fields, finish) => {
    const { status, ...rest } = response(fields)
    const given = status === undefined ? rest : { status, ...rest }
    expect(withoutExt(decode(given)).finish).toEqual(finish)
  })
})

test('usage, tier and identity', () => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 12 },
    total_tokens: 130,
    billed: true,
  }
  const whole = response({ usage, service_tier: 'priority' })
  const answer = decode(whole)
  expect(withoutExt(answer)).toMatchObject({
    tier: 'priority',
    usage: { input: 50, cachedInput: 40, cacheWrite: 10, output: 30, reasoning: 12 },
  })
})

describe('no answer', () => {
  test.each<[unknown, string, string]>([
    [null, 'unknown', 'no_answer'],
    ['text', 'unknown', 'no_answer'],
    [[], 'unknown', 'no_answer'],
    [{ id: 'resp_1' }, 'unknown', 'no_answer'],
    [response({ status: 'queued' }), 'unknown', 'unfinished_answer'],
    [response({ status: 'in_progress' }), 'unknown', 'unfinished_answer'],
    [{ error: { code: 'server_error', message: 'x' } }, 'transient', 'error_in_answer'],
    [
      response({ status: 'failed', error: { code: 'rate_limit_exceeded', message: 'x' } }),
      'rate_limit',
      'error_in_answer',
    ],
    [response({ status: 'failed' }), 'unknown', 'error_in_answer'],
    [response({ output: [{ ...CALL, name: 3 }] }), 'unknown', 'nameless_tool_call'],
    [response({ status: 'cancelled' }), 'unknown', 'error_in_answer'],
  ])('%j', (value, failureClass, detail) => {
    const failure = decodeAnswer(value, requestFor())
    expect(failure).toMatchObject({ class: failureClass, detail, status: 200 })
    expect(failure).not.toHaveProperty('parts')
  })
})
