import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { zeroUsage } from '../../../../contract/usage.ts'
import { GatewayError } from '../../../errors.ts'
import { weather } from '../../core/hub/testing.ts'
import { anyAnswer } from '../../core/neutral/testing.ts'
import type {
  AssistantPart,
  Carrier,
  ModelAnswer,
  ModelRequest,
  StreamPart,
} from '../../core/neutral/types.ts'
import { CompactingEncoder, compacted, summarise } from './emulated.ts'
import { INSTRUCTION } from './prompts.ts'

/** Seals a carrier as its JSON. */
const OWNER = {
  id: 'X',
  envelopes: {
    seal: ({ dialect, kind, value }: Carrier) => `${dialect}/${kind}/${value}`,
    open: () => 'foreign' as const,
  },
}
const USAGE = { ...zeroUsage(), input: 50, output: 7 }

/** The only part of an answer with this summary. */
const item = (summary: string) => ({
  type: 'hosted',
  dialect: 'responses',
  name: 'compaction',
  item: { id: 'cmp_X00', type: 'compaction', encrypted_content: `responses/compaction/${summary}` },
})

const text = (words: string): AssistantPart => ({ type: 'text', text: words })

function streamed(parts: readonly StreamPart[]) {
  const written: StreamPart[] = []
  let early = 0
  const inner = {
    part: (part: StreamPart) => void written.push(part),
    take: () => `took ${written.length}`,
    error: (error: GatewayError, id: string) => `${error.code} ${id}`,
  }
  const encoder = new CompactingEncoder(inner, OWNER)
  for (const part of parts) {
    if (part.type === 'finish') early = written.length
    encoder.part(part)
  }
  return { encoder, written, early }
}

describe('a request for a summary', () => {
  const request: ModelRequest = {
    model: 'm',
    stream: true,
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    tools: [weather],
    toolChoice: { type: 'required' },
    parallelToolCalls: false,
    maxOutputTokens: 900,
    temperature: 0.5,
    stop: ['END'],
    choices: 2,
    logprobs: { top: 3 },
    format: { type: 'json' },
    verbosity: 'low',
    reasoning: { effort: 'high' },
    cacheKey: 'k',
    store: true,
    compact: true,
  }

  it('has the conversation, its tools with the choice none, and the instruction at the end', () => {
    const before = structuredClone(request)
    expect(summarise(request, 'chat')).toEqual({
      model: 'm',
      stream: true,
      turns: [
        { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
        { role: 'user', parts: [{ type: 'text', text: INSTRUCTION }] },
      ],
      tools: [weather],
      toolChoice: { type: 'none' },
      maxOutputTokens: 900,
      temperature: 0.5,
      reasoning: { effort: 'high' },
      cacheKey: 'k',
      store: false,
    })
    expect(request).toEqual(before)
  })

  it('has no tool choice without tools', () => {
    expect(summarise({ ...request, tools: [] }, 'messages')).not.toHaveProperty('toolChoice')
  })

  it('is refused for an upstream that makes images', () => {
    expect(() => summarise(request, 'images')).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'input', status: 400 }),
    )
  })
})

describe('a whole answer', () => {
  it('has the summary as its only item, and the reported usage', () => {
    const answer: ModelAnswer = {
      parts: [
        { type: 'reasoning', texts: ['Hm.'] },
        text('Goal: '),
        { type: 'refusal', text: 'No.' },
        { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '{}' },
        text('ship it.'),
      ],
      finish: { reason: 'tool-calls', raw: 'tool_use' },
      usage: USAGE,
      tier: 'flex',
    }
    expect(compacted(answer, OWNER)).toEqual({
      parts: [item('Goal: ship it.')],
      finish: { reason: 'stop' },
      usage: USAGE,
      tier: 'flex',
    })
  })

  it('that the limit cut is used', () => {
    expect(compacted({ parts: [text('Goal: sh')], finish: { reason: 'length' } }, OWNER)).toEqual({
      parts: [item('Goal: sh')],
      finish: { reason: 'stop' },
    })
  })

  it.each<[string, AssistantPart[], ModelAnswer['finish']['reason'], string]>([
    ['nothing', [], 'stop', 'no_summary'],
    ['white space', [text(' \n')], 'stop', 'no_summary'],
    ['thoughts', [{ type: 'reasoning', texts: ['Goal'] }], 'length', 'no_summary'],
    ['a refusal', [{ type: 'refusal', text: 'No.' }], 'stop', 'no_summary'],
    [
      'a call',
      [{ type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '{}' }],
      'tool-calls',
      'no_summary',
    ],
    ['filtered words', [text('Sorry.')], 'content-filter', 'no_summary'],
    ['too much text', [text('x'.repeat(1_000_001))], 'stop', 'summary_too_long'],
  ])('of %s is a failure, as a whole and as a stream', (_, parts, reason, detail) => {
    const failure = { class: 'unknown', status: 200, channelNotAtFault: true, detail }
    expect(compacted({ parts, finish: { reason } }, OWNER)).toEqual(failure)
    const deltas = parts.flatMap((part, i): StreamPart[] =>
      part.type === 'text' ? [{ type: 'text-delta', id: `${i}`, text: part.text }] : [],
    )
    const { encoder, written } = streamed([...deltas, { type: 'finish', finish: { reason } }])
    expect(encoder.failure).toEqual(failure)
    expect(written).toEqual([])
  })
})

describe('a stream', () => {
  it('writes nothing before the summary is complete, then the same answer as a whole one', () => {
    const { encoder, written, early } = streamed([
      { type: 'start' },
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', text: 'Hm.', paragraph: 0 },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'Goal: ' },
      { type: 'text-delta', id: 't', text: 'ship it.' },
      { type: 'text-end', id: 't' },
      { type: 'tool-call-start', id: 'c', callId: 'c', name: 'f', kind: 'function' },
      { type: 'tool-call-delta', id: 'c', text: '{}' },
      { type: 'tool-call-end', id: 'c' },
      { type: 'finish', finish: { reason: 'length' }, usage: USAGE, tier: 'flex' },
    ])
    expect(early).toBe(0)
    expect(encoder.failure).toBeUndefined()
    expect(written).toEqual([
      { type: 'start', usage: { ...USAGE, output: 0 } },
      { type: 'whole', id: '0', part: item('Goal: ship it.') },
      { type: 'finish', finish: { reason: 'stop' }, usage: USAGE, tier: 'flex' },
    ])
    expect(encoder.take()).toBe('took 3')
    expect(encoder.error(new GatewayError('overloaded', 'Later.'), 'r1')).toBe('overloaded r1')
  })

  it('stops collecting a summary that is too long', () => {
    const half = 'x'.repeat(600_000)
    const { encoder } = streamed([
      { type: 'text-delta', id: 't', text: half },
      { type: 'text-delta', id: 't', text: half },
    ])
    expect(encoder.failure).toEqual({
      class: 'unknown',
      status: 200,
      channelNotAtFault: true,
      detail: 'summary_too_long',
    })
  })

  it('gives one item with all the text, whatever the deltas and other parts are', () => {
    const others = anyAnswer.map(({ parts }) => parts.filter((part) => part.type !== 'text'))
    const pieces = fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(pieces, others, fc.nat({ max: 8 }), (words, noise, at) => {
        const texts = ['Goal', ...words]
        const deltas = texts.map((word): StreamPart => ({ type: 'text-delta', id: 't', text: word }))
        const between = noise.flatMap((part, i): StreamPart[] =>
          part.type === 'reasoning'
            ? part.texts.map((t, paragraph) => ({ type: 'reasoning-delta', id: `r${i}`, text: t, paragraph }))
            : part.type === 'tool-call'
              ? [{ type: 'tool-call-delta', id: `c${i}`, text: part.input }]
              : [],
        )
        const finish: StreamPart = { type: 'finish', finish: { reason: 'stop' } }
        const { written } = streamed([...deltas.slice(0, at), ...between, ...deltas.slice(at), finish])
        const items = written.filter(({ type }) => type === 'whole')
        expect(items).toEqual([{ type: 'whole', id: '0', part: item(texts.join('')) }])
        const whole = compacted(
          {
            parts: [...texts.slice(0, at).map(text), ...noise, ...texts.slice(at).map(text)],
            finish: { reason: 'stop' },
          },
          OWNER,
        )
        expect(whole).toMatchObject({ parts: [item(texts.join(''))] })
      }),
    )
  })
})
