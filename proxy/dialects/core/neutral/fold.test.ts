import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Folder, fold } from './fold.ts'
import { anyAnswer } from './testing.ts'
import type { AssistantPart, ModelAnswer, StreamPart } from './types.ts'
import { unfold } from './unfold.ts'

const usage = {
  input: 1,
  cachedInput: 2,
  cacheWrite: 3,
  cacheWriteLong: 0,
  output: 5,
  reasoning: 4,
  images: 0,
}
const stop: StreamPart = { type: 'finish', finish: { reason: 'stop' } }

function unfolded(answer: ModelAnswer): StreamPart[] {
  const parts: StreamPart[] = []
  unfold(answer, (part) => void parts.push(part))
  return parts
}

describe('folding a stream', () => {
  it('collects parts of every type in the order of their starts, also interleaved ones', () => {
    const carrier = { dialect: 'messages', kind: 'signature', value: 'S' } as const
    const image: AssistantPart = { type: 'image', source: { kind: 'url', url: 'u' } }
    const answer = fold([
      { type: 'start', usage },
      { type: 'reasoning-start', id: 'r', raw: true },
      { type: 'reasoning-delta', id: 'r', text: 'one', paragraph: 0 },
      { type: 'reasoning-delta', id: 'r', text: 'two', paragraph: 1 },
      { type: 'reasoning-delta', id: 'r', text: '!', paragraph: 1 },
      { type: 'reasoning-end', id: 'r', carrier },
      { type: 'tool-call-start', id: 'c1', callId: 'call_1', name: 'f', kind: 'function' },
      { type: 'tool-call-start', id: 'c2', callId: 'call_2', name: 'g', namespace: 'n', kind: 'custom' },
      { type: 'text-start', id: 't' },
      { type: 'tool-call-delta', id: 'c1', text: '{"a"' },
      { type: 'tool-call-delta', id: 'c2', text: 'free' },
      { type: 'text-delta', id: 't', text: 'Hel', logprobs: [{ token: 'Hel' }] },
      { type: 'tool-call-delta', id: 'c1', text: ':1}' },
      { type: 'annotation', id: 't', annotation: { type: 'url', url: 'https://example.com' } },
      { type: 'text-delta', id: 't', text: 'lo', logprobs: [{ token: 'l' }, { token: 'o' }] },
      { type: 'text-end', id: 't' },
      { type: 'tool-call-end', id: 'c1' },
      { type: 'tool-call-end', id: 'c2' },
      { type: 'whole', id: 'w', part: image },
      { type: 'refusal-start', id: 'n' },
      { type: 'refusal-delta', id: 'n', text: 'I ' },
      { type: 'refusal-delta', id: 'n', text: 'will not' },
      { type: 'refusal-end', id: 'n' },
      {
        type: 'finish',
        finish: { reason: 'tool-calls' },
        usage: { ...usage, output: 6 },
        tier: 'flex',
      },
    ])
    expect(answer).toEqual({
      finish: { reason: 'tool-calls' },
      usage: { ...usage, output: 6 },
      tier: 'flex',
      parts: [
        { type: 'reasoning', texts: ['one', 'two!'], raw: true, carrier },
        { type: 'tool-call', callId: 'call_1', name: 'f', kind: 'function', input: '{"a":1}' },
        { type: 'tool-call', callId: 'call_2', name: 'g', namespace: 'n', kind: 'custom', input: 'free' },
        {
          type: 'text',
          text: 'Hello',
          logprobs: [{ token: 'Hel' }, { token: 'l' }, { token: 'o' }],
          annotations: [{ type: 'url', url: 'https://example.com' }],
        },
        image,
        { type: 'refusal', text: 'I will not' },
      ],
    })
  })

  it('has no answer before the finish', () => {
    const folder = new Folder()
    folder.part({ type: 'start' })
    folder.part({ type: 'text-start', id: 't' })
    folder.part({ type: 'text-delta', id: 't', text: 'half' })
    expect(folder.answer()).toBeUndefined()
    expect(fold([])).toBeUndefined()
    folder.part({ type: 'text-end', id: 't' })
    folder.part(stop)
    expect(folder.answer()).toEqual({ parts: [{ type: 'text', text: 'half' }], finish: { reason: 'stop' } })
  })

  it('does not use the usage of the start', () => {
    expect(fold([{ type: 'start', usage }, stop])).not.toHaveProperty('usage')
  })

  it('ignores deltas of unknown parts, and bounds the paragraphs', () => {
    const answer = fold([
      { type: 'start' },
      { type: 'text-delta', id: 'unknown', text: 'x' },
      { type: 'reasoning-start', id: 'r' },
      { type: 'text-delta', id: 'r', text: 'x' },
      { type: 'reasoning-delta', id: 'r', text: 'far', paragraph: 2 ** 40 },
      { type: 'reasoning-end', id: 'r' },
      stop,
    ])
    const [part] = answer?.parts ?? []
    expect(answer?.parts).toHaveLength(1)
    expect(part?.type === 'reasoning' && part.texts.length).toBe(1000)
    expect(part?.type === 'reasoning' && part.texts.at(-1)).toBe('far')
  })
})

describe('unfolding an answer', () => {
  it('emits start, every part with one delta, and finish', () => {
    const answer: ModelAnswer = {
      finish: { reason: 'tool-calls' },
      usage,
      parts: [
        { type: 'reasoning', texts: ['a', 'b'] },
        { type: 'text', text: 'T' },
        { type: 'tool-call', callId: 'c', name: 'f', kind: 'function', input: '' },
      ],
    }
    expect(unfolded(answer)).toEqual([
      { type: 'start', usage: { ...usage, output: 0, reasoning: 0 } },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', text: 'a', paragraph: 0 },
      { type: 'reasoning-delta', id: '0', text: 'b', paragraph: 1 },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', text: 'T' },
      { type: 'text-end', id: '1' },
      { type: 'tool-call-start', id: '2', callId: 'c', name: 'f', kind: 'function' },
      { type: 'tool-call-end', id: '2' },
      { type: 'finish', finish: { reason: 'tool-calls' }, usage },
    ])
  })

  it.each<AssistantPart>([
    { type: 'text', text: '' },
    { type: 'text', text: '', logprobs: [] },
    { type: 'text', text: 'ab', logprobs: [{ token: 'a' }, { token: 'b' }] },
    { type: 'text', text: 'a', annotations: [{ type: 'url', url: 'u' }] },
    { type: 'refusal', text: '' },
    { type: 'refusal', text: 'no' },
    { type: 'reasoning', texts: [] },
    { type: 'reasoning', texts: ['', 'a', ''], raw: false },
    { type: 'reasoning', texts: [], carrier: { dialect: 'messages', kind: 'redacted', value: 'R' } },
    {
      type: 'tool-call',
      callId: 'c',
      name: 'f',
      namespace: 'n',
      kind: 'custom',
      input: 'x',
      carrier: { dialect: 'chat', kind: 'extra_content', value: '{}' },
    },
    { type: 'file', source: { kind: 'url', url: 'u' } },
    { type: 'hosted', dialect: 'responses', name: 'web_search_call', item: { type: 'web_search_call' } },
  ])('survives the stream: %j', (part) => {
    const answer: ModelAnswer = { parts: [part], finish: { reason: 'stop' } }
    expect(fold(unfolded(answer))).toStrictEqual(answer)
  })

  it('survives the stream in any answer', () => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        expect(fold(unfolded(answer))).toStrictEqual(answer)
      }),
    )
  })
})
