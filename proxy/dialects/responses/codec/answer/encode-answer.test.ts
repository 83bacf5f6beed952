import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../../../contract/usage.ts'
import { assertComplete } from '../../../../../test/conformance/dialects/strict-responses.ts'
import { isRecord } from '../../../core/json/value.ts'
import { anyAnswer } from '../../../core/neutral/testing.ts'
import type { AssistantPart, Carrier, Finish, ModelAnswer } from '../../../core/neutral/types.ts'
import { clientFor, requestFor, withoutExt } from './answer-testing.ts'
import { decodeAnswer } from './decode-answer.ts'
import { encodeAnswer } from './encode-answer.ts'

const answerOf = (parts: AssistantPart[], finish: Finish = { reason: 'stop' }): ModelAnswer => ({
  parts,
  finish,
})

function encode(answer: ModelAnswer, client = clientFor()): Record<string, unknown> {
  const response: unknown = encodeAnswer(answer, client)
  if (!isRecord(response)) throw new Error('no object')
  return response
}

const outputOf = (parts: AssistantPart[], finish?: Finish, client = clientFor()) =>
  encode(answerOf(parts, finish), client).output

test('has every field that strict clients require, default or echoed', () => {
  const plain = encode(answerOf([]))
  assertComplete(plain)
  expect(plain).toMatchObject({
    id: 'resp_X',
    object: 'response',
    created_at: 1700,
    status: 'completed',
    model: 'alias',
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    text: { format: { type: 'text' } },
    truncation: 'disabled',
    service_tier: 'default',
    metadata: {},
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    instructions: null,
    previous_response_id: null,
    reasoning: null,
    store: true,
  })
  const body = {
    temperature: 0.3,
    instructions: 'be brief',
    metadata: { k: 'v' },
    text: { verbosity: 'low' },
    tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }],
    tool_choice: { type: 'function', name: 'f' },
    parallel_tool_calls: false,
    reasoning: { effort: 'low' },
    max_output_tokens: 99,
    store: false,
    previous_response_id: 'resp_0',
  }
  expect(encode(answerOf([]), clientFor(body))).toMatchObject({
    ...body,
    text: { verbosity: 'low', format: { type: 'text' } },
    tools: [
      { type: 'function', name: 'f', description: null, parameters: null, strict: null },
      { type: 'web_search' },
    ],
    reasoning: { effort: 'low', summary: null },
  })
})

const MESSAGE = { id: 'msg_X00', type: 'message', status: 'completed', role: 'assistant' }
const signature: Carrier = { dialect: 'messages', kind: 'signature', value: 'S' }

describe('items', () => {
  test.each<[string, AssistantPart[], unknown[]]>([
    [
      'adjacent texts are one message',
      [
        { type: 'text', text: 'a' },
        { type: 'refusal', text: 'no' },
      ],
      [
        {
          ...MESSAGE,
          content: [
            { type: 'output_text', text: 'a', annotations: [], logprobs: [] },
            { type: 'refusal', refusal: 'no' },
          ],
        },
      ],
    ],
    [
      'annotations: unknown indexes are zero',
      [{ type: 'text', text: 'a', annotations: [{ type: 'url', url: 'https://e.x' }] }],
      [
        {
          ...MESSAGE,
          content: [
            {
              type: 'output_text',
              text: 'a',
              logprobs: [],
              annotations: [
                { type: 'url_citation', url: 'https://e.x', title: '', start_index: 0, end_index: 0 },
              ],
            },
          ],
        },
      ],
    ],
    [
      'signed reasoning, sealed',
      [{ type: 'reasoning', texts: ['hm'], carrier: signature }],
      [
        {
          id: 'rs_X00',
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: 'slc1.signature.S',
        },
      ],
    ],
    [
      'encrypted content of this dialect, unchanged',
      [
        {
          type: 'reasoning',
          texts: [],
          carrier: { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_9' },
        },
      ],
      [{ id: 'rs_X00', type: 'reasoning', summary: [], encrypted_content: 'E' }],
    ],
    [
      'a chain of thought',
      [{ type: 'reasoning', texts: ['a', 'b'], raw: true }],
      [
        {
          id: 'rs_X00',
          type: 'reasoning',
          summary: [],
          content: [
            { type: 'reasoning_text', text: 'a' },
            { type: 'reasoning_text', text: 'b' },
          ],
        },
      ],
    ],
    [
      'calls',
      [
        { type: 'tool-call', callId: 'toolu_1', name: 'f', kind: 'function', input: '' },
        {
          type: 'tool-call',
          callId: 'call_2',
          name: 'p',
          namespace: 'ns',
          kind: 'custom',
          input: 'x',
        },
      ],
      [
        {
          id: 'fc_X00',
          type: 'function_call',
          status: 'completed',
          call_id: 'toolu_1',
          name: 'f',
          arguments: '{}',
        },
        {
          id: 'ctc_X01',
          type: 'custom_tool_call',
          status: 'completed',
          call_id: 'call_2',
          name: 'p',
          namespace: 'ns',
          input: 'x',
        },
      ],
    ],
    [
      'a web search of another vendor',
      [
        {
          type: 'hosted',
          dialect: 'messages',
          name: 'server_tool_use',
          item: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
        },
      ],
      [
        {
          id: 'ws_X00',
          type: 'web_search_call',
          status: 'completed',
          action: { type: 'search', query: 'q' },
        },
      ],
    ],
    [
      'an image',
      [{ type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' } }],
      [{ id: 'ig_X00', type: 'image_generation_call', status: 'completed', result: 'AAAA' }],
    ],
    [
      'an image and how it was made',
      [
        {
          type: 'image',
          source: { kind: 'data', mediaType: 'image/webp', base64: 'AAAA' },
          made: {
            revisedPrompt: 'A cat.',
            size: '1x2',
            quality: 'low',
            background: 'opaque',
            format: 'webp',
          },
        },
      ],
      [
        {
          id: 'ig_X00',
          type: 'image_generation_call',
          status: 'completed',
          background: 'opaque',
          output_format: 'webp',
          quality: 'low',
          size: '1x2',
          revised_prompt: 'A cat.',
          result: 'AAAA',
        },
      ],
    ],
    [
      'an image URL: its link',
      [
        { type: 'text', text: 'See' },
        { type: 'image', source: { kind: 'url', url: 'https://e.x/a(1).png' } },
      ],
      [
        {
          ...MESSAGE,
          content: [
            { type: 'output_text', text: 'See', annotations: [], logprobs: [] },
            {
              type: 'output_text',
              text: '![image](https://e.x/a%281%29.png)',
              annotations: [],
              logprobs: [],
            },
          ],
        },
      ],
    ],
    [
      'a lone half of a surrogate pair',
      [{ type: 'refusal', text: 'a\ud83d' }],
      [{ ...MESSAGE, content: [{ type: 'refusal', refusal: 'a\ufffd' }] }],
    ],
  ])('%s', (_name, parts, output) => {
    expect(outputOf(parts)).toEqual(output)
  })

  test.each<[AssistantPart, string]>([
    [{ type: 'hosted', dialect: 'messages', name: 'x', item: { type: 'x' } }, 'input'],
    [{ type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } }, 'input.content.image_url'],
    [
      { type: 'file', source: { kind: 'data', mediaType: 'application/pdf', base64: 'AAAA' } },
      'input.content.file_data',
    ],
    [{ type: 'audio', base64: 'AAAA', format: 'wav' }, 'input.content.input_audio'],
  ])('%j is a loss, and does not split the text around it', (part, loss) => {
    const client = clientFor()
    const output = outputOf(
      [{ type: 'text', text: 'a' }, part, { type: 'text', text: 'b' }],
      undefined,
      client,
    )
    expect(output).toHaveLength(1)
    expect(client.losses.names).toEqual([loss])
  })

  test('fields that a text or a call cannot carry are losses', () => {
    const client = clientFor()
    const ext = { dialect: 'messages' as const, at: 'content.citations', fields: { type: 'char_location' } }
    const carrier = { dialect: 'chat' as const, kind: 'extra_content' as const, value: '{}' }
    outputOf(
      [
        { type: 'text', text: 'a', annotations: [{ type: 'other', ext }] },
        { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '{}', carrier },
      ],
      undefined,
      client,
    )
    expect(client.losses.names).toEqual(['input.content.annotations', 'input.encrypted_content'])
  })
})

describe('finish', () => {
  test.each<[Finish, string, unknown, string]>([
    [{ reason: 'stop' }, 'completed', null, 'completed'],
    [{ reason: 'stop', raw: 'pause_turn' }, 'completed', null, 'completed'],
    [{ reason: 'tool-calls' }, 'completed', null, 'completed'],
    [{ reason: 'length' }, 'incomplete', { reason: 'max_output_tokens' }, 'incomplete'],
    [{ reason: 'content-filter' }, 'incomplete', { reason: 'content_filter' }, 'incomplete'],
  ])('%j', (finish, status, details, last) => {
    const call = { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '{}' } as const
    expect(encode(answerOf([{ type: 'text', text: 'a' }, call], finish))).toMatchObject({
      status,
      incomplete_details: details,
      completed_at: status === 'completed' ? 1700 : null,
      output: [{ status: 'completed' }, { status: last }],
    })
  })

  test('an image stays complete when the answer is cut after it', () => {
    const image = { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' } } as const
    expect(outputOf([image], { reason: 'length' })).toMatchObject([{ status: 'completed', result: 'AAAA' }])
  })

  test('an explanation becomes a refusal if the answer has none', () => {
    const finish: Finish = { reason: 'content-filter', explanation: 'Not this.' }
    expect(outputOf([{ type: 'text', text: 'a' }], finish)).toMatchObject([
      { status: 'incomplete', content: [{ text: 'a' }, { type: 'refusal', refusal: 'Not this.' }] },
    ])
    expect(outputOf([{ type: 'refusal', text: 'No.' }], finish)).toMatchObject([
      { content: [{ refusal: 'No.' }] },
    ])
  })
})

test('usage has all details, even if the upstream reported none', () => {
  const usage = { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10, output: 30, reasoning: 12 }
  expect(encode({ ...answerOf([]), usage, tier: 'priority' })).toMatchObject({
    service_tier: 'priority',
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
      output_tokens: 30,
      output_tokens_details: { reasoning_tokens: 12 },
      total_tokens: 130,
    },
  })
  expect(encode(answerOf([]))).toMatchObject({
    usage: { input_tokens: 0, input_tokens_details: { cached_tokens: 0 }, total_tokens: 0 },
  })
})

test('decoding returns the encoded answer', () => {
  fc.assert(
    fc.property(anyAnswer, (answer) => {
      const given = structuredClone(answer)
      const back = decodeAnswer(encodeAnswer(answer, clientFor()), requestFor())
      expect(answer).toEqual(given)
      if (!('parts' in back)) throw new Error('a failure')
      const plain = withoutExt(back)
      expect(plain.usage).toEqual(answer.usage ?? zeroUsage())
      expect(plain.finish).toEqual(answer.finish)
      expect(plain.parts.map(comparable)).toEqual(answer.parts.map(comparable))
    }),
  )
})

/** The fields of a part that every dialect keeps. */
function comparable(part: AssistantPart): unknown {
  if (part.type === 'reasoning') return part.texts
  if (part.type === 'tool-call') return [part.callId, part.name, part.kind, part.input]
  if (part.type !== 'text') return part
  return [part.text, part.annotations?.map((annotation) => annotation.type === 'url' && annotation.url)]
}

describe('a search for tools', () => {
  const found = (input: string) =>
    outputOf([{ type: 'tool-call', callId: 'c', name: 'tool_search', kind: 'function', search: true, input }])
  const deep = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

  test('is an item with arguments as an object', () => {
    const item = {
      type: 'tool_search_call',
      id: 'tsc_X00',
      status: 'completed',
      call_id: 'c',
      execution: 'client',
    }
    expect(found('{"query":"a","limit":2}')).toEqual([{ ...item, arguments: { query: 'a', limit: 2 } }])
  })

  test.each<[string, string, unknown]>([
    ['nothing', '', {}],
    ['cut JSON', '{"query":"a', '{"query":"a'],
    ['a list', '[1]', '[1]'],
    ['half a character', '\ud800', '\ufffd'],
    ['the maximum depth', deep(16), JSON.parse(deep(16))],
    ['a greater depth', deep(17), deep(17)],
  ])('arguments of %s', (_what, input, expected) => {
    expect(found(input)).toMatchObject([{ arguments: expected }])
  })

  test('arguments keep their long integers', () => {
    expect(JSON.stringify(found('{"id":12345678901234567890}'))).toContain('{"id":12345678901234567890}')
  })
})
