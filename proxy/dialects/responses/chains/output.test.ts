import { describe, expect, test } from 'vitest'
import { recordOf } from './output.ts'

const response = (output: string, more = '') =>
  `{"id":"resp_1","object":"response"${more},"output":${output},"status":"completed"}`
const itemsOf = (...output: string[]) => recordOf(response(`[${output.join(',')}]`), [])?.items

describe('an item, as a client sends it back', () => {
  test.each([
    [
      'a message',
      '{"id":"msg_1", "type" : "message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"1","annotations":[],"logprobs":[{"logprob":-0.50,"id":1}]}]}',
      '{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"1","annotations":[],"logprobs":[{"logprob":-0.50,"id":1}]}]}',
    ],
    [
      'a call',
      '{"arguments":"{\\"id\\":1.0}","call_id":"call_1","id":"fc_1","name":"f","namespace":"n","status":"incomplete","type":"function_call"}',
      '{"arguments":"{\\"id\\":1.0}","call_id":"call_1","name":"f","namespace":"n","type":"function_call"}',
    ],
    [
      'a call with free input',
      '{"id":"ctc_1","type":"custom_tool_call","call_id":"call_1","name":"patch","input":"\\u0041"}',
      '{"type":"custom_tool_call","call_id":"call_1","name":"patch","input":"\\u0041"}',
    ],
    [
      'encrypted reasoning',
      '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA","status":"completed"}',
      '{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}',
    ],
    [
      'a summary',
      '{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"T"}],"encrypted_content":null}',
      '{"type":"reasoning","summary":[{"type":"summary_text","text":"T"}],"encrypted_content":null}',
    ],
    [
      'a chain of thought',
      '{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"T"}]}',
      '{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"T"}]}',
    ],
    [
      'a compaction',
      '{"id":"cmp_1","type":"compaction","encrypted_content":"gBBB"}',
      '{"type":"compaction","encrypted_content":"gBBB"}',
    ],
    [
      'a call of a hosted tool, unchanged',
      '{"id":"ws_1", "type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}',
      '{"id":"ws_1", "type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}',
    ],
    [
      'a call of the client’s shell, unchanged',
      '{"id":"lsh_1","type":"local_shell_call","call_id":"call_1","status":"completed","action":{}}',
      '{"id":"lsh_1","type":"local_shell_call","call_id":"call_1","status":"completed","action":{}}',
    ],
  ])('%s', (_name, item, sent) => {
    expect(itemsOf(item)).toEqual([sent])
  })

  test('leaves out reasoning without content, and values that are not items', () => {
    const mute = '{"id":"rs_1","type":"reasoning","summary":[]}'
    const muteToo = '{"id":"rs_1","type":"reasoning","summary":[],"content":[],"encrypted_content":""}'
    expect(itemsOf(mute, '7', '{"type":"x"}', 'null', muteToo, '[]')).toEqual(['{"type":"x"}'])
  })
})

describe('a record', () => {
  const seen = ['{"id":"msg_1","type":"message","role":"assistant","content":[]}']
  const sent = '{"type":"message","role":"assistant","content":[]}'

  test('has the response unchanged', () => {
    const text = response(`[{"type":"x"}]`, ', "created_at":1.0')
    expect(recordOf(text, seen)).toEqual({
      id: 'resp_1',
      response: text,
      items: ['{"type":"x"}'],
      itemIds: [],
      bound: [],
    })
  })

  test.each([
    ['empty', response('[ ]'), response(`[${seen}]`)],
    ['null', response('null'), response(`[${seen}]`)],
    [
      'absent',
      '{"id":"resp_1","status":"completed" }',
      `{"id":"resp_1","status":"completed","output":[${seen}] }`,
    ],
  ])('takes an output that is %s from the events', (_name, text, filled) => {
    expect(recordOf(text, seen)).toEqual({
      id: 'resp_1',
      response: filled,
      items: [sent],
      itemIds: ['msg_1'],
      bound: [],
    })
  })

  test('is bound by content that only the upstream can read, the newest last', () => {
    const thoughts = ['1', '2', '3', '4', '5'].map(
      (text) => `{"type":"reasoning","summary":[],"encrypted_content":"${text}"}`,
    )
    const compaction = '{"type":"compaction","encrypted_content":"c"}'
    const text = (last: string) => response(`[${[...thoughts, compaction, last].join(',')}]`)
    expect(recordOf(text('{"type":"x"}'), [])?.bound).toEqual(['3', '4', '5', 'c'])
    expect(recordOf(text('{"type":"x","id":"x_1"}'), [])?.itemIds).toEqual(['x_1'])
  })

  test.each([
    ['no id', '{"output":[]}'],
    ['an empty one', '{"id":"","output":[]}'],
    ['an endless one', `{"id":"${'x'.repeat(1025)}","output":[]}`],
    ['another thing', '{"id":7,"output":[]}'],
    ['no object', '["id"]'],
    ['no JSON', '{"id":"resp_1"'],
  ])('does not exist for a response with %s', (_name, text) => {
    expect(recordOf(text, seen)).toBeUndefined()
  })
})
