import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { fold } from '../../../core/neutral/fold.ts'
import { chunk, decodeEvents } from '../testing.ts'
import { DONE, HELLO, STOP, types } from './stream-testing.ts'

const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const calls = (...tool_calls: object[]) => chunk({ tool_calls })
const fn = (index: number | undefined, id: string | undefined, name: string | undefined, args?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
})

/** The calls that a stream of these chunks carries, as `id name input`. */
function callsOf(...chunks: object[]): string[] {
  const answer = fold(decodeEvents([HELLO, ...chunks, chunk({}, 'tool_calls'), DONE]).parts)
  return (answer?.parts ?? []).flatMap((p) =>
    p.type === 'tool-call' ? [`${p.callId} ${p.name} ${p.input}`] : [],
  )
}

describe('a stream of an upstream', () => {
  test('text', () => {
    const { parts, decoder } = decodeEvents([
      HELLO,
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      STOP,
      chunk({}, null, { choices: [], usage: USAGE }),
      DONE,
    ])
    expect(parts).toEqual([
      { type: 'start' },
      { type: 'text-start', id: 'part-0' },
      { type: 'text-delta', id: 'part-0', text: 'Hel' },
      { type: 'text-delta', id: 'part-0', text: 'lo' },
      { type: 'text-end', id: 'part-0' },
      { type: 'finish', finish: { reason: 'stop' }, usage: { ...zeroUsage(), input: 5, output: 2 } },
    ])
    expect(decoder).toMatchObject({ finished: true, done: true, failure: undefined })
  })

  test('reasoning, text, calls: a part ends where another kind starts, and empty pieces start none', () => {
    const { parts } = decodeEvents([
      HELLO,
      chunk({ role: 'assistant', reasoning_content: 'T', content: '' }),
      chunk({ role: 'assistant', reasoning_content: '', content: null }),
      chunk({ reasoning_content: '2', content: null }),
      chunk({ reasoning_content: null, content: 'x' }),
      chunk({ content: 'y', reasoning: '' }),
      calls(fn(0, 'a', 'f', '{}')),
      chunk({}, 'tool_calls'),
      DONE,
    ])
    expect(types(parts)).toBe(
      'start reasoning-start reasoning-delta reasoning-delta reasoning-end text-start text-delta text-delta text-end tool-call-start tool-call-delta tool-call-end finish',
    )
  })

  test('a usage with the first chunk does not cover the output after it', () => {
    const early = { usage: { ...USAGE, completion_tokens: 0 } }
    const first = chunk({ role: 'assistant', content: '' }, null, early)
    const without = decodeEvents([first, chunk({ content: 'a' }), STOP, DONE])
    expect(fold(without.parts)?.usage).toBeUndefined()
    const usage = chunk({}, null, { choices: [], usage: USAGE })
    const counted = decodeEvents([first, chunk({ content: 'a' }), STOP, usage, DONE])
    expect(fold(counted.parts)?.usage).toMatchObject({ output: 2 })
  })

  test('a finish with the last text, usage in every chunk, and spaces around [DONE]', () => {
    const usage = (n: number) => ({ usage: { ...USAGE, completion_tokens: n } })
    const { parts, decoder } = decodeEvents([
      { choices: [], prompt_filter_results: [], id: '', model: '' },
      chunk({ role: 'assistant', content: 'a' }, null, usage(1)),
      chunk({ content: 'b' }, 'length', { ...usage(2), service_tier: 'flex' }),
      ' [DONE] ',
      chunk({ content: 'late' }),
    ])
    expect(fold(parts)).toMatchObject({
      parts: [{ type: 'text', text: 'ab' }],
      finish: { reason: 'length' },
      usage: { output: 2 },
      tier: 'flex',
    })
    expect(decoder.done).toBe(true)
  })

  test.each<[string, object[], string[]]>([
    [
      'in pieces',
      [
        calls(fn(0, 'a', 'f', '')),
        calls(fn(0, undefined, undefined, '{"x"')),
        calls(fn(0, undefined, undefined, ':1}')),
      ],
      ['a f {"x":1}'],
    ],
    [
      'with an empty custom field',
      [
        calls({ ...fn(0, 'a', 'f', ''), custom: { name: '', input: '' } }),
        calls({ index: 0, function: { arguments: '{"x":1}' }, custom: { input: '' } }),
      ],
      ['a f {"x":1}'],
    ],
    [
      'interleaved',
      [
        calls(fn(0, 'a', 'f', '')),
        calls(fn(1, 'b', 'g', '')),
        calls(fn(0, undefined, undefined, '1'), fn(1, undefined, undefined, '2')),
        calls(fn(0, undefined, undefined, '3')),
      ],
      ['a f 13', 'b g 2'],
    ],
    [
      'whole in one chunk',
      [calls(fn(0, 'a', 'f', '{}'), fn(1, 'b', 'g', '{"x":2}'))],
      ['a f {}', 'b g {"x":2}'],
    ],
    [
      'all with index 0',
      [calls(fn(0, 'a', 'f', '{}')), calls(fn(0, 'b', 'g', '{')), calls(fn(0, undefined, undefined, '}'))],
      ['a f {}', 'b g {}'],
    ],
    [
      'an index that starts at 1',
      [calls(fn(1, 'a', 'f', '{}')), calls(fn(3, 'b', 'g', '{}'))],
      ['a f {}', 'b g {}'],
    ],
    [
      'without index',
      [
        calls(fn(undefined, 'a', 'f', '{')),
        calls(fn(undefined, undefined, undefined, '}')),
        calls(fn(undefined, 'b', 'g', '{}')),
        calls(fn(undefined, 'a', undefined, ' ')),
      ],
      ['a f {} ', 'b g {}'],
    ],
    [
      'without index and id',
      [calls(fn(undefined, '', 'f', '{}')), calls(fn(undefined, '', 'g', '{"x":1}'))],
      ['call_chatcmpl-up_0 f {}', 'call_chatcmpl-up_1 g {"x":1}'],
    ],
    ['a late id', [calls(fn(0, undefined, 'f', '{')), calls(fn(0, 'a', undefined, '}'))], ['a f {}']],
    ['a late name', [calls(fn(0, 'a', undefined, '{')), calls(fn(0, undefined, 'f', '}'))], ['a f {}']],
    ['id and name in every piece', [calls(fn(0, 'a', 'f', '{')), calls(fn(0, 'a', 'f', '}'))], ['a f {}']],
    ['an empty id later', [calls(fn(0, 'a', 'f', '{')), calls(fn(0, '', '', '}'))], ['a f {}']],
    ['arguments as an object', [calls(fn(0, 'a', 'f', { x: 1 }))], ['a f {"x":1}']],
    ['only null', [calls(fn(0, 'a', 'f', null))], ['a f ']],
    ['an empty entry', [calls({ index: 0 }), calls({}, fn(1, 'b', 'g', '{}'))], ['b g {}']],
    [
      'a function call',
      [chunk({ function_call: { name: 'f', arguments: '' } }), chunk({ function_call: { arguments: '{}' } })],
      ['call_chatcmpl-up_0 f {}'],
    ],
  ])('calls: %s', (_, chunks, expected) => {
    expect(callsOf(...chunks)).toEqual(expected)
  })

  test('custom calls, and state of a call', () => {
    const extra = { google: { thought_signature: 'S' } }
    const { parts } = decodeEvents([
      HELLO,
      calls({ index: 0, id: 'a', type: 'custom', custom: { name: 'c', input: 'x' }, extra_content: extra }),
      calls({ index: 0, custom: { input: 'y' } }),
      STOP,
      DONE,
    ])
    expect(fold(parts)).toMatchObject({
      parts: [
        {
          kind: 'custom',
          name: 'c',
          input: 'xy',
          carrier: { dialect: 'chat', kind: 'extra_content', value: JSON.stringify(extra) },
        },
      ],
      finish: { reason: 'tool-calls' },
    })
  })

  test('a call without a name is a failure', () => {
    const { parts, decoder } = decodeEvents([HELLO, calls(fn(0, 'a', undefined, '{}')), STOP, DONE])
    expect(decoder).toMatchObject({
      finished: false,
      failure: { class: 'unknown', detail: 'nameless_tool_call' },
    })
    expect(types(parts)).not.toContain('finish')
  })

  test('details in pieces become one carrier', () => {
    const detail = (entry: object) => ({ reasoning_details: [entry] })
    const { parts } = decodeEvents([
      HELLO,
      chunk({ reasoning: 'A', ...detail({ type: 'reasoning.text', text: 'A', index: 0 }) }),
      chunk({ reasoning: 'B', ...detail({ type: 'reasoning.text', text: 'B', index: 0 }) }),
      chunk(detail({ type: 'reasoning.text', signature: 'S', index: 0 })),
      chunk({ content: 'x' }),
      STOP,
      DONE,
    ])
    expect(fold(parts)?.parts).toEqual([
      {
        type: 'reasoning',
        texts: ['AB'],
        carrier: {
          dialect: 'chat',
          kind: 'details',
          value: '[{"type":"reasoning.text","text":"AB","index":0,"signature":"S"}]',
        },
      },
      { type: 'text', text: 'x' },
    ])
  })

  test('reasoning in details alone', () => {
    const { parts } = decodeEvents([
      HELLO,
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 'S' }] }),
      STOP,
      DONE,
    ])
    expect(fold(parts)?.parts).toEqual([{ type: 'reasoning', texts: ['S'] }])
  })

  test('content as a list, citations, probabilities, refusals', () => {
    const { parts } = decodeEvents([
      HELLO,
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'T' }] }] }),
      chunk({}, null, {
        choices: [{ index: 0, delta: { content: 'x' }, logprobs: { content: [{ token: 'x' }] } }],
      }),
      chunk({
        content: '',
        annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com', title: 't' } }],
      }),
      chunk({ refusal: 'No' }),
      STOP,
      DONE,
    ])
    expect(fold(parts)?.parts).toEqual([
      { type: 'reasoning', texts: ['T'] },
      {
        type: 'text',
        text: 'x',
        logprobs: [{ token: 'x' }],
        annotations: [{ type: 'url', url: 'https://example.com', title: 't' }],
      },
      { type: 'refusal', text: 'No' },
    ])
  })

  test('other choices are ignored', () => {
    const other = { choices: [{ index: 1, delta: { content: 'other' }, finish_reason: 'stop' }] }
    const { parts, decoder } = decodeEvents([HELLO, chunk({ content: 'x' }), other])
    expect(types(parts)).toBe('start text-start text-delta')
    expect(decoder.finished).toBe(false)
  })
})
