import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import type { AssistantPart, ModelAnswer } from '../../../core/neutral/types.ts'
import { chat } from '../../index.ts'
import { clientOf, parse } from '../testing.ts'

const PARSED = parse({ model: 'M', messages: [{ role: 'user', content: 'Hi' }] })
const read = (value: unknown) => chat.codec.decodeAnswer(value, PARSED)
const answerOf = (message: object, finish_reason: unknown = 'stop', more: object = {}) => ({
  id: 'chatcmpl-up',
  object: 'chat.completion',
  created: 1_600_000_000,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason, logprobs: null }],
  ...more,
})
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }

describe('an upstream’s answer', () => {
  test('whole', () => {
    const value = answerOf(
      {
        content: 'Hi',
        refusal: null,
        reasoning: 'T',
        reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: 'S', index: 0 }],
        tool_calls: [CALL, { id: 'call_2', type: 'custom', custom: { name: 'c', input: 'x' } }],
        annotations: [
          {
            type: 'url_citation',
            url_citation: { url: 'https://example.com', title: 't', start_index: 0, end_index: 2 },
          },
        ],
      },
      'stop',
      { usage: { prompt_tokens: 9, completion_tokens: 4 }, service_tier: 'flex', system_fingerprint: 'fp' },
    )
    expect(read(value)).toMatchObject({
      tier: 'flex',
      usage: { input: 9, output: 4 },
      finish: { reason: 'tool-calls' },
      parts: [
        {
          type: 'reasoning',
          texts: ['T'],
          carrier: {
            dialect: 'chat',
            kind: 'details',
            value: '[{"type":"reasoning.text","text":"T","signature":"S","index":0}]',
          },
        },
        {
          type: 'text',
          text: 'Hi',
          annotations: [{ type: 'url', url: 'https://example.com', title: 't', start: 0, end: 2 }],
        },
        { type: 'tool-call', callId: 'call_1', name: 'f', kind: 'function', input: '{"a":1}' },
        { type: 'tool-call', callId: 'call_2', name: 'c', kind: 'custom', input: 'x' },
      ],
    })
  })

  test.each<[unknown, object, string]>([
    ['stop', {}, 'stop'],
    ['length', {}, 'length'],
    ['content_filter', {}, 'content-filter'],
    ['tool_calls', { tool_calls: [CALL] }, 'tool-calls'],
    ['function_call', { function_call: { name: 'f', arguments: '' } }, 'tool-calls'],
    ['stop', { tool_calls: [CALL] }, 'tool-calls'],
    ['length', { tool_calls: [CALL] }, 'length'],
    ['tool_calls', {}, 'stop'],
    ['eos', {}, 'stop'],
    [null, {}, 'stop'],
    [undefined, {}, 'stop'],
  ])('finish_reason %s with %j is %s', (word, message, reason) => {
    expect(read(answerOf({ content: 'x', ...message }, word))).toMatchObject({ finish: { reason } })
  })

  test.each<[string, unknown, AssistantPart[]]>([
    ['null content', { content: null }, []],
    ['empty content', { content: '', reasoning_content: '' }, []],
    ['a refusal', { content: null, refusal: 'No' }, [{ type: 'refusal', text: 'No' }]],
    [
      'a list with reasoning',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'T' }] },
          { type: 'text', text: 'x' },
        ],
      },
      [
        { type: 'reasoning', texts: ['T'] },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'reasoning in details alone',
      { content: 'x', reasoning_details: [{ type: 'reasoning.summary', summary: 'S' }] },
      [
        { type: 'reasoning', texts: ['S'] },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'images',
      { content: '', images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      [{ type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' } }],
    ],
    [
      'a call without an id, with an object for arguments',
      { tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }, 'x', {}] },
      [{ type: 'tool-call', callId: 'call_chatcmpl-up_0', name: 'f', kind: 'function', input: '{"a":1}' }],
    ],
    [
      'a called function with an empty custom field',
      { tool_calls: [{ ...CALL, custom: { name: '', input: '' } }] },
      [{ type: 'tool-call', callId: 'call_1', name: 'f', kind: 'function', input: '{"a":1}' }],
    ],
    [
      'a called custom tool with an empty function field',
      {
        tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'c', input: 'x' }, function: { name: '' } }],
      },
      [{ type: 'tool-call', callId: 'c', name: 'c', kind: 'custom', input: 'x' }],
    ],
    [
      'no type, a function and an empty custom field',
      { tool_calls: [{ ...CALL, type: undefined, custom: { name: '', input: '' } }] },
      [{ type: 'tool-call', callId: 'call_1', name: 'f', kind: 'function', input: '{"a":1}' }],
    ],
    [
      'no type, a custom tool and an empty function field',
      { tool_calls: [{ id: 'c', function: { arguments: '' }, custom: { name: 'c', input: 'x' } }] },
      [{ type: 'tool-call', callId: 'c', name: 'c', kind: 'custom', input: 'x' }],
    ],
    [
      'values of wrong types',
      { content: null, refusal: {}, annotations: 5, images: [1], reasoning_details: 'x' },
      [],
    ],
  ])('%s', (_, message, parts) => {
    expect(read(answerOf(message as object))).toMatchObject({ parts })
  })

  test.each<[string, unknown, object]>([
    ['an error', { error: { code: 'insufficient_quota' } }, { class: 'quota', status: 200 }],
    [
      'an error of the choice',
      { choices: [{ error: { code: 502, message: 'x' }, message: {} }] },
      { class: 'transient' },
    ],
    [
      'a choice that was cut',
      answerOf({ content: 'x' }, 'error'),
      { class: 'unknown', detail: 'error_in_answer' },
    ],
    ['content that is not text', answerOf({ content: 5 }), { class: 'unknown', detail: 'unreadable_answer' }],
    ['calls that are not a list', answerOf({ tool_calls: 'x' }), { detail: 'unreadable_answer' }],
    [
      'a call without a name',
      answerOf({ tool_calls: [{ id: 'a', function: { arguments: '{}' } }] }),
      { detail: 'nameless_tool_call' },
    ],
    ['no choices', { choices: [] }, { class: 'unknown', detail: 'no_answer' }],
    ['a list', [], { class: 'unknown' }],
    ['nothing', undefined, { class: 'unknown' }],
    [
      'arguments that are nested too deep',
      JSON.parse(
        `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}}}]}}]}`,
      ),
      { class: 'unknown', detail: 'answer_too_deep' },
    ],
  ])('%s is a failure', (_, value, failure) => {
    expect(read(value)).toMatchObject(failure)
  })
})

describe('an answer for a client', () => {
  const write = (answer: Partial<ModelAnswer>, fields: object = {}) => {
    const client = clientOf(fields)
    const body = chat.codec.encodeAnswer({ parts: [], finish: { reason: 'stop' }, ...answer }, client)
    return { body, losses: client.losses.names }
  }

  test('whole', () => {
    const { body, losses } = write({
      tier: 'priority',
      parts: [
        { type: 'text', text: 'Hi', logprobs: [{ token: 'Hi' }] },
        {
          type: 'text',
          text: ' you',
          annotations: [{ type: 'url', url: 'https://example.com', start: 1, end: 4 }],
        },
        { type: 'tool-call', callId: 'toolu_1', name: 'f', kind: 'function', input: '' },
        { type: 'tool-call', callId: 'c2', name: 'c', kind: 'custom', input: '' },
      ],
      finish: { reason: 'tool-calls' },
      usage: { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10, output: 30, reasoning: 12 },
    })
    expect(body).toEqual({
      id: 'chatcmpl-x1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'M',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hi you',
            refusal: null,
            annotations: [
              {
                type: 'url_citation',
                url_citation: { start_index: 3, end_index: 6, title: '', url: 'https://example.com' },
              },
            ],
            tool_calls: [
              { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{}' } },
              { id: 'c2', type: 'custom', custom: { name: 'c', input: '' } },
            ],
          },
          logprobs: { content: [{ token: 'Hi' }], refusal: null },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 30,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 12 },
      },
      service_tier: 'priority',
    })
    expect(losses).toEqual([])
  })

  test.each<[Partial<ModelAnswer>, object]>([
    [
      { finish: { reason: 'stop', raw: 'pause_turn', stopSequence: 'END' } },
      { finish_reason: 'stop', message: { content: null } },
    ],
    [{ finish: { reason: 'length' } }, { finish_reason: 'length' }],
    [
      { finish: { reason: 'content-filter', explanation: 'Why' } },
      { finish_reason: 'content_filter', message: { refusal: 'Why' } },
    ],
    [
      {
        parts: [
          { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AA' } },
          { type: 'text', text: 'x' },
          { type: 'image', source: { kind: 'url', url: 'https://e.x' } },
        ],
      },
      { message: { content: '![image](data:image/png;base64,AA)x\n\n![image](https://e.x)' } },
    ],
    [
      { finish: { reason: 'content-filter', explanation: 'Why' }, parts: [{ type: 'refusal', text: 'No' }] },
      { message: { content: null, refusal: 'No' } },
    ],
  ])('%j', (answer, choice) => {
    expect(write(answer).body).toMatchObject({ choices: [choice] })
    expect(write(answer).body).not.toHaveProperty('usage')
  })

  test('a client of functions gets a function call', () => {
    const { body } = write(
      {
        parts: [{ type: 'tool-call', callId: '1', name: 'f', kind: 'function', input: '{"a":1}' }],
        finish: { reason: 'tool-calls' },
      },
      { functions: [{ name: 'f' }] },
    )
    expect(body).toMatchObject({
      choices: [
        { message: { function_call: { name: 'f', arguments: '{"a":1}' } }, finish_reason: 'function_call' },
      ],
    })
  })

  test('parts without an equivalent in chat are losses', () => {
    const { losses } = write({
      parts: [
        { type: 'hosted', dialect: 'messages', name: 'x', item: {} },
        {
          type: 'text',
          text: 'x',
          annotations: [{ type: 'other', ext: { dialect: 'messages', at: '', fields: {} } }],
        },
      ],
    })
    expect(losses).toEqual(['hosted', 'messages.annotations'])
  })
})

const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined ? join(import.meta.dirname, '../../__fixtures__') : join(RECORDINGS, 'chat')
const files = readdirSync(folder).filter((file) => file.endsWith('.json'))

describe(
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams',
  () => {
    test.each(files)('%s is the same after encoding and decoding', (file) => {
      const value = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      const answer = read(value)
      if (!('parts' in answer)) {
        expect(value.error).toBeTruthy()
        return
      }
      const again = read(chat.codec.encodeAnswer(answer, clientOf()))
      expect(again).toMatchObject({ parts: answer.parts, finish: answer.finish })
      expect('usage' in again ? again.usage : undefined).toEqual(answer.usage)
    })
  },
)
