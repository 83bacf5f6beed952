import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { fold } from '../../../core/neutral/fold.ts'
import type { Finish } from '../../../core/neutral/types.ts'
import {
  CALL,
  decodeEvents,
  decodeRaw,
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

test('thinking, text and a call, piece by piece', () => {
  const { parts, finished, done } = decodeEvents([
    START,
    { type: 'ping' },
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'T2' }),
    delta(0, { type: 'signature_delta', signature: 'SIG2' }),
    stop(0),
    start(1, TEXT),
    text(1, 'H'),
    text(1, 'i'),
    stop(1),
    start(2, CALL),
    json(2, ''),
    json(2, '{"city":'),
    json(2, '"Oslo"}'),
    stop(2),
    end('tool_use', {
      usage: { input_tokens: 50, cache_read_input_tokens: null, output_tokens: 30 },
    }),
    STOP,
  ])
  expect(parts).toMatchObject([
    { type: 'start', usage: { input: 50, cachedInput: 40, output: 1 } },
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', text: 'T2', paragraph: 0 },
    {
      type: 'reasoning-end',
      id: '0',
      carrier: { dialect: 'messages', kind: 'signature', value: 'SIG2' },
    },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', text: 'H' },
    { type: 'text-delta', id: '1', text: 'i' },
    { type: 'text-end', id: '1' },
    { type: 'tool-call-start', id: '2', callId: 'call_9', name: 'f', kind: 'function' },
    { type: 'tool-call-delta', id: '2', text: '{"city":' },
    { type: 'tool-call-delta', id: '2', text: '"Oslo"}' },
    { type: 'tool-call-end', id: '2' },
    {
      type: 'finish',
      finish: { reason: 'tool-calls' },
      usage: { ...zeroUsage(), input: 50, cachedInput: 40, output: 30 },
    },
  ])
  expect(parts).toHaveLength(13)
  expect({ finished, done }).toEqual({ finished: true, done: true })
})

describe('the end', () => {
  const finishOf = (...events: object[]): Finish | undefined =>
    fold(decodeEvents([START, ...events, STOP]).parts)?.finish

  test.each<[object[], Finish]>([
    [[end('max_tokens')], { reason: 'length' }],
    [[end('end_turn')], { reason: 'stop' }],
    [[start(0, CALL), stop(0), end('end_turn')], { reason: 'tool-calls' }],
    [
      [end('stop_sequence', { delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' } })],
      { reason: 'stop', stopSequence: 'END' },
    ],
    [[], { reason: 'stop' }],
  ])('%j', (events, expected) => {
    expect(finishOf(...events)).toMatchObject(expected)
  })

  test.each<[string, object[]]>([
    ['nothing', []],
    ['a start', [START]],
    ['text', [START, start(0, TEXT), text(0, 'x')]],
    ['a stop reason', [START, start(0, TEXT), text(0, 'x'), stop(0), end('end_turn')]],
  ])('without message_stop is cut, after %s', (_, events) => {
    const decoded = decodeEvents(events)
    expect({ finished: decoded.finished, done: decoded.done }).toEqual({ finished: false, done: false })
    expect(decoded.parts.filter(({ type }) => type === 'finish')).toEqual([])
  })

  test('events after message_stop are ignored', () => {
    const { parts, failure } = decodeEvents([
      START,
      end('end_turn'),
      STOP,
      text(0, 'x'),
      { type: 'error', error: {} },
    ])
    expect(parts.map(({ type }) => type)).toEqual(['start', 'finish'])
    expect(failure).toBeUndefined()
  })

  test('the tier comes from message_start', () => {
    const message = { ...START.message, usage: { ...START.message.usage, service_tier: 'priority' } }
    const last = end('end_turn', { context_management: { applied_edits: [] } })
    const { parts } = decodeEvents([{ ...START, message }, last, STOP])
    expect(fold(parts)).toMatchObject({ tier: 'priority' })
  })
})

describe('failures', () => {
  test.each<[string, object]>([
    ['an error event', { type: 'error', error: { type: 'overloaded_error', message: 'secret' } }],
    ['an error without a type', { error: { type: 'overloaded_error', message: 'secret' } }],
  ])('%s', (_, event) => {
    const decoded = decodeEvents([START, start(0, TEXT), text(0, 'x'), event, text(0, 'y'), STOP])
    expect(decoded.failure).toMatchObject({ class: 'transient', detail: 'error_event' })
    expect(decoded.finished).toBe(false)
    expect(decoded.parts.at(-1)).toEqual({ type: 'text-delta', id: '0', text: 'x' })
    expect(JSON.stringify(decoded.failure)).not.toContain('secret')
  })

  test('an error event that is not JSON', () => {
    expect(decodeRaw([['error', 'oops']]).failure).toMatchObject({ detail: 'error_event' })
  })

  test.each(['content_block_delta', 'message_stop', ''])('a garbled event %j', (name) => {
    const decoded = decodeRaw([
      ['message_start', JSON.stringify(START)],
      [name, '{"type":"content_bl'],
      ['message_stop', JSON.stringify(STOP)],
    ])
    expect(decoded.failure).toMatchObject({ class: 'transient', detail: 'garbled_event' })
    expect(decoded.finished).toBe(false)
  })
})

describe('framing', () => {
  const EVENTS = [START, start(0, TEXT), text(0, 'x'), stop(0), end('end_turn'), STOP]
  const EXPECTED = decodeEvents(EVENTS).parts

  test('events without names', () => {
    expect(decodeRaw(EVENTS.map((data) => ['', JSON.stringify(data)])).parts).toEqual(EXPECTED)
  })

  test('data without types', () => {
    const bare = EVENTS.map(({ type, ...data }) => [type, JSON.stringify(data)] as const)
    const { parts, finished } = decodeRaw(bare)
    expect(fold(parts)).toEqual(fold(EXPECTED))
    expect(finished).toBe(true)
  })

  test('pings, unknown events and a stray [DONE]', () => {
    const between = [
      ['ping', '{"type":"ping"}'],
      ['ping', 'pong'],
      ['of_tomorrow', '{"type":"of_tomorrow"}'],
      ['of_tomorrow', '<html>'],
      ['', '[DONE] '],
      ['', ''],
    ] as const
    const events = EVENTS.flatMap((data) => [...between, [data.type, JSON.stringify(data)] as const])
    const { parts, failure } = decodeRaw(events)
    expect(parts).toEqual(EXPECTED)
    expect(failure).toBeUndefined()
  })

  test('no message_start', () => {
    expect(decodeEvents(EVENTS.slice(1)).parts.map(({ type }) => type)).toEqual([
      'start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ])
  })
})

test.each([
  ['unreadable_answer', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 7 } }],
  ['unreadable_answer', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: {} } }],
  [
    'unreadable_answer',
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: 1 } },
  ],
  [
    'nameless_tool_call',
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c' } },
  ],
])('%s: %j is lost content, so the stream is a failure', (detail, event) => {
  const { failure, finished, parts } = decodeEvents([event, STOP])
  expect(failure).toEqual({ class: 'unknown', detail })
  expect(finished).toBe(false)
  expect(parts.some(({ type }) => type === 'finish')).toBe(false)
})

test('for any sequence of events parts open before their deltas, and close', () => {
  const index = fc.constantFrom(0, 1, 'x', undefined)
  const value = fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 2 }))
  const types = ['text', 'thinking', 'tool_use', 'redacted_thinking', 'server_tool_use', 'text_delta']
  const deltas = [
    'input_json_delta',
    'thinking_delta',
    'signature_delta',
    'citations_delta',
    'compaction_delta',
  ]
  const piece = fc.record({
    type: fc.oneof(fc.constantFrom(...types, ...deltas), value),
    text: value,
    thinking: value,
    signature: value,
    partial_json: value,
    citation: value,
    data: value,
    name: value,
    input: value,
  })
  const event = fc.record({
    type: fc.constantFrom(
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_start',
      'ping',
    ),
    index,
    content_block: fc.oneof(piece, value),
    delta: fc.oneof(piece, value),
    message: fc.oneof(piece, value),
    usage: value,
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const { parts, finished, failure } = decodeEvents([...events, STOP])
      const open = new Set<string>()
      expect(finished).toBe(failure === undefined)
      if (finished) expect(parts.map(({ type }) => type).lastIndexOf('start')).toBe(0)
      for (const part of parts) {
        if (part.type === 'start' || part.type === 'finish') continue
        if (part.type.endsWith('-start')) open.add(part.id)
        else if (part.type !== 'whole') expect(open).toContain(part.id)
        if (part.type.endsWith('-end')) open.delete(part.id)
      }
      if (failure !== undefined) return
      expect([...open]).toEqual([])
      expect(parts.at(-1)?.type).toBe('finish')
    }),
  )
})
