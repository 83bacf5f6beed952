import { expect, test } from 'vitest'
import { parseRequest } from '../request.ts'
import { inputItems, keptItems } from './input.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const itemsOf = (text: string) => inputItems(parseRequest(Buffer.from(text), LIMITS))
const inputOf = (input: string) => itemsOf(`{"model":"m","previous_response_id":"r", "input" : ${input} }`)

test.each<[string, string, string[]]>([
  ['a string', '"a\\u00e9\\n\\ud800"', ['{"type":"message","role":"user","content":"a\\u00e9\\n\\ud800"}']],
  ['an empty string', '""', ['{"type":"message","role":"user","content":""}']],
  ['no items', '[ ]', []],
  ['null', 'null', []],
  [
    'numbers, spaces and the order of keys',
    '[{"type":"x", "b":1.50,"a":12345678901234567890} , {"z":-0.0,"type" :"y"}]',
    ['{"type":"x", "b":1.50,"a":12345678901234567890}', '{"z":-0.0,"type" :"y"}'],
  ],
  [
    'a message without a type',
    '[{"role":"user","content":"type"},{ "content" : "x", "role":"assistant" }]',
    [
      '{"type":"message","role":"user","content":"type"}',
      '{"type":"message","content":"x","role":"assistant"}',
    ],
  ],
  [
    'a type of null',
    '[{"role":"user","type": null ,"content":[{"type":"input_text","text":"a"}]}]',
    ['{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}'],
  ],
  [
    'a type of null that comes first',
    '[{"type":null,"role":"user","content":"a"}]',
    ['{"type":"message","role":"user","content":"a"}'],
  ],
  ['a role and no content', '[{"id":"m","role":"user"}]', ['{"type":"message","id":"m","role":"user"}']],
  ['an id alone', '[{"id":"msg_1"}]', ['{"type":"item_reference","id":"msg_1"}']],
  ['an unknown item', '[{},{"a":1}]', ['{}', '{"a":1}']],
])('%s', (_name, input, items) => {
  expect(inputOf(input)).toEqual(items)
})

test('a request without input adds nothing', () => {
  expect(itemsOf('{"model":"m","previous_response_id":"r"}')).toEqual([])
})

test('a trigger is sent, but is not part of the history', () => {
  const message = '{"type":"message","role":"user","content":"compaction_trigger"}'
  const trigger = '{"type":"compaction_trigger"}'
  const request = parseRequest(Buffer.from(`{"model":"m","input":[${message},${trigger}]}`), LIMITS)
  expect(inputItems(request)).toEqual([message, trigger])
  expect(keptItems(request)).toEqual([message])
})
