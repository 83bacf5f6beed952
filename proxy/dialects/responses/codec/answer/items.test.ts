import { describe, expect, test } from 'vitest'
import {
  args,
  CREATED,
  completed,
  delta,
  done,
  FC,
  MSG,
  messageOf,
  partsOf,
} from './decode-stream-testing.ts'

const added = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
})
const doneArgs = (output_index: number, item_id: string, text: string) => ({
  type: 'response.function_call_arguments.done',
  output_index,
  item_id,
  arguments: text,
})
const call = (id: string, call_id: string, text = '') => ({ ...FC, id, call_id, arguments: text })
const text = { type: 'text', text: 'Hi' }
const called = (callId: string, input: string) => ({ type: 'tool-call', callId, name: 'f', input })

describe.each([
  ['no id', ''],
  ['one id', 'same'],
])('items of %s', (_, id) => {
  const message = { ...MSG, id }
  const spoken = [added(0, message), delta(0, id, 'Hi'), done(0, { ...messageOf('Hi'), id })]

  test('a message and a call', () => {
    const events = [
      ...spoken,
      added(1, call(id, 'call_1')),
      doneArgs(1, id, '{"a":1}'),
      done(1, call(id, 'call_1', '{"a":1}')),
    ]
    expect(partsOf([CREATED, ...events, completed()])).toMatchObject([text, called('call_1', '{"a":1}')])
  })

  test('two calls, in sequence and in parallel', () => {
    const [first, second] = [call(id, 'call_1'), call(id, 'call_2')]
    const expected = [called('call_1', '{"a":1}'), called('call_2', '{"b":2}')]
    const one = [added(0, first), args(id, 0, '{"a":1}'), done(0, call(id, 'call_1', '{"a":1}'))]
    const other = [added(1, second), args(id, 1, '{"b":2}'), done(1, call(id, 'call_2', '{"b":2}'))]
    expect(partsOf([CREATED, ...one, ...other, completed()])).toMatchObject(expected)
    const mixed = [one[0], other[0], other[1], one[1], other[2], one[2]] as object[]
    expect(partsOf([CREATED, ...mixed, completed()])).toMatchObject(expected)
  })

  test('a call in the final output only', () => {
    const output = [{ ...messageOf('Hi'), id }, call(id, 'call_1', '{"a":1}')]
    expect(partsOf([CREATED, ...spoken, completed({ output })])).toMatchObject([
      text,
      called('call_1', '{"a":1}'),
    ])
  })

  test('the second of two calls in the final output only', () => {
    const events = [added(0, call(id, 'call_1')), done(0, call(id, 'call_1', '{"a":1}'))]
    const output = [call(id, 'call_1', '{"a":1}'), call(id, 'call_2', '{"b":2}')]
    const expected = [called('call_1', '{"a":1}'), called('call_2', '{"b":2}')]
    expect(partsOf([CREATED, ...events, completed({ output })])).toMatchObject(expected)
    // The index is ignored if the call has another id.
    expect(partsOf([CREATED, ...events, completed({ output: output.slice(1) })])).toMatchObject(expected)
  })

  test('items that the final output repeats are not emitted twice', () => {
    const events = [...spoken, added(1, call(id, 'call_1')), done(1, call(id, 'call_1', '{}'))]
    const output = [{ ...messageOf('Hi'), id }, call(id, 'call_1', '{}')]
    for (const last of [output, output.slice(1), [...output].reverse()]) {
      expect(partsOf([CREATED, ...events, completed({ output: last })])).toMatchObject([
        text,
        called('call_1', '{}'),
      ])
    }
  })
})

describe('items with ids of their own', () => {
  test('are distinguished by id if all have the same index', () => {
    const [first, second] = [call('a', 'call_1'), call('b', 'call_2')]
    const events = [added(0, first), added(0, second), args('a', 0, '{"a":1}'), args('b', 0, '{"b":2}')]
    expect(partsOf([CREATED, ...events, completed()])).toMatchObject([
      called('call_1', '{"a":1}'),
      called('call_2', '{"b":2}'),
    ])
  })

  test('are found by id if deltas have a wrong index', () => {
    const events = [added(0, call('a', 'call_1')), added(1, MSG), delta(0, 'msg_1', 'Hi')]
    expect(
      partsOf([CREATED, ...events, completed({ output: [call('a', 'call_1', '{}'), messageOf('Hi')] })]),
    ).toMatchObject([called('call_1', '{}'), text])
  })

  test('are found by index if each event has a new id', () => {
    const events = [
      added(0, { ...MSG, id: 'a' }),
      delta(0, 'b', 'Hi'),
      done(0, { ...messageOf('Hi'), id: 'c' }),
    ]
    const output = [{ ...messageOf('Hi'), id: 'd' }]
    expect(partsOf([CREATED, ...events, completed({ output })])).toMatchObject([text])
  })
})
