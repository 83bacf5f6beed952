import { describe, expect, test } from 'vitest'
import type { Carrier, ReasoningPart } from '../../core/neutral/types.ts'
import { chat } from '../index.ts'
import { decodeReasoning } from './reasoning.ts'
import { clientOf, decode, envelopes } from './testing.ts'

const named = (message: Record<string, unknown>) => decodeReasoning(message, 'messages[0]', envelopes)
const read = (message: Record<string, unknown>) => named(message).map(({ names: _names, ...part }) => part)
const part = (texts: string[], more: Partial<ReasoningPart> = {}): ReasoningPart => ({
  type: 'reasoning',
  texts,
  ...more,
})
const signed = (value: string): Carrier => ({ dialect: 'messages', kind: 'signature', value })
const redacted = (value: string): Carrier => ({ dialect: 'messages', kind: 'redacted', value })
const encrypted = (value: string, id?: string): Carrier => ({
  dialect: 'responses',
  kind: 'encrypted',
  value,
  ...(id && { id }),
})
const seal = envelopes.seal

describe('reasoning that a client sends back', () => {
  test.each<[string, Record<string, unknown>, ReasoningPart[]]>([
    ['nothing', { reasoning_content: '', reasoning: null, reasoning_details: [] }, []],
    ['plain text', { reasoning_content: 'T' }, [part(['T'])]],
    ['the other plain text field', { reasoning: 'T', reasoning_content: null }, [part(['T'])]],
    [
      'a foreign signature',
      { reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: 'SIG' }] },
      [part(['T'], { carrier: signed('SIG') })],
    ],
    [
      'a signature of the gateway, with the text beside it',
      {
        reasoning_content: 'T',
        reasoning_details: [{ type: 'reasoning.text', signature: seal(signed('S')) }],
      },
      [part(['T'], { carrier: signed('S') })],
    ],
    [
      'a signature of the gateway, with its text',
      {
        reasoning_content: 'T',
        reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: seal(signed('S')) }],
      },
      [part(['T'], { carrier: signed('S') })],
    ],
    [
      'two signatures of the gateway from a stream, the first without text',
      {
        reasoning_content: 'A\n\nB',
        reasoning_details: [
          { type: 'reasoning.text', signature: seal(signed('1')) },
          { type: 'reasoning.text', text: 'B', signature: seal(signed('2')) },
        ],
      },
      [part(['A'], { carrier: signed('1') }), part(['B'], { carrier: signed('2') })],
    ],
    [
      'an envelope of the gateway with state of the responses API',
      {
        reasoning_content: 'T',
        reasoning_details: [{ type: 'reasoning.encrypted', data: seal(encrypted('E', 'rs_1')), id: 'rs_1' }],
      },
      [part(['T'], { carrier: encrypted('E', 'rs_1') })],
    ],
    [
      'redacted reasoning, which has no text',
      {
        reasoning_content: 'T',
        reasoning_details: [{ type: 'reasoning.encrypted', data: seal(redacted('R')) }],
      },
      [part(['T']), part([], { carrier: redacted('R') })],
    ],
    [
      'a forged envelope',
      { reasoning_content: 'T', reasoning_details: [{ type: 'reasoning.text', signature: 'slc1.forged' }] },
      [part(['T'], { lostCarrier: true })],
    ],
    [
      'a summary and its full text',
      {
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'Sum', format: 'openai-responses-v1' },
          { type: 'reasoning.encrypted', data: 'E', id: 'rs_2', format: 'openai-responses-v1' },
        ],
      },
      [part(['Sum'], { raw: false, carrier: encrypted('E', 'rs_2') })],
    ],
    [
      'foreign redacted reasoning',
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'R', format: 'anthropic-claude-v1' }] },
      [part([], { carrier: redacted('R') })],
    ],
    [
      'details of another vendor',
      {
        reasoning: 'T',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'G', format: 'google-gemini-v1' }],
      },
      [
        part(['T'], {
          carrier: {
            dialect: 'chat',
            kind: 'details',
            value: '[{"type":"reasoning.encrypted","data":"G","format":"google-gemini-v1"}]',
          },
        }),
      ],
    ],
    [
      'litellm’s blocks',
      {
        reasoning_content: 'T',
        thinking_blocks: [
          { type: 'thinking', thinking: 'T', signature: 'S' },
          { type: 'redacted_thinking', data: 'R' },
        ],
      },
      [part(['T'], { carrier: signed('S') }), part([], { carrier: redacted('R') })],
    ],
  ])('%s', (_, message, expected) => {
    expect(read(message)).toEqual(expected)
  })

  test.each<[string, Record<string, unknown>, object | undefined]>([
    ['in the usual field', { reasoning_content: 'T', reasoning_details: [] }, undefined],
    ['in the other plain text field', { reasoning: 'T' }, { reasoning: 'messages.reasoning' }],
    [
      'in details alone',
      { reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: 'S' }] },
      { reasoning: 'messages.reasoning_details' },
    ],
    [
      'in litellm’s blocks',
      { thinking_blocks: [{ type: 'thinking', thinking: 'T', signature: 'S' }] },
      { reasoning: 'messages.thinking_blocks', 'reasoning.state': 'messages.thinking_blocks' },
    ],
  ])('its loss has the name of its field: %s', (_, message, names) => {
    expect(named(message).map((thought) => thought.names)).toEqual([names])
  })

  test('it precedes the text', () => {
    const message = { role: 'assistant', content: 'x', reasoning_content: 'T' }
    const [turn] = decode({ messages: [message] }).turns
    expect(turn).toMatchObject({
      parts: [
        { type: 'reasoning', texts: ['T'] },
        { type: 'text', text: 'x' },
      ],
    })
  })
})

describe('reasoning comes back from the client unchanged', () => {
  const parts: ReasoningPart[] = [
    part(['A', 'B'], { carrier: signed('1') }),
    part([], { carrier: redacted('R') }),
    part(['C'], { carrier: signed('2') }),
  ]
  const expected = [part(['A\n\nB'], { carrier: signed('1') }), parts[1], parts[2]]

  test('from a whole answer', () => {
    const answer = chat.codec.encodeAnswer(
      { parts: [...parts, { type: 'text', text: 'x' }], finish: { reason: 'stop' } },
      clientOf(),
    )
    expect(answer).toMatchObject({
      choices: [
        {
          message: {
            reasoning_content: 'A\n\nB\n\nC',
            reasoning_details: [
              { type: 'reasoning.text', text: 'A\n\nB', signature: seal(signed('1')) },
              { type: 'reasoning.encrypted', data: seal(redacted('R')) },
              { type: 'reasoning.text', text: 'C', signature: seal(signed('2')) },
            ],
          },
        },
      ],
    })
    const { choices } = answer as { choices: { message: Record<string, unknown> }[] }
    expect(read(choices[0]?.message ?? {})).toEqual(expected)
  })

  test('from a stream', () => {
    const encoder = chat.codec.encodeStream(clientOf())
    encoder.part({ type: 'start' })
    parts.forEach(({ texts, carrier }, i) => {
      const id = `r${i}`
      encoder.part({ type: 'reasoning-start', id })
      texts.forEach((text, paragraph) => {
        for (const piece of text.split(''))
          encoder.part({ type: 'reasoning-delta', id, text: piece, paragraph })
      })
      encoder.part({ type: 'reasoning-end', id, ...(carrier && { carrier }) })
    })
    encoder.part({ type: 'text-start', id: 'text' })
    const deltas = encoder
      .take()
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.slice(6)).choices[0].delta)
    expect(
      read({
        reasoning_content: deltas.map((d) => d.reasoning_content ?? '').join(''),
        reasoning_details: deltas.flatMap((d) => d.reasoning_details ?? []),
      }),
    ).toEqual(expected)
  })

  test('a chat upstream gets its details unsealed', () => {
    const carrier: Carrier = {
      dialect: 'chat',
      kind: 'details',
      value: '[{"type":"reasoning.encrypted","data":"D","index":0}]',
    }
    expect(
      chat.codec.encodeAnswer({ parts: [part(['T'], { carrier })], finish: { reason: 'stop' } }, clientOf()),
    ).toMatchObject({
      choices: [
        {
          message: {
            content: null,
            reasoning_content: 'T',
            reasoning_details: [{ type: 'reasoning.encrypted', data: 'D', index: 0 }],
          },
        },
      ],
    })
  })
})
