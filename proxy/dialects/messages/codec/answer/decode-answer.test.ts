import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { completenessOfAnswer } from '../../../../../test/conformance/dialects/laws.ts'
import type { AssistantPart, Finish } from '../../../core/neutral/types.ts'
import { REQUEST, read, write } from './block-testing.ts'
import { decodeAnswer } from './decode-answer.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 3 },
}
const partsOf = (...content: unknown[]): AssistantPart[] => read({ ...MESSAGE, content }).parts
const finishOf = (fields: object): Finish => read({ ...MESSAGE, ...fields }).finish

describe('blocks', () => {
  test('text, thinking with a signature and a call', () => {
    const parts = partsOf(
      { type: 'thinking', thinking: 'T2', signature: 'SIG2' },
      { type: 'text', text: 'Hi' },
      { type: 'tool_use', id: 'call_9', name: 'get_weather', input: { city: 'Oslo' } },
    )
    expect(parts).toEqual([
      {
        type: 'reasoning',
        texts: ['T2'],
        carrier: { dialect: 'messages', kind: 'signature', value: 'SIG2' },
      },
      { type: 'text', text: 'Hi' },
      {
        type: 'tool-call',
        callId: 'call_9',
        name: 'get_weather',
        kind: 'function',
        input: '{"city":"Oslo"}',
      },
    ])
  })

  test('a signature without text is kept', () => {
    expect(partsOf({ type: 'thinking', thinking: '', signature: 'S' })).toEqual([
      { type: 'reasoning', texts: [], carrier: { dialect: 'messages', kind: 'signature', value: 'S' } },
    ])
  })

  test('redacted thinking has no text', () => {
    expect(partsOf({ type: 'redacted_thinking', data: 'D' })).toEqual([
      { type: 'reasoning', texts: [], carrier: { dialect: 'messages', kind: 'redacted', value: 'D' } },
    ])
  })

  test.each<[unknown, string]>([
    [undefined, ''],
    [null, ''],
    [{}, ''],
    [{ b: 1, a: [2] }, '{"b":1,"a":[2]}'],
    ['{"a":1}', '{"a":1}'],
  ])('the input %j of a call is %s', (input, expected) => {
    expect(partsOf({ type: 'tool_use', id: 'c', name: 'f', input })[0]).toMatchObject({ input: expected })
  })

  test('web citations become annotations, others stay unchanged', () => {
    const page = { type: 'char_location', cited_text: 'q', document_index: 0 }
    const web = {
      type: 'web_search_result_location',
      url: 'https://a.example/',
      title: 'A',
      cited_text: 'q',
      encrypted_index: 'E',
    }
    const [part] = partsOf({ type: 'text', text: 'x', citations: [web, page] })
    expect(part).toMatchObject({
      type: 'text',
      annotations: [
        {
          type: 'url',
          url: 'https://a.example/',
          title: 'A',
        },
        { type: 'other', ext: { fields: page } },
      ],
    })
  })

  test.each([
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    { type: 'compaction', content: 'Summary' },
    { type: 'of_tomorrow', a: [1] },
  ])('$type stays unchanged', (block) => {
    expect(partsOf(block)).toEqual([{ type: 'hosted', dialect: 'messages', name: block.type, item: block }])
  })

  test.each([
    ['nameless_tool_call', { type: 'tool_use', id: 'c' }],
    ['nameless_tool_call', { type: 'tool_use', id: 'c', name: '', input: {} }],
    ['unreadable_answer', { type: 'text', text: 7 }],
    ['unreadable_answer', { type: 'thinking', thinking: {} }],
  ])('%s: %j is lost content, so the answer is a failure', (detail, block) => {
    const answer = { type: 'message', content: [{ type: 'text', text: 'Hi' }, block] }
    expect(decodeAnswer(answer, REQUEST)).toEqual({ class: 'unknown', status: 200, detail })
  })

  test('invalid blocks are left out', () => {
    expect(partsOf(null, 'text', 7, [], {}, { type: 3 })).toEqual([])
  })
})

describe('finish', () => {
  const CALL = [{ type: 'tool_use', id: 'c', name: 'f', input: {} }]

  test.each<[object, Finish]>([
    [{ stop_reason: 'end_turn' }, { reason: 'stop' }],
    [
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
      { reason: 'stop', stopSequence: 'END' },
    ],
    [{ stop_reason: 'pause_turn' }, { reason: 'stop', raw: 'pause_turn' }],
    [{ stop_reason: 'max_tokens' }, { reason: 'length' }],
    [
      { stop_reason: 'model_context_window_exceeded' },
      { reason: 'length', raw: 'model_context_window_exceeded' },
    ],
    [{ stop_reason: 'compaction' }, { reason: 'length', raw: 'compaction' }],
    [{ stop_reason: 'refusal' }, { reason: 'content-filter' }],
    [
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'bio', explanation: 'No.' } },
      { reason: 'content-filter', explanation: 'No.' },
    ],
    [{ stop_reason: 'of_tomorrow' }, { reason: 'stop', raw: 'of_tomorrow' }],
    [{ stop_reason: 'constructor' }, { reason: 'stop', raw: 'constructor' }],
    [{ stop_reason: null }, { reason: 'stop' }],
    [{ stop_reason: 'tool_use', content: CALL }, { reason: 'tool-calls' }],
    [{ stop_reason: 'end_turn', content: CALL }, { reason: 'tool-calls' }],
    [{ stop_reason: 'max_tokens', content: CALL }, { reason: 'length' }],
    [{ stop_reason: 'tool_use' }, { reason: 'stop' }],
  ])('%j', (fields, expected) => {
    expect(finishOf(fields)).toEqual(expected)
  })
})

test('usage is disjoint, and the tier has its neutral name', () => {
  const usage = {
    input_tokens: 50,
    cache_read_input_tokens: 40,
    cache_creation_input_tokens: 10,
    cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 6 },
    output_tokens: 30,
    output_tokens_details: { thinking_tokens: 12 },
    service_tier: 'standard',
  }
  const answer = read({ ...MESSAGE, usage })
  expect(answer.usage).toEqual({
    ...zeroUsage(),
    input: 50,
    cachedInput: 40,
    cacheWrite: 4,
    cacheWriteLong: 6,
    output: 30,
    reasoning: 12,
  })
  expect(answer.tier).toBe('default')
  expect(read({ ...MESSAGE, usage: undefined }).usage).toBeUndefined()
})

describe('failures', () => {
  test.each([null, 7, 'text', [], {}, { ...MESSAGE, content: null }, { ...MESSAGE, content: 'Hi' }])(
    'not an answer: %j',
    (value) => {
      expect(decodeAnswer(value, REQUEST)).toMatchObject({ class: 'unknown', detail: 'no_answer' })
    },
  )

  test('an error under 200', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'secret' } }
    const failure = decodeAnswer(error, REQUEST)
    expect(failure).toMatchObject({ class: 'transient', status: 200, detail: 'error_in_answer' })
    expect(JSON.stringify(failure)).not.toContain('secret')
  })

  test('an input that is nested too deep', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)
    const content = [{ type: 'tool_use', id: 'c', name: 'f', input: deep }]
    expect(decodeAnswer({ ...MESSAGE, content }, REQUEST)).toMatchObject({ detail: 'answer_too_deep' })
  })
})

describe('complete in the neutral form', () => {
  const WEB = { type: 'web_search_result_location', url: 'u', cited_text: 'q', encrypted_index: 'E' }

  test.each<[string, object]>([
    ['text', {}],
    ['nulls', { stop_details: null, container: null, diagnostics: null }],
    ['a container', { container: { id: 'container_1', expires_at: '2026' }, of_tomorrow: [1] }],
    ['an unknown stop', { stop_reason: 'of_tomorrow', stop_sequence: null }],
    ['a stop sequence', { stop_reason: 'stop_sequence', stop_sequence: 'END' }],
    [
      'a refusal',
      {
        content: [],
        stop_reason: 'refusal',
        stop_details: { type: 'refusal', category: 'cyber', explanation: 'No.' },
      },
    ],
    [
      'counters of usage',
      {
        usage: {
          input_tokens: 1,
          output_tokens: 2,
          server_tool_use: null,
          inference_geo: 'eu',
          speed: 'fast',
        },
      },
    ],
    [
      'blocks',
      {
        stop_reason: 'tool_use',
        content: [
          { type: 'thinking', thinking: '', signature: 'S' },
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking', thinking: 'T', signature: '' },
          { type: 'redacted_thinking', data: 'D', more: 1 },
          { type: 'text', text: '' },
          { type: 'text', text: 'a', citations: null },
          { type: 'text', text: 'b', citations: [] },
          { type: 'text', text: 'c', of_tomorrow: { a: 1 }, nothing: null },
          {
            type: 'text',
            text: 'd',
            citations: [
              { ...WEB, title: null },
              { ...WEB, title: 'A' },
              WEB,
              { type: 'page_location', cited_text: 'q', document_title: null },
            ],
          },
          { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
          { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'web_search_result' }] },
          { type: 'tool_use', id: 'c', name: 'f', input: { z: 1, a: null }, caller: { type: 'direct' } },
        ],
      },
    ],
  ])('%s', (_, fields) => {
    completenessOfAnswer('messages', { ...MESSAGE, ...fields })
  })
})

test('no JSON value throws', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue(), fc.jsonValue(), (block, field, usage) => {
      const types = ['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use']
      const fields = {
        text: field,
        thinking: field,
        signature: field,
        data: field,
        id: field,
        citations: [block],
      }
      const content = [block, ...types.map((type) => ({ ...fields, type, name: 'f', input: field }))]
      const message = { id: field, model: field, content, stop_reason: field, stop_details: block, usage }
      const answer = decodeAnswer(message, REQUEST)
      if ('parts' in answer) write(answer)
    }),
  )
})
