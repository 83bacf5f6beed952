import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import type { AssistantPart, Finish, ModelAnswer, ReasoningPart } from '../../../core/neutral/types.ts'
import { write } from './block-testing.ts'

const STOP: Finish = { reason: 'stop' }
const answerOf = (...parts: AssistantPart[]): ModelAnswer => ({ parts, finish: STOP })
const contentOf = (...parts: AssistantPart[]) => {
  const { message, losses } = write(answerOf(...parts))
  return [message.content, losses]
}

test('a message from another dialect', () => {
  const { message, losses } = write({
    parts: [
      {
        type: 'reasoning',
        texts: ['T2', '', 'T3'],
        carrier: { dialect: 'responses', kind: 'encrypted', value: 'ENC', id: 'rs_1' },
      },
      { type: 'text', text: 'Hi' },
      { type: 'tool-call', callId: 'call_9', name: 'f', kind: 'function', input: '{"city":"Oslo"}' },
    ],
    finish: {
      reason: 'tool-calls',
    },
    usage: { ...zeroUsage(), input: 50, cachedInput: 40, cacheWriteLong: 10, output: 30, reasoning: 12 },
    tier: 'default',
  })
  expect(message).toEqual({
    id: 'msg_X1',
    type: 'message',
    role: 'assistant',
    model: 'client-model',
    content: [
      { type: 'thinking', thinking: 'T2\n\nT3', signature: 'slc1.encrypted.ENC' },
      { type: 'text', text: 'Hi' },
      { type: 'tool_use', id: 'call_9', name: 'f', input: { city: 'Oslo' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 50,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 10,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 10 },
      output_tokens: 30,
      output_tokens_details: { thinking_tokens: 12 },
      service_tier: 'standard',
    },
  })
  expect(losses).toEqual([])
})

describe('parts', () => {
  const reasoning: ReasoningPart = { type: 'reasoning', texts: ['T'] }

  test.each<[string, AssistantPart, unknown[], string[]]>([
    ['empty text', { type: 'text', text: '' }, [], []],
    ['empty reasoning', { type: 'reasoning', texts: [''] }, [], []],
    ['reasoning without carrier', reasoning, [{ type: 'thinking', thinking: 'T', signature: '' }], []],
    [
      'a signature of this dialect',
      { type: 'reasoning', texts: [], carrier: { dialect: 'messages', kind: 'signature', value: 'S' } },
      [{ type: 'thinking', thinking: '', signature: 'S' }],
      [],
    ],
    [
      'redacted thinking',
      { type: 'reasoning', texts: [], carrier: { dialect: 'messages', kind: 'redacted', value: 'D' } },
      [{ type: 'redacted_thinking', data: 'D' }],
      [],
    ],
    [
      'details of a chat upstream',
      { ...reasoning, carrier: { dialect: 'chat', kind: 'details', value: '[1]' } },
      [{ type: 'thinking', thinking: 'T', signature: 'slc1.details.[1]' }],
      [],
    ],
    [
      'a call without arguments',
      { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '' },
      [{ type: 'tool_use', id: 'c', name: 'f', input: {} }],
      [],
    ],
    [
      'arguments that are not JSON',
      { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '{"a":' },
      [],
      ['tools'],
    ],
    [
      'arguments that are not an object',
      { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '[1]' },
      [],
      ['tools'],
    ],
    [
      'a call that was cut',
      { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '', cut: true },
      [],
      ['tools'],
    ],
    [
      'free text that was cut',
      { type: 'tool-call', callId: 'c', name: 'f', kind: 'custom', input: 'a', cut: true },
      [],
      ['tools'],
    ],
    [
      'a call without id',
      { type: 'tool-call', callId: '', name: 'f', kind: 'function', input: '{}' },
      [{ type: 'tool_use', id: 'toolu_X10', name: 'f', input: {} }],
      [],
    ],
    [
      'free text',
      { type: 'tool-call', callId: 'c', name: 'f', kind: 'custom', input: 'a "b"' },
      [{ type: 'tool_use', id: 'c', name: 'f', input: { input: 'a "b"' } }],
      [],
    ],
    [
      'a call with a carrier',
      {
        type: 'tool-call',
        callId: 'c',
        name: 'f',
        kind: 'function',
        input: '{}',
        carrier: { dialect: 'chat', kind: 'extra_content', value: '{}' },
      },
      [{ type: 'tool_use', id: 'c', name: 'f', input: {} }],
      ['messages.content.signature'],
    ],
    [
      'a link',
      { type: 'text', text: 'x', annotations: [{ type: 'url', url: 'u' }] },
      [
        {
          type: 'text',
          text: 'x',
          citations: [
            {
              type: 'web_search_result_location',
              url: 'u',
              title: null,
              cited_text: '',
              encrypted_index: '',
            },
          ],
        },
      ],
      [],
    ],
    [
      'a link with its position',
      { type: 'text', text: 'x', annotations: [{ type: 'url', url: 'u', title: 'A', start: 0, end: 1 }] },
      [
        {
          type: 'text',
          text: 'x',
          citations: [
            { type: 'web_search_result_location', url: 'u', title: 'A', cited_text: '', encrypted_index: '' },
          ],
        },
      ],
      ['messages.content.citations'],
    ],
    [
      'an annotation of another dialect',
      {
        type: 'text',
        text: 'x',
        annotations: [{ type: 'other', ext: { dialect: 'responses', at: '', fields: { file_id: 'f' } } }],
      },
      [{ type: 'text', text: 'x' }],
      ['messages.content.citations'],
    ],
    [
      'log-probabilities',
      { type: 'text', text: 'x', logprobs: [{}] },
      [{ type: 'text', text: 'x' }],
      ['logprobs'],
    ],
    [
      'an item of another dialect',
      { type: 'hosted', dialect: 'responses', name: 'web_search_call', item: { type: 'web_search_call' } },
      [],
      ['messages.content'],
    ],
    [
      'an image',
      { type: 'image', source: { kind: 'url', url: 'https://e.x/a b.png' } },
      [{ type: 'text', text: '![image](https://e.x/a%20b.png)' }],
      [],
    ],
    [
      'an image that only its vendor stores',
      { type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } },
      [],
      ['messages.content.source'],
    ],
    ['audio', { type: 'audio', base64: 'AA', format: 'wav' }, [], ['audio']],
  ])('%s', (_, part, content, losses) => {
    expect(contentOf(part)).toEqual([content, losses])
  })
})

describe('stop', () => {
  test.each<[Finish, object]>([
    [{ reason: 'stop' }, { stop_reason: 'end_turn' }],
    [
      { reason: 'stop', stopSequence: 'END' },
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    [{ reason: 'stop', raw: 'pause_turn' }, { stop_reason: 'pause_turn' }],
    [{ reason: 'stop', raw: 'eos' }, { stop_reason: 'end_turn' }],
    [{ reason: 'length' }, { stop_reason: 'max_tokens' }],
    [{ reason: 'length', raw: 'max_output_tokens' }, { stop_reason: 'max_tokens' }],
    [
      { reason: 'length', raw: 'model_context_window_exceeded' },
      { stop_reason: 'model_context_window_exceeded' },
    ],
    [{ reason: 'tool-calls', stopSequence: 'END' }, { stop_reason: 'tool_use' }],
    [{ reason: 'content-filter' }, { stop_reason: 'refusal' }],
    [
      { reason: 'content-filter', explanation: 'No.' },
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: 'No.' } },
    ],
  ])('%j', (finish, expected) => {
    const { stop_reason, stop_sequence, stop_details } = write({ parts: [], finish }).message
    expect({ stop_reason, stop_sequence, stop_details }).toEqual({
      stop_sequence: null,
      stop_details: null,
      ...expected,
    })
  })

  test('a refusal with text', () => {
    const { message } = write(answerOf({ type: 'refusal', text: 'I will not.' }))
    expect(message).toMatchObject({
      content: [{ type: 'text', text: 'I will not.' }],
      stop_reason: 'refusal',
    })
  })
})

describe('usage', () => {
  test('that is unknown is estimated', () => {
    expect(write(answerOf()).message.usage).toEqual({ input_tokens: 7, output_tokens: 0 })
  })

  test.each<[string, object, string[]]>([
    ['priority', { service_tier: 'priority' }, []],
    ['fast', { speed: 'fast' }, []],
    ['flex', {}, ['service_tier']],
  ])('writes the tier %s', (tier, expected, losses) => {
    const written = write({ ...answerOf(), tier })
    expect(written.message.usage).toEqual({ input_tokens: 7, output_tokens: 0, ...expected })
    expect(written.losses).toEqual(losses)
  })
})
