import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { isRecord } from '../../../core/json/value.ts'
import { fold } from '../../../core/neutral/fold.ts'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { dataOf, decodeEvents, ERROR, encodeParts, newClient, textParts } from './block-testing.ts'
import { MessagesStreamEncoder } from './encode-stream.ts'

const START: StreamPart = { type: 'start' }
const FINISH: StreamPart = { type: 'finish', finish: { reason: 'stop' } }

test('the stream of the protocol, event by event', () => {
  const usage = { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10 }
  const { text, losses } = encodeParts([
    { type: 'start', usage },
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', text: 'T2', paragraph: 0 },
    { type: 'reasoning-end', id: 'r', carrier: { dialect: 'messages', kind: 'signature', value: 'SIG2' } },
    ...textParts('t', 'Hi'),
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
        model: 'client-model',
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
    const data = dataOf(encodeParts(parts).text).find(({ type }) => type === event) ?? {}
    return isRecord(data.message) ? data.message.usage : data.usage
  }

  test('in message_start is estimated, and always has input', () => {
    expect(usageAt([START], 'message_start')).toEqual({ input_tokens: 7, output_tokens: 1 })
    const nothing: StreamPart = { type: 'start', usage: zeroUsage() }
    expect(usageAt([nothing], 'message_start')).toEqual({ input_tokens: 7, output_tokens: 1 })
    const cached: StreamPart = { type: 'start', usage: { ...zeroUsage(), cachedInput: 9 } }
    expect(usageAt([cached], 'message_start')).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 9 })
  })

  test('at the end repeats the input', () => {
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

test('an error ends the stream in the format of this API', () => {
  expect(new MessagesStreamEncoder(newClient()).error(ERROR, 'req_1')).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Busy.","code":"upstream_error"},"request_id":"req_1"}\n\n',
  )
})

describe('complete in the neutral form', () => {
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

  test('encoding and decoding again gives the same answer', () => {
    const first = decodeEvents(events).parts
    const second = decodeEvents(dataOf(encodeParts(first).text)).parts
    const answer = fold(first)
    // A block without content is left out.
    expect(answer?.parts[0]).toEqual({ type: 'text', text: '' })
    const { finish, usage, tier } = answer ?? {}
    expect(fold(second)).toMatchObject({ parts: answer?.parts.slice(1), finish, usage, tier })
  })
})
