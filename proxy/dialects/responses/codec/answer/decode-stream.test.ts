import { describe, expect, test } from 'vitest'
import { readResponsesStream } from '../../../../../test/conformance/dialects/strict-responses.ts'
import { fold } from '../../../ir/fold.ts'
import type { StreamPart } from '../../../ir/types.ts'
import { decodeData, decodeEvents, encodeParts, requestFor, withoutExt } from './answer-testing.ts'
import { decodeAnswer } from './decode-answer.ts'
import { decodeStream } from './decode-stream.ts'

const CREATED = {
  type: 'response.created',
  sequence_number: 0,
  response: {
    id: 'resp_1',
    object: 'response',
    created_at: 5,
    model: 'up',
    status: 'in_progress',
    output: [],
  },
}
const added = (index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
})
const done = (index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
})
const delta = (index: number, item: string, delta: string, fields: object = {}) => ({
  type: 'response.output_text.delta',
  item_id: item,
  output_index: index,
  content_index: 0,
  delta,
  ...fields,
})
const completed = (fields: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', ...fields },
})
const MSG = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] }
const said = (text: string, fields: object = {}) => ({
  ...MSG,
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [], ...fields }],
})
const FC = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '' }
const args = (item: string, index: number, delta: string) => ({
  type: 'response.function_call_arguments.delta',
  item_id: item,
  output_index: index,
  delta,
})
const RS = { id: 'rs_1', type: 'reasoning', summary: [] }
const thought = (paragraph: number, delta: string) => ({
  type: 'response.reasoning_summary_text.delta',
  item_id: 'rs_1',
  output_index: 0,
  summary_index: paragraph,
  delta,
})

/** What the answer says, of a stream that was not cut. */
function partsOf(events: readonly object[]) {
  const answer = fold(decodeEvents(events).parts)
  if (answer === undefined) throw new Error('not finished')
  return withoutExt(answer).parts
}

const types = (parts: readonly StreamPart[]) => parts.map(({ type }) => type)

test('a text, as it comes', () => {
  const { parts, decoder } = decodeEvents([
    CREATED,
    { type: 'response.in_progress', response: CREATED.response },
    added(0, MSG),
    {
      type: 'response.content_part.added',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: said('').content[0],
    },
    delta(0, 'msg_1', 'He', { obfuscation: 'zzz', logprobs: [] }),
    delta(0, 'msg_1', 'y'),
    { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: 'Hey' },
    {
      type: 'response.content_part.done',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: said('Hey').content[0],
    },
    done(0, said('Hey')),
    completed({
      output: [said('Hey')],
      service_tier: 'priority',
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
  ])
  expect(types(parts)).toEqual(['start', 'text-start', 'text-delta', 'text-delta', 'text-end', 'finish'])
  expect(parts[0]).toMatchObject({ id: 'resp_1', model: 'up', created: 5 })
  expect(parts[2]).toEqual({ type: 'text-delta', id: '0.0', text: 'He' })
  expect(parts.at(-1)).toMatchObject({
    finish: { reason: 'stop' },
    tier: 'priority',
    usage: { input: 3, output: 2 },
  })
  expect([decoder.finished, decoder.done, decoder.failure]).toEqual([true, true, undefined])
})

describe('what deltas left out is taken from', () => {
  const text = (type: string, fields: object) => ({
    type,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    ...fields,
  })
  test.each<[string, object[]]>([
    ['output_text.done', [text('response.output_text.done', { text: 'Hello' })]],
    ['content_part.done', [text('response.content_part.done', { part: said('Hello').content[0] })]],
    ['output_item.done', [done(0, said('Hello'))]],
    ['the terminal event', [completed({ output: [said('Hello')] })]],
  ])('%s', (_name, events) => {
    for (const before of [[], [added(0, MSG)], [added(0, MSG), delta(0, 'msg_1', 'Hel')]]) {
      expect(partsOf([CREATED, ...before, ...events, completed()])).toEqual([{ type: 'text', text: 'Hello' }])
    }
  })

  test('arguments, at each of their ends', () => {
    const whole = { ...FC, arguments: '{"a":1}' }
    const doneArgs = {
      type: 'response.function_call_arguments.done',
      item_id: 'fc_1',
      output_index: 0,
      arguments: '{"a":1}',
    }
    for (const rest of [
      [doneArgs],
      [done(0, whole)],
      [doneArgs, done(0, whole)],
      [completed({ output: [whole] })],
    ]) {
      for (const before of [[], [args('fc_1', 0, '{"a')]]) {
        expect(partsOf([CREATED, added(0, FC), ...before, ...rest, completed()])).toMatchObject([
          { callId: 'call_1', name: 'f', input: '{"a":1}' },
        ])
      }
    }
  })

  test('a name that comes late', () => {
    const events = [
      added(0, { ...FC, name: '' }),
      args('fc_1', 0, '{'),
      args('fc_1', 0, '}'),
      done(0, { ...FC, arguments: '{}' }),
    ]
    expect(partsOf([CREATED, ...events, completed()])).toMatchObject([{ name: 'f', input: '{}' }])
    const bare = [...events.slice(0, -1), done(0, { ...FC, arguments: undefined })]
    expect(partsOf([CREATED, ...bare, completed()])).toMatchObject([{ name: 'f', input: '{}' }])
  })

  test('annotations and logprobs', () => {
    const annotations = [
      { type: 'url_citation', url: 'https://a', title: 'A', start_index: 0, end_index: 1 },
      { type: 'url_citation', url: 'https://b', title: 'B', start_index: 1, end_index: 2 },
    ]
    const logprobs = [
      { token: 'H', logprob: -1 },
      { token: 'i', logprob: -2 },
    ]
    const events = [
      added(0, MSG),
      delta(0, 'msg_1', 'H', { logprobs: logprobs.slice(0, 1) }),
      text('response.output_text.annotation.added', { annotation_index: 0, annotation: annotations[0] }),
      done(0, said('Hi', { annotations, logprobs })),
    ]
    expect(partsOf([CREATED, ...events, completed()])).toMatchObject([
      { text: 'Hi', logprobs, annotations: [{ url: 'https://a' }, { url: 'https://b' }] },
    ])
  })

  test('a summary', () => {
    const whole = {
      ...RS,
      encrypted_content: 'E2',
      summary: [
        { type: 'summary_text', text: 'one' },
        { type: 'summary_text', text: 'two' },
      ],
    }
    const events = [
      added(0, { ...RS, encrypted_content: 'E' }),
      thought(0, 'one'),
      thought(1, 't'),
      done(0, whole),
    ]
    const carrier = { dialect: 'responses', kind: 'encrypted', value: 'E2', id: 'rs_1' }
    expect(partsOf([CREATED, ...events, completed()])).toEqual([
      { type: 'reasoning', texts: ['one', 'two'], raw: false, carrier },
    ])
  })

  test('the whole response, when nothing else came', () => {
    const output = [said('Hello'), { ...FC, arguments: '{}' }]
    expect(partsOf([CREATED, completed({ output })])).toMatchObject([{ text: 'Hello' }, { input: '{}' }])
    expect(partsOf([completed({ output })])).toMatchObject([{ text: 'Hello' }, { input: '{}' }])
  })
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
  const item = { ...MSG, content: [said('a').content[0], novel] }
  const { parts } = decodeEvents([added(0, MSG), delta(0, 'msg_1', 'a'), done(0, item), completed()])
  expect(fold(parts)?.parts).toMatchObject([
    { type: 'text', text: 'a' },
    { type: 'hosted', name: 'output_video', item: novel },
  ])
  expect(readResponsesStream(encodeParts(parts)).output).toMatchObject([{ content: item.content }])
})

test('a chain of thought, and beside it a summary', () => {
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

  test('stand one behind the other', () => {
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
    const other = { ...said('two'), id: 'msg_2' }
    const events = [
      added(0, MSG),
      delta(0, 'msg_1', 'one'),
      done(0, said('one')),
      added(0, { ...MSG, id: 'msg_2' }),
      delta(0, 'msg_2', 'tw'),
      done(0, other),
      added(0, FC),
      args('fc_1', 0, '{}'),
      done(0, { ...FC, arguments: '{}' }),
    ]
    const output = [said('one'), other, { ...FC, arguments: '{}' }]
    expect(partsOf([CREATED, ...events, completed({ output })])).toMatchObject([
      { text: 'one' },
      { text: 'two' },
      { input: '{}' },
    ])
  })
})

describe('sloppy upstreams', () => {
  test('a fresh item_id for each delta, and no announcement', () => {
    const events = [delta(0, 'a', 'H'), delta(0, 'b', 'i')]
    expect(partsOf([CREATED, ...events, completed({ output: [said('Hi')] })])).toEqual([
      { type: 'text', text: 'Hi' },
    ])
  })

  test('a thought that is done after the text behind it does not hold that back', () => {
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
    const ends = [done(0, { ...RS, summary }), done(1, said('Hi')), completed()]
    expect(partsOf([CREATED, ...events, ...ends])).toEqual([
      { type: 'reasoning', texts: ['hm'], raw: false },
      { type: 'text', text: 'Hi' },
    ])
  })

  test('a fresh item_id for each delta of parallel calls', () => {
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

  test('the type on the event line alone', () => {
    const parts: StreamPart[] = []
    const decoder = decodeStream((part) => parts.push(part), requestFor())
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
  ])('wrong types break nothing: %j', (fields) => {
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

describe('the end', () => {
  test('a cut stream is not finished', () => {
    const { parts, decoder } = decodeEvents([
      CREATED,
      added(0, MSG),
      delta(0, 'msg_1', 'Hi'),
      done(0, said('Hi')),
    ])
    expect([decoder.finished, decoder.done, decoder.failure]).toEqual([false, false, undefined])
    expect(types(parts)).not.toContain('finish')
  })

  test('half an event is a failure', () => {
    const { parts, decoder } = decodeData([
      JSON.stringify(added(0, MSG)),
      '{"type":"response.output_te',
      JSON.stringify(completed()),
    ])
    expect(decoder.failure).toMatchObject({ class: 'transient', detail: 'garbled_event' })
    expect(decoder.finished).toBe(false)
    expect(types(parts)).not.toContain('finish')
  })

  test('a call of no tool is a failure', () => {
    const { parts, decoder } = decodeEvents([CREATED, done(0, { ...FC, name: undefined }), completed()])
    expect(decoder.failure).toMatchObject({ class: 'unknown', detail: 'nameless_tool_call' })
    expect(types(parts)).toEqual(['start'])
  })

  test('an incomplete response', () => {
    const response = {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [said('Hi')],
    }
    const { parts, decoder } = decodeEvents([CREATED, { type: 'response.incomplete', response }])
    expect(decoder.finished).toBe(true)
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'length' } })
  })

  test('an incomplete event without its reason still says that the answer was cut', () => {
    const { parts } = decodeEvents([CREATED, { type: 'response.incomplete', response: {} }])
    expect(parts.at(-1)).toMatchObject({ finish: { reason: 'length' } })
  })

  const failed = { code: 'rate_limit_exceeded', message: 'try again in 3s, org-Zx81' }
  test.each<[string, object]>([
    ['response.failed', { type: 'response.failed', response: { status: 'failed', error: failed } }],
    ['a flat error', { type: 'error', ...failed, param: null }],
    ['an error object', { type: 'error', error: failed }],
    ['an error without type', { error: failed }],
    ['completed, but failed', completed({ status: 'failed', error: failed })],
  ])('%s is a failure, and nothing comes after it', (_name, event) => {
    const { parts, decoder } = decodeEvents([
      CREATED,
      added(0, MSG),
      event,
      delta(0, 'msg_1', 'x'),
      completed(),
    ])
    expect(decoder.failure).toMatchObject({ class: 'rate_limit', detail: 'error_event' })
    expect(JSON.stringify(decoder.failure)).not.toContain('org-Zx81')
    expect([decoder.finished, decoder.done]).toEqual([false, true])
    expect(types(parts)).toEqual(['start'])
  })
})

test('a stream and the response at its end are the same answer', () => {
  const search = {
    id: 'ws_1',
    type: 'web_search_call',
    status: 'completed',
    action: { type: 'search', query: 'q' },
  }
  const call = { ...FC, status: 'completed', arguments: '{}' }
  const thinking = { ...RS, encrypted_content: 'E', summary: [{ type: 'summary_text', text: 'one' }] }
  const output = [thinking, search, said('Hi'), call]
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
    done(2, said('Hi')),
    added(3, FC),
    args('fc_1', 3, '{}'),
    done(3, call),
    { type: 'response.completed', response: last },
  ]
  expect(fold(decodeEvents(events).parts)).toEqual(decodeAnswer(last, requestFor()))
})
