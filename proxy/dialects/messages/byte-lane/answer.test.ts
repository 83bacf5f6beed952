import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { readEvents } from '../../core/sse/reader.ts'
import { parseRequest } from '../request.ts'
import { readAnswer } from './answer.ts'
import { MessagesStreamObserver } from './stream.ts'

const BODY = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }
const REQUEST = parseRequest(Buffer.from(JSON.stringify(BODY)), { maxDepth: 9, maxKeys: 99 }, {})
const CITATION = { type: 'char_location', cited_text: 'c' }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [
    { type: 'thinking', thinking: 'T2', signature: 'SIG2' },
    { type: 'redacted_thinking', data: 'R' },
    { type: 'text', text: 'Hé', citations: [CITATION] },
    { type: 'tool_use', id: 'call_9', name: 'get_weather', input: { city: 'Oslo' } },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [{ a: 1 }] },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 50, cache_read_input_tokens: 40, output_tokens: 30, service_tier: 'standard' },
}

function read(value: unknown, asStream = false) {
  return readAnswer(Buffer.from(JSON.stringify(value)), REQUEST, asStream)
}

test('bytes pass, and usage, tier and output size are read', () => {
  expect(read(MESSAGE)).toEqual({
    body: Buffer.from(JSON.stringify(MESSAGE)),
    usage: {
      input: 50,
      cachedInput: 40,
      cacheWrite: 0,
      cacheWriteLong: 0,
      output: 30,
      reasoning: 0,
      images: 0,
    },
    tier: 'default',
    delivered: { deltas: 3, bytes: 2 + 3 + '{"city":"Oslo"}'.length },
  })
})

test.each([
  [
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    { class: 'transient', status: 200 },
  ],
  [{ error: { type: 'invalid_request_error', message: 'x' } }, { class: 'caller_fault', status: 200 }],
  [
    { id: 'msg_1', type: 'message' },
    { class: 'unknown', detail: 'no_answer' },
  ],
  [[], { class: 'unknown', detail: 'no_answer' }],
])('%j under 200 is a failure', (value, failure) => {
  expect(read(value)).toMatchObject(failure)
})

test('invalid JSON is not an answer', () => {
  expect(readAnswer(Buffer.from('<html>'), REQUEST, false)).toMatchObject({ detail: 'no_answer' })
})

describe('as a stream', () => {
  const answer = read(MESSAGE, true)
  const bytes = 'body' in answer ? answer.body : Buffer.alloc(0)
  interface Event extends Record<string, unknown> {
    event: string
    delta?: { type: string }
  }
  const events: Event[] = []
  readEvents(bytes.toString(), (event, data) => events.push({ event, ...JSON.parse(data) }))

  test('each event has its type as name, and blocks follow one another with their deltas', () => {
    for (const { event, type } of events) expect(event).toBe(type)
    expect(
      events.map(({ type, index, delta }) => [type, index, delta?.type].filter((x) => x !== undefined)),
    ).toEqual([
      ['message_start'],
      ['content_block_start', 0],
      ['content_block_delta', 0, 'thinking_delta'],
      ['content_block_delta', 0, 'signature_delta'],
      ['content_block_stop', 0],
      ['content_block_start', 1],
      ['content_block_stop', 1],
      ['content_block_start', 2],
      ['content_block_delta', 2, 'text_delta'],
      ['content_block_delta', 2, 'citations_delta'],
      ['content_block_stop', 2],
      ['content_block_start', 3],
      ['content_block_delta', 3, 'input_json_delta'],
      ['content_block_stop', 3],
      ['content_block_start', 4],
      ['content_block_stop', 4],
      ['message_delta'],
      ['message_stop'],
    ])
  })

  test('a block with deltas starts empty', () => {
    const starts = events.filter(({ type }) => type === 'content_block_start').map((e) => e.content_block)
    expect(starts).toEqual([
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'redacted_thinking', data: 'R' },
      { type: 'text', text: '' },
      { type: 'tool_use', id: 'call_9', name: 'get_weather', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [{ a: 1 }] },
    ])
    expect(events[0]?.message).toMatchObject({
      id: 'msg_1',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 50 },
    })
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: MESSAGE.usage,
    })
  })

  test('the observer accepts it as finished, with the same usage', () => {
    const observer = new MessagesStreamObserver(REQUEST, 10_000)
    expect(observer.push(bytes)).toEqual(bytes)
    expect(observer.finished).toBe(true)
    expect(observer.usage).toEqual('usage' in answer && answer.usage)
  })
})
