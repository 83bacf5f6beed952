import { describe, expect, test } from 'vitest'
import { type Message, readMessagesStream } from '../../../../../test/conformance/dialects/strict-messages.ts'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { call, encodeParts, textParts } from './block-testing.ts'

const START: StreamPart = { type: 'start' }

/** The message that a client reads from these parts between start and finish. */
function decoded(...parts: StreamPart[]): Message {
  const calls = parts.some(({ type }) => type === 'tool-call-start')
  const finish: StreamPart = { type: 'finish', finish: { reason: calls ? 'tool-calls' : 'stop' } }
  return readMessagesStream(encodeParts([START, ...parts, finish]).text)
}

describe('blocks', () => {
  const reason = (...texts: string[]): StreamPart[] => [
    { type: 'reasoning-start', id: 'r' },
    ...texts.map((text, paragraph): StreamPart => ({ type: 'reasoning-delta', id: 'r', text, paragraph })),
  ]

  test.each<[string, StreamPart[], object[]]>([
    ['empty text', textParts('t', ''), []],
    ['empty reasoning', [...reason(''), { type: 'reasoning-end', id: 'r' }], []],
    [
      'paragraphs',
      [...reason('A', '', 'B'), { type: 'reasoning-end', id: 'r' }],
      [{ type: 'thinking', thinking: 'A\n\nB', signature: '' }],
    ],
    [
      'a sealed carrier without text',
      [
        ...reason(),
        {
          type: 'reasoning-end',
          id: 'r',
          carrier: { dialect: 'responses', kind: 'encrypted', value: 'ENC' },
        },
      ],
      [{ type: 'thinking', thinking: '', signature: 'slc1.encrypted.ENC' }],
    ],
    [
      'redacted thinking',
      [
        ...reason(),
        { type: 'reasoning-end', id: 'r', carrier: { dialect: 'messages', kind: 'redacted', value: 'D' } },
      ],
      [{ type: 'redacted_thinking', data: 'D' }],
    ],
    ['a call without arguments', call('a'), [{ type: 'tool_use', id: 'call_a', name: 'f', input: {} }]],
    [
      'free text',
      [
        { type: 'tool-call-start', id: 'a', callId: 'c', name: 'f', kind: 'custom' },
        { type: 'tool-call-delta', id: 'a', text: 'a ' },
        { type: 'tool-call-delta', id: 'a', text: '"b"' },
        { type: 'tool-call-end', id: 'a' },
      ],
      [{ type: 'tool_use', id: 'c', name: 'f', input: { input: 'a "b"' } }],
    ],
    [
      'an item of a tool that this vendor runs',
      [
        {
          type: 'whole',
          id: 'w',
          part: {
            type: 'hosted',
            dialect: 'messages',
            name: 'server_tool_use',
            item: { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
          },
        },
      ],
      [{ type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }],
    ],
    [
      'a compaction',
      [
        {
          type: 'whole',
          id: 'w',
          part: {
            type: 'hosted',
            dialect: 'messages',
            name: 'compaction',
            item: { type: 'compaction', content: 'Summary', encrypted_content: 'E' },
          },
        },
      ],
      [{ type: 'compaction', content: 'Summary', encrypted_content: 'E' }],
    ],
    [
      'a citation',
      [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', text: 'x' },
        { type: 'annotation', id: 't', annotation: { type: 'url', url: 'u', title: 'A' } },
        { type: 'text-end', id: 't' },
      ],
      [
        {
          type: 'text',
          text: 'x',
          citations: [
            { type: 'web_search_result_location', url: 'u', title: 'A', cited_text: '', encrypted_index: '' },
          ],
        },
      ],
    ],
  ])('%s', (_, parts, content) => {
    expect(decoded(...parts).content).toEqual(content)
  })

  test('deltas of unknown parts are ignored', () => {
    expect(
      decoded({ type: 'text-delta', id: '?', text: 'x' }, { type: 'text-end', id: '?' }).content,
    ).toEqual([])
  })

  test('a refusal with text', () => {
    const message = decoded(
      { type: 'refusal-start', id: 'x' },
      { type: 'refusal-delta', id: 'x', text: 'No.' },
      { type: 'refusal-end', id: 'x' },
    )
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'No.' }], stop_reason: 'refusal' })
  })

  test.each(['function', 'custom'] as const)('a %s call that was cut never stops', (kind) => {
    const { text, losses } = encodeParts([
      START,
      { type: 'tool-call-start', id: 'a', callId: 'c', name: 'f', kind },
      { type: 'tool-call-delta', id: 'a', text: '{"a":' },
      { type: 'tool-call-end', id: 'a', cut: true },
      { type: 'finish', finish: { reason: 'length' } },
    ])
    expect(text).toContain('event: content_block_start')
    expect(text).not.toContain('event: content_block_stop')
    expect(text).toContain('"stop_reason":"max_tokens"')
    expect(losses).toEqual(['tools'])
  })

  test('an image becomes text in one delta', () => {
    const source = { kind: 'data', mediaType: 'image/png', base64: 'AAAA' } as const
    const parts: StreamPart[] = [
      { type: 'partial-image', id: 'i', index: 0, base64: 'AA' },
      { type: 'whole', id: 'i', part: { type: 'image', source } },
    ]
    const { content } = decoded(...parts)
    expect(content).toEqual([{ type: 'text', text: '![image](data:image/png;base64,AAAA)' }])
    const { text } = encodeParts([START, ...parts, { type: 'finish', finish: { reason: 'stop' } }])
    expect(text).toContain('"content_block":{"type":"text","text":""}')
  })

  test('losses are reported', () => {
    const { losses } = encodeParts([
      START,
      { type: 'whole', id: 'i', part: { type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } } },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'x', logprobs: [{}] },
      { type: 'annotation', id: 't', annotation: { type: 'url', url: 'u', start: 0, end: 1 } },
      { type: 'text-end', id: 't' },
    ])
    expect(losses.sort()).toEqual(['logprobs', 'messages.content.citations', 'messages.content.source'])
  })
})
