import { describe, expect, test } from 'vitest'
import { fold } from '../../../core/neutral/fold.ts'
import type { AssistantPart } from '../../../core/neutral/types.ts'
import {
  CALL,
  decodeEvents,
  delta,
  end,
  json,
  START,
  STOP,
  start,
  stop,
  TEXT,
  text,
} from './block-testing.ts'

/** The parts of a whole stream with these block events. */
function partsOf(...events: object[]): AssistantPart[] {
  return fold(decodeEvents([START, ...events, end('end_turn'), STOP]).parts)?.parts ?? []
}

const callOf = (input: string): AssistantPart => ({
  type: 'tool-call',
  callId: 'call_9',
  name: 'f',
  kind: 'function',
  input,
})

describe('blocks', () => {
  test.each<[string, object[], AssistantPart[]]>([
    ['a call without input', [start(0, CALL), stop(0)], [callOf('')]],
    ['a call with empty deltas', [start(0, CALL), json(0, ''), stop(0)], [callOf('')]],
    [
      'the input of a call in its start',
      [start(0, { ...CALL, input: { a: 1 } }), json(0, ''), stop(0)],
      [callOf('{"a":1}')],
    ],
    [
      'deltas count before the input of the start',
      [start(0, { ...CALL, input: { a: 1 } }), json(0, '{"b":2}'), stop(0)],
      [callOf('{"b":2}')],
    ],
    [
      'text after a call',
      [start(0, CALL), stop(0), start(1, TEXT), text(1, 'x'), stop(1)],
      [callOf(''), { type: 'text', text: 'x' }],
    ],
    [
      'parallel calls',
      [
        start(0, { ...CALL, id: 'a' }),
        start(1, { ...CALL, id: 'b' }),
        json(1, '{"b"'),
        json(0, '{"a"'),
        json(1, ':1}'),
        json(0, ':1}'),
        stop(1),
        stop(0),
      ],
      [
        { ...callOf('{"a":1}'), callId: 'a' } as AssistantPart,
        { ...callOf('{"b":1}'), callId: 'b' } as AssistantPart,
      ],
    ],
    [
      'redacted thinking',
      [start(0, { type: 'redacted_thinking', data: 'D' }), stop(0)],
      [
        {
          type: 'reasoning',
          texts: [],
          carrier: { dialect: 'messages', kind: 'redacted', value: 'D' },
        },
      ],
    ],
    [
      'the last signature',
      [
        start(0, { type: 'thinking', thinking: '', signature: '' }),
        delta(0, { type: 'signature_delta', signature: 'AB' }),
        delta(0, { type: 'signature_delta', signature: 'CD' }),
        stop(0),
      ],
      [
        {
          type: 'reasoning',
          texts: [],
          carrier: { dialect: 'messages', kind: 'signature', value: 'CD' },
        },
      ],
    ],
    [
      'text and thinking in their starts',
      [
        start(0, { type: 'thinking', thinking: 'T', signature: 'S' }),
        stop(0),
        start(1, { type: 'text', text: 'x' }),
        stop(1),
      ],
      [
        {
          type: 'reasoning',
          texts: ['T'],
          carrier: { dialect: 'messages', kind: 'signature', value: 'S' },
        },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'a block without a stop',
      [start(0, TEXT), text(0, 'x'), start(1, CALL), json(1, '{}')],
      [{ type: 'text', text: 'x' }, callOf('{}')],
    ],
    [
      'deltas without a start',
      [delta(0, { type: 'thinking_delta', thinking: 'T' }), text(1, 'x'), text(1, 'y'), json(2, '{}')],
      [
        { type: 'reasoning', texts: ['T'] },
        { type: 'text', text: 'xy' },
      ],
    ],
    [
      'deltas of another kind than their block',
      [
        start(0, { type: 'thinking', thinking: '' }),
        text(0, 'x'),
        delta(0, { type: 'thinking_delta', thinking: 'T' }),
      ],
      [
        { type: 'reasoning', texts: [] },
        { type: 'text', text: 'x' },
        { type: 'reasoning', texts: ['T'] },
      ],
    ],
    [
      'text after the stop of its block',
      [start(0, TEXT), text(0, 'x'), stop(0), text(0, 'y')],
      [
        { type: 'text', text: 'x' },
        { type: 'text', text: 'y' },
      ],
    ],
    [
      'blocks without index',
      [start(undefined, TEXT), text(undefined, 'x'), stop(undefined), start(undefined, CALL)],
      [{ type: 'text', text: 'x' }, callOf('')],
    ],
    [
      'the input of a tool that the vendor runs',
      [
        start(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
        json(0, '{"query":'),
        json(0, '"q"}'),
        stop(0),
        start(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
        stop(1),
      ],
      [
        {
          type: 'hosted',
          dialect: 'messages',
          name: 'server_tool_use',
          item: { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
        },
        {
          type: 'hosted',
          dialect: 'messages',
          name: 'web_search_tool_result',
          item: { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        },
      ],
    ],
    [
      'a compaction',
      [
        start(0, { type: 'compaction', content: null }),
        delta(0, { type: 'compaction_delta', content: 'Summary', encrypted_content: 'E' }),
        stop(0),
      ],
      [
        {
          type: 'hosted',
          dialect: 'messages',
          name: 'compaction',
          item: { type: 'compaction', content: 'Summary', encrypted_content: 'E' },
        },
      ],
    ],
    ['invalid blocks', [start(0, { text: 'x' }), { type: 'content_block_start' }, stop(0), stop(7)], []],
  ])('%s', (_, events, expected) => {
    expect(partsOf(...events)).toEqual(expected)
  })

  test('citations', () => {
    const citation = { type: 'web_search_result_location', url: 'u', title: 'A', cited_text: 'q' }
    const parts = partsOf(
      start(0, { ...TEXT, citations: [] }),
      delta(0, { type: 'citations_delta', citation }),
      text(0, 'x'),
      stop(0),
    )
    expect(parts).toMatchObject([
      {
        text: 'x',
        annotations: [{ type: 'url', url: 'u', title: 'A' }],
      },
    ])
  })

  test('calls in message_start', () => {
    const message = { ...START.message, content: [{ ...CALL, input: { a: 1 } }] }
    const { parts } = decodeEvents([{ ...START, message }, end('tool_use'), STOP])
    expect(fold(parts)?.parts).toEqual([callOf('{"a":1}')])
    expect(fold(parts)?.finish.reason).toBe('tool-calls')
  })
})
