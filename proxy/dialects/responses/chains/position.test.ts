import { describe, expect, test } from 'vitest'
import { parseRequest } from '../request.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const parse = (fields: object) =>
  parseRequest(Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...fields })), LIMITS)
const positionIn = (fields: object) => parse(fields).own.position

describe('a position', () => {
  test.each<[object, object]>([
    [{}, { store: true, bound: [], references: [] }],
    [
      { store: null, previous_response_id: null },
      { store: true, bound: [], references: [] },
    ],
    [{ store: false }, { store: false, bound: [], references: [] }],
    [
      { store: true, previous_response_id: 'resp_1', conversation: null },
      { previous: 'resp_1', store: true, bound: [], references: [] },
    ],
    [
      { previous_response_id: 'x'.repeat(1024), input: undefined },
      { previous: 'x'.repeat(1024), store: true, bound: [], references: [] },
    ],
  ])('%j', (fields, position) => {
    expect(positionIn(fields)).toEqual(position)
  })
})

describe('bound', () => {
  const thought = (text: unknown) => ({ type: 'reasoning', summary: [], encrypted_content: text })

  test('has encrypted reasoning and compactions', () => {
    const input = [
      { type: 'compaction', encrypted_content: 'a' },
      { role: 'user', content: 'Hi', text: 'no' },
      thought('b'),
      thought(null),
      thought(''),
      thought(7),
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"encrypted_content":"x"}' },
    ]
    expect(positionIn({ input }).bound).toEqual(['a', 'b'])
  })

  test('has the newest four, the newest last', () => {
    const input = ['1', '2', '3', '4', '5', '6'].map(thought)
    expect(positionIn({ input }).bound).toEqual(['3', '4', '5', '6'])
  })
})

test.each<[string, object]>([
  ['previous_response_id', { previous_response_id: '' }],
  ['previous_response_id', { previous_response_id: 7 }],
  ['previous_response_id', { previous_response_id: { id: 'resp_1' } }],
  ['previous_response_id', { previous_response_id: 'x'.repeat(1025) }],
  ['conversation', { previous_response_id: 'resp_1', conversation: 'conv_1' }],
  ['conversation', { previous_response_id: 'resp_1', conversation: { id: 'conv_1' } }],
  ['store', { store: 'false' }],
  ['store', { store: 0 }],
])('a request is refused for %s: %j', (param, fields) => {
  expect(() => parse(fields)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param, status: 400 }),
  )
})

test.each([
  ['store', '{"model":"m","input":"a","store":false,"store":true}'],
  ['previous_response_id', '{"model":"m","previous_response_id":"a","previous_response_id":"b"}'],
])('a repeated %s is refused, because the upstream might read the other one', (param, text) => {
  expect(() => parseRequest(Buffer.from(text), LIMITS)).toThrow(expect.objectContaining({ param }))
})

test.each([
  ['by its type', { type: 'item_reference', id: 'msg_1' }, ['msg_1']],
  ['by an id alone', { id: 'fc_1' }, ['fc_1']],
  ['not a message that has an id', { id: 'msg_1', role: 'user', content: 'x' }, []],
  [
    'not an item of a type',
    { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'n', arguments: '' },
    [],
  ],
  ['not without an id', { type: 'item_reference', id: '' }, []],
])('references: %s', (_name, item, references) => {
  expect(positionIn({ input: [item] })).toMatchObject({ references, bound: references })
})
