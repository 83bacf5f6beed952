import { describe, expect, test } from 'vitest'
import { decodeEvents } from './answer-testing.ts'
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
} from './decode-stream-testing.ts'

describe('content that the deltas left out comes from', () => {
  const text = (type: string, fields: object) => ({
    type,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    ...fields,
  })
  test.each<[string, object[]]>([
    ['output_text.done', [text('response.output_text.done', { text: 'Hello' })]],
    ['content_part.done', [text('response.content_part.done', { part: messageOf('Hello').content[0] })]],
    ['output_item.done', [done(0, messageOf('Hello'))]],
    ['the terminal event', [completed({ output: [messageOf('Hello')] })]],
  ])('%s', (_name, events) => {
    for (const before of [[], [added(0, MSG)], [added(0, MSG), delta(0, 'msg_1', 'Hel')]]) {
      expect(partsOf([CREATED, ...before, ...events, completed()])).toEqual([{ type: 'text', text: 'Hello' }])
    }
  })

  test('arguments, from each final event', () => {
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

  test('a name that arrives late', () => {
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
      done(0, messageOf('Hi', { annotations, logprobs })),
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

  test('the whole response, without other events', () => {
    const output = [messageOf('Hello'), { ...FC, arguments: '{}' }]
    expect(partsOf([CREATED, completed({ output })])).toMatchObject([{ text: 'Hello' }, { input: '{}' }])
    expect(partsOf([completed({ output })])).toMatchObject([{ text: 'Hello' }, { input: '{}' }])
  })
})

test('a partial image and the whole one', () => {
  const item = { id: 'ig_1', type: 'image_generation_call', status: 'in_progress' }
  const partial = {
    type: 'response.image_generation_call.partial_image',
    item_id: 'ig_1',
    output_index: 0,
    partial_image_index: 1,
    partial_image_b64: 'AB',
    size: '1x2',
  }
  const whole = { ...item, status: 'completed', output_format: 'jpeg', result: 'ABCD' }
  const { parts } = decodeEvents([
    CREATED,
    added(0, item),
    partial,
    { ...partial, partial_image_b64: 7 },
    { ...partial, item_id: 'ig_2', output_index: 1 },
    done(0, whole),
    partial,
    completed(),
  ])
  expect(parts).toMatchObject([
    { type: 'start' },
    { type: 'partial-image', id: '0', index: 1, base64: 'AB', made: { size: '1x2' } },
    {
      type: 'whole',
      id: '0',
      part: {
        type: 'image',
        source: { kind: 'data', mediaType: 'image/jpeg', base64: 'ABCD' },
        made: { format: 'jpeg' },
      },
    },
    { type: 'finish' },
  ])
})
