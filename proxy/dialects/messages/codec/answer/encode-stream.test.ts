import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { type Message, readMessagesStream } from '../../../../../test/conformance/dialects/strict-messages.ts'
import { fold } from '../../../ir/fold.ts'
import type { StreamPart } from '../../../ir/types.ts'
import { isRecord } from '../../../json/value.ts'
import { call, dataOf, ERROR, hear, newClient, say, tell } from './block-testing.ts'
import { encodeStream } from './encode-stream.ts'

const START: StreamPart = { type: 'start' }
const FINISH: StreamPart = { type: 'finish', finish: { reason: 'stop' } }

/** The message that a client makes of these parts between start and finish. */
function heard(...parts: StreamPart[]): Message {
  const calls = parts.some(({ type }) => type === 'tool-call-start')
  const finish: StreamPart = { type: 'finish', finish: { reason: calls ? 'tool-calls' : 'stop' } }
  return readMessagesStream(tell([START, ...parts, finish]).text)
}

test('the stream of the protocol, event by event', () => {
  const usage = { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10 }
  const { text, losses } = tell([
    { type: 'start', id: 'chatcmpl-7', model: 'up', usage },
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', text: 'T2', paragraph: 0 },
    { type: 'reasoning-end', id: 'r', carrier: { dialect: 'messages', kind: 'signature', value: 'SIG2' } },
    ...say('t', 'Hi'),
    { type: 'tool-call-start', id: 'c', callId: 'call_9', name: 'get_weather', kind: 'function' },
    { type: 'tool-call-delta', id: 'c', text: '{"city":"Oslo"}' },
    { type: 'tool-call-end', id: 'c' },
    { type: 'finish', finish: { reason: 'tool-calls' }, usage: { ...usage, output: 30, reasoning: 12 } },
  ])
  const names = text.split('\n').flatMap((line) => (line.startsWith('event: ') ? [line.slice(7)] : []))
  const data = dataOf(text)
  expect(names).toEqual(data.map(({ type }) => type))
  expect(data).toMatchObject([
    {
      type: 'message_start',
      message: {
        id: 'msg_X1',
        type: 'message',
        role: 'assistant',
        model: 'asked',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: 40,
          cache_creation_input_tokens: 10,
          output_tokens: 1,
        },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'T2' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'SIG2' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'call_9', name: 'get_weather', input: {} },
    },
    {
      type: 'content_block_delta',
      index: 2,
      delta: { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' },
    },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: {
        input_tokens: 50,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 10,
        output_tokens: 30,
        output_tokens_details: { thinking_tokens: 12 },
      },
    },
    { type: 'message_stop' },
  ])
  expect(data).toHaveLength(13)
  expect(losses).toEqual([])
})

describe('usage', () => {
  const usageAt = (parts: StreamPart[], event: 'message_start' | 'message_delta'): unknown => {
    const data = dataOf(tell(parts).text).find(({ type }) => type === event) ?? {}
    return isRecord(data.message) ? data.message.usage : data.usage
  }

  test('of the start is estimated, and never without input', () => {
    expect(usageAt([START], 'message_start')).toEqual({ input_tokens: 7, output_tokens: 1 })
    const nothing: StreamPart = { type: 'start', usage: zeroUsage() }
    expect(usageAt([nothing], 'message_start')).toEqual({ input_tokens: 7, output_tokens: 1 })
    const cached: StreamPart = { type: 'start', usage: { ...zeroUsage(), cachedInput: 9 } }
    expect(usageAt([cached], 'message_start')).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 9 })
  })

  test('of the end repeats the input', () => {
    const usage = { ...zeroUsage(), input: 50, cachedInput: 40, output: 30 }
    const finish: StreamPart = { type: 'finish', finish: { reason: 'stop' }, usage, tier: 'priority' }
    expect(usageAt([START, finish], 'message_delta')).toMatchObject({
      input_tokens: 50,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 0,
      output_tokens: 30,
      service_tier: 'priority',
    })
    expect(usageAt([START, FINISH], 'message_delta')).toEqual({ input_tokens: 7, output_tokens: 0 })
  })
})

describe('blocks', () => {
  const reason = (...texts: string[]): StreamPart[] => [
    { type: 'reasoning-start', id: 'r' },
    ...texts.map((text, paragraph): StreamPart => ({ type: 'reasoning-delta', id: 'r', text, paragraph })),
  ]

  test.each<[string, StreamPart[], object[]]>([
    ['text without text', say('t', ''), []],
    ['reasoning without anything', [...reason(''), { type: 'reasoning-end', id: 'r' }], []],
    [
      'paragraphs',
      [...reason('A', '', 'B'), { type: 'reasoning-end', id: 'r' }],
      [{ type: 'thinking', thinking: 'A\n\nB', signature: '' }],
    ],
    [
      'a sealed carrier without text',
      [
        ...reason(),
        {
          type: 'reasoning-end',
          id: 'r',
          carrier: { dialect: 'responses', kind: 'encrypted', value: 'ENC' },
        },
      ],
      [{ type: 'thinking', thinking: '', signature: 'slc1.encrypted.ENC' }],
    ],
    [
      'redacted thinking',
      [
        ...reason(),
        { type: 'reasoning-end', id: 'r', carrier: { dialect: 'messages', kind: 'redacted', value: 'D' } },
      ],
      [{ type: 'redacted_thinking', data: 'D' }],
    ],
    ['a call without arguments', call('a'), [{ type: 'tool_use', id: 'call_a', name: 'f', input: {} }]],
    [
      'free text',
      [
        { type: 'tool-call-start', id: 'a', callId: 'c', name: 'f', kind: 'custom' },
        { type: 'tool-call-delta', id: 'a', text: 'a ' },
        { type: 'tool-call-delta', id: 'a', text: '"b"' },
        { type: 'tool-call-end', id: 'a' },
      ],
      [{ type: 'tool_use', id: 'c', name: 'f', input: { input: 'a "b"' } }],
    ],
    [
      'an item of a tool of this vendor',
      [
        {
          type: 'whole',
          id: 'w',
          part: {
            type: 'hosted',
            dialect: 'messages',
            name: 'server_tool_use',
            item: { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
          },
        },
      ],
      [{ type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }],
    ],
    [
      'a compaction',
      [
        {
          type: 'whole',
          id: 'w',
          part: {
            type: 'hosted',
            dialect: 'messages',
            name: 'compaction',
            item: { type: 'compaction', content: 'Summary', encrypted_content: 'E' },
          },
        },
      ],
      [{ type: 'compaction', content: 'Summary', encrypted_content: 'E' }],
    ],
    [
      'a citation',
      [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', text: 'x' },
        { type: 'annotation', id: 't', annotation: { type: 'url', url: 'u', title: 'A' } },
        { type: 'text-end', id: 't' },
      ],
      [
        {
          type: 'text',
          text: 'x',
          citations: [
            { type: 'web_search_result_location', url: 'u', title: 'A', cited_text: '', encrypted_index: '' },
          ],
        },
      ],
    ],
  ])('%s', (_, parts, content) => {
    expect(heard(...parts).content).toEqual(content)
  })

  test('deltas of unknown parts are nothing', () => {
    expect(heard({ type: 'text-delta', id: '?', text: 'x' }, { type: 'text-end', id: '?' }).content).toEqual(
      [],
    )
  })

  test('a refusal in words', () => {
    const message = heard(
      { type: 'refusal-start', id: 'x' },
      { type: 'refusal-delta', id: 'x', text: 'No.' },
      { type: 'refusal-end', id: 'x' },
    )
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'No.' }], stop_reason: 'refusal' })
  })

  test.each([
    ['{"a":', ['tools']],
    ['[1]', ['tools']],
    ['', []],
  ])('arguments %j of a call', (input, expected) => {
    expect(tell([START, ...call('a', input)]).losses).toEqual(expected)
  })

  test('losses are told', () => {
    const { losses } = tell([
      START,
      { type: 'whole', id: 'i', part: { type: 'image', source: { kind: 'url', url: 'u' } } },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'x', logprobs: [{}] },
      { type: 'annotation', id: 't', annotation: { type: 'url', url: 'u', start: 0, end: 1 } },
      { type: 'text-end', id: 't' },
    ])
    expect(losses.sort()).toEqual(['logprobs', 'messages.content.citations', 'messages.content.source'])
  })
})

test('an error ends the stream as this API has it', () => {
  expect(encodeStream(newClient()).error(ERROR, 'req_1')).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Busy.","code":"upstream_error"},"request_id":"req_1"}\n\n',
  )
})

describe('back into the same dialect', () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2, service_tier: 'standard' },
  }
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '', citations: [] } },
    {
      type: 'content_block_delta',
      index: 1,
      delta: {
        type: 'citations_delta',
        citation: {
          type: 'web_search_result_location',
          url: 'u',
          title: null,
          cited_text: 'q',
          encrypted_index: 'E',
        },
      },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'x' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'c', name: 'f', caller: { type: 'direct' }, input: {} },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null, container: { id: 'c1' } },
      usage: { input_tokens: 5, output_tokens: 9, server_tool_use: { web_search_requests: 1 } },
      context_management: { applied_edits: [] },
    },
    { type: 'message_stop' },
  ]

  test('nothing is lost', () => {
    const { text, losses } = tell(hear(events).parts)
    expect(losses).toEqual([])
    expect(readMessagesStream(text)).toEqual({
      ...message,
      model: 'asked',
      stop_details: null,
      content: [
        { type: 'text', text: '' },
        {
          type: 'text',
          text: 'x',
          citations: [
            {
              type: 'web_search_result_location',
              url: 'u',
              title: null,
              cited_text: 'q',
              encrypted_index: 'E',
            },
          ],
        },
        { type: 'tool_use', id: 'c', name: 'f', caller: { type: 'direct' }, input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      container: { id: 'c1' },
      context_management: { applied_edits: [] },
      usage: {
        input_tokens: 5,
        output_tokens: 9,
        service_tier: 'standard',
        server_tool_use: { web_search_requests: 1 },
      },
    })
  })

  test('the second reading is the first', () => {
    const first = hear(events).parts
    const second = hear(dataOf(tell(first).text)).parts
    expect({ ...fold(second), model: 'up' }).toEqual(fold(first))
  })
})
