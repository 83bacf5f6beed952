import { describe, expect, test } from 'vitest'
import { fold } from '../../../core/neutral/fold.ts'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { decodeData, decodeEvents, requestFor } from './answer-testing.ts'
import { ResponsesDecoder } from './decode-stream.ts'
import {
  added,
  args,
  CREATED,
  completed,
  delta,
  done,
  FC,
  MSG,
  messageOf,
  partsOf,
  RS,
  thought,
  types,
} from './decode-stream-testing.ts'

describe('sloppy upstreams', () => {
  test('a new item_id for each delta, and no output_item.added', () => {
    const events = [delta(0, 'a', 'H'), delta(0, 'b', 'i')]
    expect(partsOf([CREATED, ...events, completed({ output: [messageOf('Hi')] })])).toEqual([
      { type: 'text', text: 'Hi' },
    ])
  })

  test('reasoning that ends late does not hold back the text after it', () => {
    const summary = [{ type: 'summary_text', text: 'hm' }]
    const { parts } = decodeEvents([
      CREATED,
      added(0, RS),
      thought(0, 'hm'),
      added(1, MSG),
      delta(1, 'msg_1', 'Hi'),
    ])
    expect(types(parts)).toEqual([
      'start',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
    ])
    const events = [added(0, RS), thought(0, 'hm'), added(1, MSG), delta(1, 'msg_1', 'Hi')]
    const ends = [done(0, { ...RS, summary }), done(1, messageOf('Hi')), completed()]
    expect(partsOf([CREATED, ...events, ...ends])).toEqual([
      { type: 'reasoning', texts: ['hm'], raw: false },
      { type: 'text', text: 'Hi' },
    ])
  })

  test('a new item_id for each delta of parallel calls', () => {
    const second = { ...FC, id: 'fc_2', call_id: 'call_2' }
    const events = [
      added(0, FC),
      added(1, second),
      args('x', 1, '[2]'),
      args('y', 0, '[1'),
      args('z', 0, ']'),
    ]
    expect(partsOf([CREATED, ...events, completed()])).toMatchObject([
      { callId: 'call_1', input: '[1]' },
      { callId: 'call_2', input: '[2]' },
    ])
  })

  test('no ids and no indexes', () => {
    const bare = (delta: string) => ({ type: 'response.output_text.delta', delta })
    const item = { type: 'message', role: 'assistant', content: [] }
    const events = [{ type: 'response.output_item.added', item }, bare('H'), bare('i')]
    expect(partsOf([...events, completed()])).toEqual([{ type: 'text', text: 'Hi' }])
  })

  test('unknown events, comments of proxies and a trailing [DONE]', () => {
    const { parts, decoder } = decodeData([
      'ping',
      '',
      '[]',
      '{"type":"ping"}',
      '{"type":"response.web_search_call.searching","item_id":"ws_1"}',
      JSON.stringify(added(0, MSG)),
      JSON.stringify(delta(0, 'msg_1', 'Hi')),
      JSON.stringify(completed()),
      '[DONE]',
    ])
    expect(decoder.failure).toBeUndefined()
    expect(fold(parts)?.parts).toMatchObject([{ text: 'Hi' }])
  })

  test('the type only on the event line', () => {
    const parts: StreamPart[] = []
    const decoder = new ResponsesDecoder((part) => parts.push(part), requestFor())
    decoder.event('response.output_text.delta', '{"delta":"Hi"}')
    decoder.event('response.completed', '{"response":{}}')
    expect(fold(parts)?.parts).toMatchObject([{ text: 'Hi' }])
  })

  test.each([
    { item: 3 },
    { item: { type: 3 } },
    { item: { type: 'message', content: [3, { type: 'new' }] } },
    { item: { type: 'reasoning', summary: [3], content: {} } },
    { item: { type: 'function_call', name: 'f', arguments: {} } },
    { response: 'x', part: 3, annotation: 7, delta: null, content_index: -1, summary_index: 1e12 },
  ])('wrong types do not throw: %j', (fields) => {
    for (const type of [
      'response.created',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.reasoning_summary_text.delta',
      'response.reasoning_text.done',
      'response.refusal.done',
      'response.output_text.annotation.added',
      'response.function_call_arguments.delta',
      'response.content_part.done',
      'response.output_item.done',
    ]) {
      const { parts, decoder } = decodeEvents([{ type, ...fields }, { type, ...fields }, completed()])
      expect(decoder.finished).toBe(true)
      expect(() => fold(parts)).not.toThrow()
    }
  })

  test.each([
    ['unreadable_answer', { type: 'response.output_text.delta', delta: 7 }],
    ['unreadable_answer', { type: 'response.output_text.done', text: {} }],
    ['unreadable_answer', { type: 'response.reasoning_summary_text.delta', delta: [] }],
    ['unreadable_answer', { type: 'response.output_item.done', item: { type: 'message', content: 'x' } }],
    ['nameless_tool_call', { type: 'response.output_item.done', item: { type: 'function_call' } }],
  ])('%s: %j is lost content, so the stream is a failure', (detail, event) => {
    const { decoder } = decodeEvents([event, completed()])
    expect(decoder.failure).toEqual({ class: 'unknown', detail })
    expect(decoder.finished).toBe(false)
  })
})
