import { describe, expect, test } from 'vitest'
import { fold } from '../../../core/neutral/fold.ts'
import { decodeEvents, requestFor } from './answer-testing.ts'
import { decodeAnswer } from './decode-answer.ts'
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

test('a text in deltas', () => {
  const { parts, decoder } = decodeEvents([
    CREATED,
    { type: 'response.in_progress', response: CREATED.response },
    added(0, MSG),
    {
      type: 'response.content_part.added',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: messageOf('').content[0],
    },
    delta(0, 'msg_1', 'He', { obfuscation: 'zzz', logprobs: [] }),
    delta(0, 'msg_1', 'y'),
    { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: 'Hey' },
    {
      type: 'response.content_part.done',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: messageOf('Hey').content[0],
    },
    done(0, messageOf('Hey')),
    completed({
      output: [messageOf('Hey')],
      service_tier: 'priority',
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
  ])
  expect(types(parts)).toEqual(['start', 'text-start', 'text-delta', 'text-delta', 'text-end', 'finish'])
  expect(parts[2]).toEqual({ type: 'text-delta', id: '0.0', text: 'He' })
  expect(parts.at(-1)).toMatchObject({
    finish: { reason: 'stop' },
    tier: 'priority',
    usage: { input: 3, output: 2 },
  })
  expect([decoder.finished, decoder.done, decoder.failure]).toEqual([true, true, undefined])
})

test('several content parts, and a refusal', () => {
  const refusal = { type: 'refusal', refusal: 'No.' }
  const text = (text: string) => ({ type: 'output_text', text, annotations: [] })
  const events = [
    added(0, MSG),
    delta(0, 'msg_1', 'a'),
    delta(0, 'msg_1', 'b', { content_index: 1 }),
    { type: 'response.refusal.delta', item_id: 'msg_1', output_index: 0, content_index: 2, delta: 'N' },
    { type: 'response.refusal.done', item_id: 'msg_1', output_index: 0, content_index: 2, refusal: 'No.' },
    done(0, { ...MSG, content: [text('a'), text('b'), refusal] }),
  ]
  expect(partsOf([CREATED, ...events, completed()])).toEqual([
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
    { type: 'refusal', text: 'No.' },
  ])
})

test('a content part of an unknown kind', () => {
  const novel = { type: 'output_video', url: 'https://e.x' }
  const item = { ...MSG, content: [messageOf('a').content[0], novel] }
  const { parts } = decodeEvents([added(0, MSG), delta(0, 'msg_1', 'a'), done(0, item), completed()])
  expect(fold(parts)?.parts).toMatchObject([
    { type: 'text', text: 'a' },
    { type: 'hosted', name: 'output_video', item: novel },
  ])
})

test('a chain of thought and a summary', () => {
  const raw = (delta: string) => ({
    type: 'response.reasoning_text.delta',
    item_id: 'rs_1',
    output_index: 0,
    content_index: 0,
    delta,
  })
  const content = [{ type: 'reasoning_text', text: 'hm' }]
  const summary = [{ type: 'summary_text', text: 'short' }]
  expect(partsOf([added(0, RS), raw('h'), raw('m'), done(0, { ...RS, content }), completed()])).toEqual([
    { type: 'reasoning', texts: ['hm'], raw: true },
  ])
  const both = [added(0, RS), thought(0, 'short'), raw('hm'), done(0, { ...RS, summary, content })]
  expect(partsOf([...both, completed()])).toEqual([
    { type: 'reasoning', texts: ['short'], raw: false },
    { type: 'reasoning', texts: ['hm'], raw: true },
  ])
})

describe('parallel items', () => {
  const second = { ...FC, id: 'fc_2', call_id: 'call_2' }

  test('are emitted in sequence', () => {
    const { parts } = decodeEvents([
      CREATED,
      added(0, FC),
      added(1, second),
      args('fc_2', 1, '[2'),
      args('fc_1', 0, '[1'),
      args('fc_2', 1, ']'),
      args('fc_1', 0, ']'),
      done(1, { ...second, arguments: '[2]' }),
      done(0, { ...FC, arguments: '[1]' }),
      completed(),
    ])
    const call = ['tool-call-start', 'tool-call-delta', 'tool-call-delta', 'tool-call-end']
    expect(types(parts)).toEqual(['start', ...call, ...call, 'finish'])
    expect(fold(parts)?.parts).toMatchObject([
      { callId: 'call_1', input: '[1]' },
      { callId: 'call_2', input: '[2]' },
    ])
    expect(parts.at(-1)).toMatchObject({ finish: { reason: 'tool-calls' } })
  })

  test('with one output_index for all', () => {
    const other = { ...messageOf('two'), id: 'msg_2' }
    const events = [
      added(0, MSG),
      delta(0, 'msg_1', 'one'),
      done(0, messageOf('one')),
      added(0, { ...MSG, id: 'msg_2' }),
      delta(0, 'msg_2', 'tw'),
      done(0, other),
      added(0, FC),
      args('fc_1', 0, '{}'),
      done(0, { ...FC, arguments: '{}' }),
    ]
    const output = [messageOf('one'), other, { ...FC, arguments: '{}' }]
    expect(partsOf([CREATED, ...events, completed({ output })])).toMatchObject([
      { text: 'one' },
      { text: 'two' },
      { input: '{}' },
    ])
  })
})

test('a stream gives the same answer as the response in its last event', () => {
  const search = {
    id: 'ws_1',
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'q' },
  }
  const call = { ...FC, status: 'completed', arguments: '{}' }
  const thinking = { ...RS, encrypted_content: 'E', summary: [{ type: 'summary_text', text: 'one' }] }
  const output = [thinking, search, messageOf('Hi'), call]
  const last = { ...CREATED.response, status: 'completed', output, tools: [], usage: null, error: null }
  const events = [
    CREATED,
    added(0, RS),
    thought(0, 'one'),
    done(0, thinking),
    added(1, { ...search, status: 'in_progress' }),
    done(1, search),
    added(2, MSG),
    delta(2, 'msg_1', 'Hi'),
    done(2, messageOf('Hi')),
    added(3, FC),
    args('fc_1', 3, '{}'),
    done(3, call),
    { type: 'response.completed', response: last },
  ]
  expect(fold(decodeEvents(events).parts)).toEqual(decodeAnswer(last, requestFor()))
})
