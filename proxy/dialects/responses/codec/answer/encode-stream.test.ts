import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  assertComplete,
  readResponsesStream,
} from '../../../../../test/conformance/dialects/strict-responses.ts'
import { GatewayError } from '../../../../errors.ts'
import { fold } from '../../../core/neutral/fold.ts'
import { anyAnswer } from '../../../core/neutral/testing.ts'
import type { ModelAnswer, StreamPart } from '../../../core/neutral/types.ts'
import { unfold } from '../../../core/neutral/unfold.ts'
import { clientFor, dataOf, decodeData, encodeParts, withoutExt } from './answer-testing.ts'
import { encodeAnswer } from './encode-answer.ts'
import { ResponsesEncoder } from './encode-stream.ts'

const events = (text: string): Record<string, unknown>[] => dataOf(text).map((data) => JSON.parse(data))
const unfolded = (answer: ModelAnswer) => {
  const parts: StreamPart[] = []
  unfold(answer, (part) => parts.push(part))
  return parts
}

const GOLDEN: StreamPart[] = [
  { type: 'start' },
  { type: 'reasoning-start', id: 'a' },
  { type: 'reasoning-delta', id: 'a', text: 'T2', paragraph: 0 },
  { type: 'reasoning-end', id: 'a', carrier: { dialect: 'messages', kind: 'signature', value: 'SIG2' } },
  { type: 'text-start', id: 'b' },
  { type: 'text-delta', id: 'b', text: 'Hi' },
  { type: 'text-end', id: 'b' },
  { type: 'tool-call-start', id: 'c', callId: 'call_9', name: 'get_weather', kind: 'function' },
  { type: 'tool-call-delta', id: 'c', text: '{"city":"Oslo"}' },
  { type: 'tool-call-end', id: 'c' },
  {
    type: 'finish',
    finish: { reason: 'tool-calls' },
    usage: {
      input: 50,
      cachedInput: 40,
      cacheWrite: 10,
      cacheWriteLong: 0,
      output: 30,
      reasoning: 12,
      images: 0,
    },
  },
]

test('an answer with reasoning, a text and a call', () => {
  const text = encodeParts(GOLDEN)
  const all = events(text)
  expect(all.map(({ type }) => String(type).replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ])
  expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, i) => i))
  expect(all[2]).toMatchObject({ output_index: 0, item: { id: 'rs_X00', type: 'reasoning', summary: [] } })
  expect(all[7]).toMatchObject({ item: { encrypted_content: 'slc1.signature.SIG2' } })
  expect(all[10]).toEqual({
    type: 'response.output_text.delta',
    sequence_number: 10,
    item_id: 'msg_X01',
    output_index: 1,
    content_index: 0,
    delta: 'Hi',
    logprobs: [],
  })
  expect(all[14]).toMatchObject({ item: { call_id: 'call_9', arguments: '', status: 'in_progress' } })
  const final = readResponsesStream(text)
  assertComplete(final)
  expect(final).toMatchObject({
    id: 'resp_X',
    model: 'alias',
    status: 'completed',
    output: [
      { id: 'rs_X00', summary: [{ type: 'summary_text', text: 'T2' }] },
      { id: 'msg_X01', role: 'assistant', content: [{ text: 'Hi', annotations: [], logprobs: [] }] },
      { id: 'fc_X02', call_id: 'call_9', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ],
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 12 },
      total_tokens: 130,
    },
  })
})

test('lifecycle events have every required field', () => {
  const [created, running] = events(encodeParts(GOLDEN, clientFor({ instructions: 'S' })))
  for (const event of [created, running]) {
    const response = Object(event?.response)
    assertComplete(response)
    expect(response).toMatchObject({ status: 'in_progress', output: [], usage: null, instructions: 'S' })
    expect(response).toMatchObject({ completed_at: null })
  }
})

/** Cuts parts anywhere, and interleaves parallel calls in any order. */
const anyStream = fc
  .tuple(anyAnswer, fc.infiniteStream(fc.nat({ max: 3 })), fc.boolean())
  .map(([answer, numbers, interleave]) => {
    const next = () => Number(numbers.next().value ?? 0)
    const parts = unfolded(answer).flatMap((part): StreamPart[] => {
      if (part.type !== 'text-delta' && part.type !== 'tool-call-delta') return [part]
      const at = next()
      return [
        { ...part, text: part.text.slice(0, at) },
        { ...part, text: part.text.slice(at) },
      ]
    })
    return { answer, parts: interleave ? interleaveCalls(parts) : parts }
  })

/** The starts of all calls, then their deltas, then all ends. */
function interleaveCalls(parts: StreamPart[]): StreamPart[] {
  const order = ['tool-call-start', 'tool-call-delta', 'tool-call-end', 'finish']
  const before = parts.filter(({ type }) => !order.includes(type))
  const calls = parts.filter(({ type }) => order.includes(type))
  return [...before, ...order.flatMap((type) => calls.filter((part) => part.type === type))]
}

test('every stream is valid, ends with the same response as JSON, and decodes to the same answer', () => {
  fc.assert(
    fc.property(anyStream, ({ answer, parts }) => {
      const text = encodeParts(parts)
      expect(readResponsesStream(text)).toEqual(encodeAnswer(answer, clientFor()))
      const back = fold(decodeData(dataOf(text)).parts)
      if (back === undefined) throw new Error('not finished')
      const plain = withoutExt(back)
      expect(plain.finish).toEqual(answer.finish)
      expect(plain.parts.map(comparable)).toEqual(answer.parts.map(comparable))
    }),
  )
})

function comparable(part: ModelAnswer['parts'][number]): unknown {
  if (part.type === 'reasoning') return part.texts
  if (part.type === 'text') return part.text
  return part.type === 'tool-call' ? [part.callId, part.name, part.kind, part.input] : part
}

describe('parts', () => {
  const output = (parts: StreamPart[], reason: 'stop' | 'length' = 'stop') =>
    readResponsesStream(encodeParts([...parts, { type: 'finish', finish: { reason } }])).output

  test('several texts are one message', () => {
    const two = (id: string): StreamPart[] => [
      { type: 'text-start', id },
      { type: 'text-delta', id, text: id, logprobs: [{ token: id }] },
      { type: 'annotation', id, annotation: { type: 'url', url: 'https://e.x' } },
      { type: 'text-end', id },
    ]
    expect(output([...two('a'), ...two('b')])).toMatchObject([
      {
        content: [
          { text: 'a', logprobs: [{ token: 'a' }], annotations: [{ url: 'https://e.x', start_index: 0 }] },
          { text: 'b' },
        ],
      },
    ])
  })

  test('paragraphs of a summary, including an empty one', () => {
    const thought = (paragraph: number, text: string): StreamPart => ({
      type: 'reasoning-delta',
      id: 'a',
      text,
      paragraph,
    })
    const parts: StreamPart[] = [
      { type: 'reasoning-start', id: 'a' },
      thought(0, 'x'),
      thought(0, 'y'),
      thought(2, 'z'),
    ]
    expect(output([...parts, { type: 'reasoning-end', id: 'a' }])).toMatchObject([
      { summary: [{ text: 'xy' }, { text: '' }, { text: 'z' }] },
    ])
  })

  test('a chain of thought', () => {
    const parts: StreamPart[] = [
      { type: 'reasoning-start', id: 'a', raw: true },
      { type: 'reasoning-delta', id: 'a', text: 'hm', paragraph: 0 },
      { type: 'reasoning-end', id: 'a' },
    ]
    expect(output(parts)).toEqual([
      { id: 'rs_X00', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
    ])
  })

  test('a call without arguments has an empty object, a custom one nothing', () => {
    const call = (id: string, kind: 'function' | 'custom'): StreamPart[] => [
      { type: 'tool-call-start', id, callId: id, name: 'f', kind },
      { type: 'tool-call-end', id },
    ]
    expect(output([...call('a', 'function'), ...call('b', 'custom')])).toMatchObject([
      { type: 'function_call', arguments: '{}' },
      { type: 'custom_tool_call', input: '' },
    ])
  })

  test('holds half a surrogate pair until the other half arrives', () => {
    const delta = (text: string): StreamPart => ({ type: 'text-delta', id: 'a', text })
    const parts: StreamPart[] = [
      { type: 'text-start', id: 'a' },
      delta('x\ud83d'),
      delta('\ude00'),
      delta('y\ud83d'),
    ]
    expect(output(parts)).toMatchObject([{ content: [{ text: 'x😀y\ufffd' }] }])
  })

  test('a hosted item is added and done', () => {
    const item = { id: 'ws_9', type: 'web_search_call', status: 'completed', action: { type: 'search' } }
    const part = { type: 'hosted', dialect: 'responses', name: 'web_search_call', item } as const
    expect(output([{ type: 'whole', id: 'a', part }])).toEqual([item])
  })

  test('open parts are closed, and the last item is cut', () => {
    const parts: StreamPart[] = [
      { type: 'tool-call-start', id: 'a', callId: 'c', name: 'f', kind: 'function' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', text: 'Hi' },
    ]
    expect(output(parts, 'length')).toMatchObject([{ status: 'completed' }, { status: 'incomplete' }])
  })

  test('a filter’s explanation is a refusal', () => {
    const text = encodeParts([
      ...GOLDEN.slice(0, -1),
      { type: 'finish', finish: { reason: 'content-filter', explanation: 'Not this.' } },
    ])
    expect(readResponsesStream(text)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{}, {}, {}, { content: [{ type: 'refusal', refusal: 'Not this.' }] }],
    })
  })
})

describe('errors', () => {
  const error = new GatewayError('upstream_error', 'The upstream failed.')

  test('before the first event', () => {
    expect(events(new ResponsesEncoder(clientFor()).error(error))).toEqual([
      {
        type: 'error',
        sequence_number: 0,
        code: 'upstream_error',
        message: 'The upstream failed.',
        param: null,
      },
    ])
  })

  test('after it, with the finished items', () => {
    for (const count of GOLDEN.keys()) {
      if (count === 0) continue
      const encoder = new ResponsesEncoder(clientFor())
      for (const part of GOLDEN.slice(0, count)) encoder.part(part)
      const before = encoder.take()
      const after = encoder.error(error)
      expect(events(after)).toHaveLength(1)
      const final = readResponsesStream(before + after)
      assertComplete(final)
      expect(final).toMatchObject({
        id: 'resp_X',
        status: 'failed',
        error: { code: 'upstream_error', message: 'The upstream failed.' },
      })
      encoder.part({ type: 'text-start', id: 'late' })
      expect(encoder.take()).toBe('')
    }
  })
})

test('images: a whole item, or a link in a message', () => {
  const text = encodeParts([
    { type: 'start' },
    { type: 'partial-image', id: 'a', index: 0, base64: 'AA' },
    {
      type: 'whole',
      id: 'a',
      part: { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' } },
    },
    { type: 'whole', id: 'b', part: { type: 'image', source: { kind: 'url', url: 'https://e.x/1' } } },
    { type: 'finish', finish: { reason: 'stop' } },
  ])
  expect(events(text).map(({ type }) => String(type).replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  expect(events(text)[2]).toMatchObject({ item: { status: 'in_progress' } })
  expect(readResponsesStream(text)).toMatchObject({
    output: [
      { id: 'ig_X00', type: 'image_generation_call', status: 'completed', result: 'AAAA' },
      { id: 'msg_X01', content: [{ text: '![image](https://e.x/1)' }] },
    ],
  })
})

describe('a search for tools', () => {
  const begun: StreamPart[] = [
    { type: 'start' },
    {
      type: 'tool-call-start',
      id: 'c',
      callId: 'call_1',
      name: 'tool_search',
      kind: 'function',
      search: true,
    },
    { type: 'tool-call-delta', id: 'c', text: '{"query":' },
    { type: 'tool-call-delta', id: 'c', text: '"a"}' },
  ]
  const item = { id: 'tsc_X00', type: 'tool_search_call', call_id: 'call_1', execution: 'client' }

  test('has its arguments only in the finished item', () => {
    const text = encodeParts([
      ...begun,
      { type: 'tool-call-end', id: 'c' },
      { type: 'finish', finish: { reason: 'tool-calls' } },
    ])
    const done = { ...item, status: 'completed', arguments: { query: 'a' } }
    const at = { output_index: 0, sequence_number: expect.any(Number) }
    expect(events(text).slice(2, -1)).toEqual([
      { ...at, type: 'response.output_item.added', item: { ...item, status: 'in_progress', arguments: {} } },
      { ...at, type: 'response.output_item.done', item: done },
    ])
    expect(readResponsesStream(text).output).toEqual([done])
  })

  test('that is cut has the arguments so far', () => {
    const cut = [...begun.slice(0, -1), { type: 'finish', finish: { reason: 'length' } } as const]
    expect(readResponsesStream(encodeParts(cut)).output).toEqual([
      { ...item, status: 'incomplete', arguments: '{"query":' },
    ])
  })

  test('loses state that only reasoning can carry', () => {
    const client = clientFor()
    const carrier = { dialect: 'chat', kind: 'extra_content', value: '{}' } as const
    encodeParts([...begun, { type: 'tool-call-end', id: 'c', carrier }], client)
    expect(client.losses.names).toEqual(['input.encrypted_content'])
  })
})
