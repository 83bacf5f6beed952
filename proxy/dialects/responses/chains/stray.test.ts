import { expect, test } from 'vitest'
import { refuseStrayResults } from './stray.ts'

const call = (id: string, type = 'function_call') =>
  `{"type":"${type}","call_id":"${id}","name":"f","arguments":"{}"}`
const result = (id: string, type = 'function_call_output') =>
  `{"type":"${type}","call_id":"${id}","output":"x"}`
const reference = (id: string) => `{"type":"item_reference","id":"${id}"}`
const TEXT = '{"type":"message","role":"user","content":"function_call_output"}'

test.each([
  ['nothing', [], []],
  ['texts alone', [TEXT], [TEXT]],
  ['a result of a call of the history', [TEXT, call('a'), TEXT], [result('a'), TEXT]],
  ['a result of a call beside it', [], [call('a'), result('a')]],
  ['a custom tool', [call('a', 'custom_tool_call')], [result('a', 'custom_tool_call_output')]],
  ['a stray result in the history', [result('a')], [TEXT]],
  ['a result of a tool that the vendor runs', [], [result('a', 'computer_call_output')]],
  ['a result beside a reference', [TEXT], [reference('fc_1'), result('a')]],
  ['a result after a reference', [TEXT, reference('fc_1'), TEXT], [result('a')]],
  ['a result beside an id alone', [], ['{"id":"fc_1"}', result('a')]],
  ['a result without an id, which parsing refuses', [], ['{"type":"function_call_output","output":"x"}']],
])('%s is accepted', (_, history, added) => {
  expect(() => refuseStrayResults(history, added)).not.toThrow()
})

test.each([
  ['no call', [TEXT], [result('b')]],
  ['the call of another', [call('a')], [result('a'), result('b')]],
  [
    'only a text',
    ['{"type":"message","role":"user","content":"function_call","call_id":"b"}'],
    [result('b')],
  ],
  ['a message that has an id', ['{"type":"message","role":"user","id":"m","content":"x"}'], [result('b')]],
  [
    'a text that contains a reference',
    ['{"type":"message","role":"user","content":"{\\"type\\":\\"item_reference\\",\\"id\\":\\"b\\"}"}'],
    [result('b')],
  ],
  ['no custom call', [TEXT], [result('b', 'custom_tool_call_output')]],
])('a result with %s is refused', (_, history, added) => {
  expect(() => refuseStrayResults(history, added)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      param: 'input',
      message: 'No tool call found for function call output with call_id b.',
    }),
  )
})
