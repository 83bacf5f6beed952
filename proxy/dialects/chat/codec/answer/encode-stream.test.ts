import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { GatewayError } from '../../../../errors.ts'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { chat } from '../../index.ts'
import { clientOf, envelopes } from '../testing.ts'
import { DONE, encodeParts } from './stream-testing.ts'

const GOLDEN: StreamPart[] = [
  {
    type: 'start',
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

  test('usage only for a client that requested it, and only if known', () => {
    expect(encodeParts(GOLDEN).bytes).not.toContain('usage')
    const [start, ...rest] = GOLDEN
    if (start?.type !== 'start') throw new TypeError('the golden answer has no start')
    const { usage: _usage, ...silent } = start
    const unknown: StreamPart[] = [
      silent,
      ...rest.slice(0, -1),
      { type: 'finish' as const, finish: { reason: 'stop' as const } },
    ]
    const { chunks } = encodeParts(unknown, WANTS_USAGE)
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: null })
  })

  test('calls are numbered from 0 after any other parts, also when they interleave', () => {
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

  test('refusals, explanations, citations, images and losses', () => {
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
      { content: '\n\n![image](data:image/png;base64,AA)' },
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
    expect(losses).toEqual(['messages.annotations', 'hosted'])
  })

  test('an image at the start of an answer, and one that only its vendor stores', () => {
    const { chunks, losses } = encodeParts([
      { type: 'start' },
      {
        type: 'whole',
        id: 'a',
        part: { type: 'image', source: { kind: 'url', url: 'https://e.x/1(2).png' } },
      },
      { type: 'partial-image', id: 'b', index: 0, base64: 'AA' },
      { type: 'whole', id: 'c', part: { type: 'image', source: { kind: 'url', url: 'https://e.x/2' } } },
      { type: 'whole', id: 'b', part: { type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } } },
      { type: 'finish', finish: { reason: 'stop' } },
    ])
    expect(chunks.map((c) => c.choices[0].delta).slice(1)).toEqual([
      { content: '![image](https://e.x/1%282%29.png)' },
      { content: '\n\n![image](https://e.x/2)' },
      {},
    ])
    expect(losses).toEqual(['messages.content.image_url'])
  })

  test('lists are sent in one delta, or with indexes, by which SDKs merge them', () => {
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

  test('an error replaces [DONE]', () => {
    const encoder = chat.codec.encodeStream(clientOf())
    const event = encoder.error(new GatewayError('upstream_error', 'Sorry.'), 'req_1')
    expect(event).toBe(
      'data: {"error":{"message":"Sorry.","type":"server_error","param":null,"code":"upstream_error"}}\n\n',
    )
  })

  test('the official SDK assembles the same answer', async () => {
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
