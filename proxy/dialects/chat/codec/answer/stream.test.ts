import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { GatewayError } from '../../../../errors.ts'
import { fold } from '../../../ir/fold.ts'
import type { StreamPart } from '../../../ir/types.ts'
import { sseEvents } from '../../../sse/events.ts'
import { chat } from '../../index.ts'
import { chunk, clientOf, decodeEvents, envelopes } from '../testing.ts'

const HELLO = chunk({ role: 'assistant', content: '' })
const STOP = chunk({}, 'stop')
const DONE = '[DONE]'
const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const calls = (...tool_calls: object[]) => chunk({ tool_calls })
const fn = (index: number | undefined, id: string | undefined, name: string | undefined, args?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
})
const types = (parts: StreamPart[]) => parts.map((part) => part.type).join(' ')

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
      {
        type: 'start',
        id: 'chatcmpl-up',
        model: 'up',
        created: 1_600_000_000,
        ext: { dialect: 'chat', at: '', fields: {} },
      },
      { type: 'text-start', id: 'part-0' },
      { type: 'text-delta', id: 'part-0', text: 'Hel' },
      { type: 'text-delta', id: 'part-0', text: 'lo' },
      { type: 'text-end', id: 'part-0' },
      { type: 'finish', finish: { reason: 'stop' }, usage: { ...zeroUsage(), input: 5, output: 2 } },
    ])
    expect(decoder).toMatchObject({ finished: true, done: true, failure: undefined })
  })

  test('thoughts, text, calls: one kind ends where another begins, and empty pieces begin none', () => {
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

  test('a finish beside the last text, usage in every chunk, and spaces around [DONE]', () => {
    const usage = (n: number) => ({ usage: { ...USAGE, completion_tokens: n } })
    const { parts, decoder } = decodeEvents([
      { choices: [], prompt_filter_results: [], id: '', model: '' },
      chunk({ role: 'assistant', content: 'a' }, null, usage(1)),
      chunk({ content: 'b' }, 'length', { ...usage(2), service_tier: 'flex' }),
      ' [DONE] ',
      chunk({ content: 'late' }),
    ])
    expect(fold(parts)).toMatchObject({
      id: 'chatcmpl-up',
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
      'all of index 0',
      [calls(fn(0, 'a', 'f', '{}')), calls(fn(0, 'b', 'g', '{')), calls(fn(0, undefined, undefined, '}'))],
      ['a f {}', 'b g {}'],
    ],
    [
      'an index that begins at 1',
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
    ['nothing but null', [calls(fn(0, 'a', 'f', null))], ['a f ']],
    ['an entry that says nothing', [calls({ index: 0 }), calls({}, fn(1, 'b', 'g', '{}'))], ['b g {}']],
    [
      'a function call',
      [chunk({ function_call: { name: 'f', arguments: '' } }), chunk({ function_call: { arguments: '{}' } })],
      ['call_chatcmpl-up_0 f {}'],
    ],
  ])('calls: %s', (_, chunks, expected) => {
    expect(callsOf(...chunks)).toEqual(expected)
  })

  test('custom calls, and state on a call', () => {
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

  test('a call without a name is no answer', () => {
    const { parts, decoder } = decodeEvents([HELLO, calls(fn(0, 'a', undefined, '{}')), STOP, DONE])
    expect(decoder).toMatchObject({
      finished: false,
      failure: { class: 'unknown', detail: 'nameless_tool_call' },
    })
    expect(types(parts)).not.toContain('finish')
  })

  test('details in pieces become one state', () => {
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

  test('thoughts in details alone', () => {
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

  test('other choices are not read', () => {
    const other = { choices: [{ index: 1, delta: { content: 'other' }, finish_reason: 'stop' }] }
    const { parts, decoder } = decodeEvents([HELLO, chunk({ content: 'x' }), other])
    expect(types(parts)).toBe('start text-start text-delta')
    expect(decoder.finished).toBe(false)
  })
})

describe('how a stream ends', () => {
  test('without [DONE], after a finish', () => {
    const { parts, decoder } = decodeEvents([HELLO, chunk({ content: 'x' }), STOP])
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'stop' } })
    expect(decoder).toMatchObject({ finished: true, done: false })
  })

  test('[DONE] without a finish, but not without an answer', () => {
    expect(decodeEvents([HELLO, chunk({ content: 'x' }), DONE]).parts.at(-1)).toMatchObject({
      type: 'finish',
    })
    expect(decodeEvents([DONE])).toMatchObject({ parts: [], decoder: { finished: false, done: true } })
  })

  test.each([null, '', undefined, [], {}, 1])('finish_reason %j is none: the stream is cut', (reason) => {
    const { parts, decoder } = decodeEvents([HELLO, chunk({ content: 'x' }, reason as null)])
    expect(types(parts)).not.toContain('finish')
    expect(decoder.finished).toBe(false)
  })

  test.each<[string, string, string | object, object]>([
    [
      'an error',
      '',
      { error: { type: 'server_error', message: 'secret' } },
      { class: 'transient', detail: 'error_event' },
    ],
    ['an error text', '', { error: 'x' }, { class: 'unknown' }],
    ['an event of that name', 'error', { code: 'rate_limit_exceeded' }, { class: 'rate_limit' }],
    ['no JSON under that name', 'error', 'oops', { class: 'unknown', detail: 'error_event' }],
    [
      'an error of the choice',
      '',
      { choices: [{ index: 0, delta: {}, error: { code: 502 } }] },
      { class: 'transient' },
    ],
    ['a reason that is none', '', chunk({}, 'error'), { class: 'unknown' }],
    ['half an event', '', '{"choices":[{"del', { class: 'unknown', detail: 'bad_event' }],
    ['no object', '', '5', { class: 'unknown', detail: 'bad_event' }],
    [
      'arguments that nest too deep',
      '',
      `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}}}]}}]}`,
      { class: 'unknown', detail: 'answer_too_deep' },
    ],
  ])('%s is a failure', (_, event, data, failure) => {
    const parts: StreamPart[] = []
    const decoder = chat.codec.decodeStream((part) => parts.push(part), clientOf().parsed)
    decoder.event('', JSON.stringify(HELLO))
    decoder.event('', JSON.stringify(chunk({ content: 'x' })))
    decoder.event(event, typeof data === 'string' ? data : JSON.stringify(data))
    for (const more of [STOP, DONE]) decoder.event('', typeof more === 'string' ? more : JSON.stringify(more))
    decoder.end()
    expect(decoder).toMatchObject({ finished: false, failure })
    // A call ends the text before its arguments are read.
    expect(types(parts.filter((part) => part.type !== 'text-end'))).toBe('start text-start text-delta')
  })

  test('a null error is none', () => {
    expect(decodeEvents([chunk({ content: 'x' }, 'stop', { error: null }), DONE]).decoder.finished).toBe(true)
  })

  test('whatever comes, parts open once, close once, and the finish is last', () => {
    const delta = fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.oneof(fc.constantFrom('', 'x', null), fc.jsonValue()),
        reasoning: fc.constantFrom('', 'r', null, 5),
        refusal: fc.constantFrom('', 'n', null),
        reasoning_details: fc.array(
          fc.record({
            type: fc.constantFrom('reasoning.text', 'reasoning.encrypted'),
            data: fc.constant('d'),
          }),
          { maxLength: 1 },
        ),
        annotations: fc.constantFrom([], [{}], null),
        images: fc.constantFrom([{ image_url: { url: 'https://example.com' } }], 5, null),
        tool_calls: fc.array(
          fc.oneof(
            fc.jsonValue(),
            fc.record({
              index: fc.constantFrom(0, 1, undefined),
              id: fc.constantFrom('a', 'b', '', undefined),
              function: fc.record({
                name: fc.constantFrom('f', '', undefined),
                arguments: fc.constantFrom('{', '}', '{}', undefined),
              }),
            }),
          ),
          { maxLength: 2 },
        ),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 12 }), (deltas) => {
        const { parts } = decodeEvents([...deltas.map((d) => chunk(d)), STOP, DONE])
        const open = new Set<string>()
        const seen = new Set<string>()
        parts.forEach((part, i) => {
          if (part.type === 'start') expect(i).toBe(0)
          else if (part.type === 'finish') expect([open.size, i]).toEqual([0, parts.length - 1])
          else if (part.type.endsWith('-start')) {
            expect(seen.has(part.id)).toBe(false)
            seen.add(part.id)
            open.add(part.id)
          } else if (part.type.endsWith('-end')) expect(open.delete(part.id)).toBe(true)
          else if (part.type !== 'whole') expect(open.has(part.id)).toBe(true)
        })
      }),
    )
  })
})

/** The events that a client gets for these parts, and what is lost. */
function encodeParts(parts: StreamPart[], fields: object = {}) {
  const client = clientOf({ stream: true, ...fields })
  const encoder = chat.codec.encodeStream(client)
  for (const part of parts) encoder.part(part)
  const bytes = encoder.take()
  expect(encoder.take()).toBe('')
  const data = [...sseEvents(Buffer.from(bytes))].map((event) => event.data)
  return {
    bytes,
    data,
    chunks: data.filter((d) => d !== DONE).map((d) => JSON.parse(d)),
    losses: client.losses.names,
  }
}

const GOLDEN: StreamPart[] = [
  {
    type: 'start',
    id: 'msg_1',
    model: 'up',
    usage: { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10, output: 1 },
  },
  { type: 'reasoning-start', id: '0' },
  { type: 'reasoning-delta', id: '0', text: 'T2', paragraph: 0 },
  { type: 'reasoning-end', id: '0', carrier: { dialect: 'messages', kind: 'signature', value: 'SIG2' } },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', text: 'Hi' },
  { type: 'text-end', id: '1' },
  { type: 'tool-call-start', id: '2', callId: 'call_9', name: 'get_weather', kind: 'function' },
  { type: 'tool-call-delta', id: '2', text: '{"city":"Oslo"}' },
  { type: 'tool-call-end', id: '2' },
  {
    type: 'finish',
    finish: { reason: 'tool-calls' },
    usage: { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10, output: 30, reasoning: 12 },
  },
]

describe('a stream for a client', () => {
  const WANTS_USAGE = { stream_options: { include_usage: true } }
  const SEALED = envelopes.seal({ dialect: 'messages', kind: 'signature', value: 'SIG2' })

  test('the answer of all dialects', () => {
    const { data, chunks } = encodeParts(GOLDEN, WANTS_USAGE)
    expect(data.at(-1)).toBe(DONE)
    const last = chunks.pop()
    expect(last).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 30,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 12 },
      },
    })
    expect(chunks.map((c) => [c.choices[0].delta, c.choices[0].finish_reason])).toEqual([
      [{ role: 'assistant', content: '', refusal: null }, null],
      [{ reasoning_content: 'T2' }, null],
      [{ reasoning_details: [{ type: 'reasoning.text', signature: SEALED }] }, null],
      [{ content: 'Hi' }, null],
      [
        {
          tool_calls: [
            { index: 0, id: 'call_9', type: 'function', function: { name: 'get_weather', arguments: '' } },
          ],
        },
        null,
      ],
      [{ tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] }, null],
      [{}, 'tool_calls'],
    ])
    for (const c of chunks)
      expect(c).toMatchObject({
        id: 'chatcmpl-x1',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: 'M',
        usage: null,
      })
  })

  test('usage only for a client that asked, and only if it is known', () => {
    expect(encodeParts(GOLDEN).bytes).not.toContain('usage')
    const [start, ...rest] = GOLDEN
    const unknown = [
      { ...start, usage: undefined } as StreamPart,
      ...rest.slice(0, -1),
      { type: 'finish' as const, finish: { reason: 'stop' as const } },
    ]
    const { chunks } = encodeParts(unknown, WANTS_USAGE)
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: null })
  })

  test('calls are numbered from 0, whatever came before them, also when they interleave', () => {
    const { chunks } = encodeParts([
      { type: 'start' },
      { type: 'text-start', id: 'b0' },
      { type: 'text-end', id: 'b0' },
      { type: 'tool-call-start', id: 'b1', callId: 'x', name: 'f', kind: 'function' },
      { type: 'tool-call-start', id: 'b2', callId: 'y', name: 'c', kind: 'custom' },
      { type: 'tool-call-delta', id: 'b2', text: 'in' },
      { type: 'tool-call-end', id: 'b2' },
      {
        type: 'tool-call-end',
        id: 'b1',
        carrier: { dialect: 'chat', kind: 'extra_content', value: '{"e":1}' },
      },
    ])
    expect(chunks.slice(1).map((c) => c.choices[0].delta.tool_calls[0])).toEqual([
      { index: 0, id: 'x', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 1, id: 'y', type: 'custom', custom: { name: 'c', input: '' } },
      { index: 1, custom: { input: 'in' } },
      { index: 0, function: { arguments: '{}' } },
      { index: 0, extra_content: { e: 1 } },
    ])
  })

  test('refusals, explanations, citations, images and what is lost', () => {
    const { chunks, losses } = encodeParts([
      { type: 'start' },
      { type: 'text-start', id: 'a' },
      { type: 'text-delta', id: 'a', text: 'abc', logprobs: [{ token: 'abc' }] },
      { type: 'text-end', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', text: 'd' },
      {
        type: 'annotation',
        id: 'b',
        annotation: { type: 'url', url: 'https://example.com', start: 0, end: 1 },
      },
      {
        type: 'annotation',
        id: 'b',
        annotation: { type: 'other', ext: { dialect: 'messages', at: '', fields: {} } },
      },
      { type: 'whole', id: 'c', part: { type: 'hosted', dialect: 'messages', name: 'x', item: {} } },
      {
        type: 'whole',
        id: 'd',
        part: { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AA' } },
      },
      { type: 'finish', finish: { reason: 'content-filter', explanation: 'Why' }, tier: 'flex' },
    ])
    expect(chunks.map((c) => c.choices[0].delta)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'abc' },
      { content: 'd' },
      { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
      {
        annotations: [
          {
            type: 'url_citation',
            url_citation: { start_index: 3, end_index: 4, title: '', url: 'https://example.com' },
          },
        ],
      },
      { refusal: 'Why' },
      {},
    ])
    expect(chunks[1].choices[0].logprobs).toEqual({ content: [{ token: 'abc' }], refusal: null })
    expect(chunks.at(-1)).toMatchObject({
      service_tier: 'flex',
      choices: [{ finish_reason: 'content_filter' }],
    })
    expect(losses).toEqual(['messages.annotations', 'hosted', 'messages.content.image_url'])
  })

  test('lists come in one delta, or with indexes: SDKs put them together by these', () => {
    const think = (id: string, value: string): StreamPart[] => [
      { type: 'reasoning-start', id },
      { type: 'reasoning-end', id, carrier: { dialect: 'messages', kind: 'redacted', value } },
    ]
    const cite = (id: string, url: string): StreamPart[] => [
      { type: 'text-start', id },
      { type: 'text-delta', id, text: id },
      { type: 'annotation', id, annotation: { type: 'url', url, start: 0, end: 1 } },
      { type: 'text-end', id },
    ]
    const { chunks } = encodeParts([
      { type: 'start' },
      ...think('a', '1'),
      ...think('b', '2'),
      ...cite('c', 'https://example.com/1'),
      ...think('d', '3'),
      ...cite('e', 'https://example.com/2'),
      { type: 'finish', finish: { reason: 'stop' } },
    ])
    const deltas = chunks.map((c) => c.choices[0].delta)
    const lists = deltas.flatMap((d) => (d.reasoning_details ? [d.reasoning_details] : []))
    expect(lists.map((list) => list.map((entry: { index?: number }) => entry.index))).toEqual([[0, 1], [2]])
    expect(deltas.filter((d) => 'annotations' in d)).toMatchObject([
      {
        annotations: [
          { url_citation: { url: 'https://example.com/1' } },
          { url_citation: { url: 'https://example.com/2' } },
        ],
      },
    ])
  })

  test('a client of functions gets a function call', () => {
    const { chunks } = encodeParts(GOLDEN, { functions: [{ name: 'get_weather' }] })
    const deltas = chunks.map((c) => c.choices[0].delta.function_call).filter((c) => c !== undefined)
    expect(deltas).toEqual([{ name: 'get_weather', arguments: '' }, { arguments: '{"city":"Oslo"}' }])
    expect(chunks.at(-1).choices[0].finish_reason).toBe('function_call')
  })

  test('an error takes the place of [DONE]', () => {
    const encoder = chat.codec.encodeStream(clientOf())
    const event = encoder.error(new GatewayError('upstream_error', 'Sorry.'), 'req_1')
    expect(event).toBe(
      'data: {"error":{"message":"Sorry.","type":"server_error","param":null,"code":"upstream_error"}}\n\n',
    )
  })

  test('the official SDK puts the same answer together', async () => {
    const { bytes } = encodeParts(GOLDEN, WANTS_USAGE)
    const client = new OpenAI({
      apiKey: 'none',
      fetch: async () => new Response(bytes, { headers: { 'content-type': 'text/event-stream' } }),
    })
    const stream = client.chat.completions.stream({ model: 'M', messages: [{ role: 'user', content: 'Hi' }] })
    expect(await stream.finalChatCompletion()).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'Hi',
            tool_calls: [{ id: 'call_9', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }],
          },
        },
      ],
      usage: { total_tokens: 130 },
    })
  })
})

const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined ? join(import.meta.dirname, '../__fixtures__') : join(RECORDINGS, 'chat')
const files = readdirSync(folder).filter((file) => file.endsWith('.sse'))

describe(
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams',
  () => {
    test.each(files)('%s', (file) => {
      const events = [...sseEvents(readFileSync(join(folder, file)))].map((e) => e.data)
      const { parts, decoder } = decodeEvents(events)
      const chunks = events.filter((d) => d.startsWith('{')).map((d) => JSON.parse(d))
      if (chunks.some((c) => c.error)) {
        expect(decoder.failure).toBeDefined()
        return
      }
      const deltas = chunks.flatMap((c) =>
        (c.choices ?? []).map((choice: { delta?: object }) => choice.delta ?? {}),
      )
      const joined = (...fields: string[]) =>
        deltas.map((d) => fields.map((f) => d[f]).find((t) => typeof t === 'string') ?? '').join('')
      const answer = fold(parts)
      expect(answer !== undefined).toBe(decoder.finished)
      if (answer === undefined) return
      const textOf = (type: string) =>
        answer.parts.map((p) => (p.type === type && 'text' in p ? p.text : '')).join('')
      expect(textOf('text')).toBe(joined('content'))
      expect(answer.parts.map((p) => (p.type === 'reasoning' ? p.texts.join('') : '')).join('')).toBe(
        joined('reasoning_content', 'reasoning'),
      )
      const encoded = encodeParts(parts, { stream_options: { include_usage: true } })
      const again = fold(decodeEvents(encoded.data).parts)
      // What the upstream left out is ours.
      expect(again).toEqual({ id: 'chatcmpl-x1', created: 1_700_000_000, ...answer, model: 'M' })
    })
  },
)
