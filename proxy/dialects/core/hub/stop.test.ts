import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../neutral/fold.ts'
import type { StreamPart } from '../neutral/types.ts'
import { cutAtStop } from './stop.ts'

type Finish = Extract<StreamPart, { type: 'finish' }>

const usage = {
  input: 1,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 9,
  reasoning: 0,
  images: 0,
}
const finish: Finish = { type: 'finish', finish: { reason: 'stop' }, usage, tier: 'flex' }

function cut(stop: string[], parts: StreamPart[]): StreamPart[] {
  const out: StreamPart[] = []
  const part = cutAtStop(stop, (part) => void out.push(part))
  for (const each of parts) part(each)
  return out
}

function text(...deltas: string[]): StreamPart[] {
  return [
    { type: 'text-start', id: 't' },
    ...deltas.map((text): StreamPart => ({ type: 'text-delta', id: 't', text })),
    { type: 'text-end', id: 't' },
  ]
}

function deltas(parts: StreamPart[]): string[] {
  return parts.flatMap((part) => (part.type === 'text-delta' ? [part.text] : []))
}

function callOf(id: string): StreamPart[] {
  return [
    { type: 'tool-call-start', id, callId: `call_${id}`, name: 'f', kind: 'function' },
    { type: 'tool-call-delta', id, text: '{}' },
    { type: 'tool-call-end', id },
  ]
}

/** The longest of the earliest hits, found by plain search. */
function expected(stop: string[], text: string): { text: string; sequence: string | undefined } {
  const hits = stop
    .filter((sequence) => sequence !== '')
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at || b.sequence.length - a.sequence.length)
  const [first] = hits
  return { text: first === undefined ? text : text.slice(0, first.at), sequence: first?.sequence }
}

describe('stop sequences', () => {
  it('cut the text and everything after it except the finish', () => {
    const parts = cut(
      ['END'],
      [
        { type: 'start' },
        ...text('One END two', ' three'),
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', text: 'x', paragraph: 0 },
        { type: 'reasoning-end', id: 'r' },
        ...callOf('c'),
        { type: 'whole', id: 'w', part: { type: 'image', source: { kind: 'url', url: 'u' } } },
        { ...finish, finish: { reason: 'length', raw: 'max_output_tokens' } },
      ],
    )
    expect(parts).toEqual([
      { type: 'start' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', text: 'One ' },
      { type: 'text-end', id: 't' },
      { type: 'finish', finish: { reason: 'stop', stopSequence: 'END' }, usage, tier: 'flex' },
    ])
  })

  it('are found across deltas, holding back only their possible beginnings', () => {
    expect(deltas(cut(['END'], [...text('a', 'bE', 'Nc', 'E', 'N', 'D', 'z'), finish]))).toEqual([
      'a',
      'b',
      'ENc',
    ])
  })

  it('release held text at the end', () => {
    const parts = cut(['END'], [...text('abEN'), finish])
    expect(deltas(parts)).toEqual(['ab', 'EN'])
    expect(parts.at(-1)).toBe(finish)
  })

  it.each<[string, string[], string, string, string | undefined]>([
    ['the earliest wins', ['two', 'one'], 'a one two', 'a ', 'one'],
    ['the longest at the same place wins', ['ab', 'abc'], 'xabcd', 'x', 'abc'],
    ['the shorter one when the longer does not follow', ['ab', 'abc'], 'xabd', 'x', 'ab'],
    ['one that begins earlier but ends later', ['bc', 'abcd'], 'xabcdy', 'x', 'abcd'],
    ['one that only seemed to begin earlier', ['bc', 'abcd'], 'xabcy', 'xa', 'bc'],
    ['a sequence that overlaps its own beginning', ['aab'], 'aaab', 'a', 'aab'],
    ['at the very beginning', ['a'], 'abc', '', 'a'],
    ['empty ones never', ['', 'x'], 'abc', 'abc', undefined],
    ['newlines', ['\n\nHuman:'], 'hi\n\n\nHuman: you', 'hi\n', '\n\nHuman:'],
    ['an emoji after a similar one', ['😁'], 'a😀😁b', 'a😀', '😁'],
  ])('%s', (_, stop, whole, kept, sequence) => {
    for (const pieces of [[whole], [...whole]]) {
      const answer = fold(cut(stop, [...text(...pieces), finish]))
      expect(answer?.parts).toEqual([{ type: 'text', text: kept }])
      expect(answer?.finish).toEqual(
        sequence === undefined ? { reason: 'stop' } : { reason: 'stop', stopSequence: sequence },
      )
    }
  })

  it('start again in each text', () => {
    const other = text('D').map((part) => ({ ...part, id: 'u' })) as StreamPart[]
    const answer = fold(cut(['ND'], [...text('EN'), ...other, finish]))
    expect(answer?.parts).toEqual([
      { type: 'text', text: 'EN' },
      { type: 'text', text: 'D' },
    ])
  })

  it('leave reasoning, refusals and arguments alone', () => {
    const parts: StreamPart[] = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', text: 'END', paragraph: 0 },
      { type: 'reasoning-end', id: 'r' },
      { type: 'refusal-start', id: 'n' },
      { type: 'refusal-delta', id: 'n', text: 'END' },
      { type: 'refusal-end', id: 'n' },
      ...callOf('c'),
      finish,
    ]
    expect(cut(['END', '{}'], parts)).toEqual(parts)
  })

  it('keep earlier calls', () => {
    const answer = fold(
      cut(
        ['END'],
        [...callOf('c'), ...text('x END'), ...callOf('d'), { ...finish, finish: { reason: 'tool-calls' } }],
      ),
    )
    expect(answer?.parts).toEqual([
      { type: 'tool-call', callId: 'call_c', name: 'f', kind: 'function', input: '{}' },
      { type: 'text', text: 'x ' },
    ])
    expect(answer?.finish).toEqual({ reason: 'tool-calls' })
  })

  it('let a call that is open at the cut end', () => {
    const [open, delta, end] = callOf('c')
    const parts = cut(
      ['END'],
      [open, ...text('END'), delta, end, finish].filter((part) => part !== undefined),
    )
    expect(fold(parts)?.parts).toEqual([
      { type: 'tool-call', callId: 'call_c', name: 'f', kind: 'function', input: '{}' },
      { type: 'text', text: '' },
    ])
    expect(parts.at(-2)).toEqual({ type: 'tool-call-end', id: 'c' })
  })

  it('leave a stream without a finish unfinished', () => {
    expect(cut(['END'], text('a END b')).some(({ type }) => type === 'finish')).toBe(false)
  })

  it('keep the tokens of the text that is kept', () => {
    const border = [{ token: 'Hi ' }, { token: 'END' }]
    const cutAtBorder = cut(
      ['END'],
      [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', text: 'Hi END', logprobs: border },
        { type: 'text-end', id: 't' },
        finish,
      ],
    )
    expect(fold(cutAtBorder)?.parts).toEqual([{ type: 'text', text: 'Hi ', logprobs: [{ token: 'Hi ' }] }])
    const tokens = ['Hel', 'lo', ' E', 'ND', '!'].map((token) => ({ token, logprob: -1 }))
    const whole: StreamPart = { type: 'text-delta', id: 't', text: 'Hello END!', logprobs: tokens }
    const single = tokens.map(
      (token): StreamPart => ({ type: 'text-delta', id: 't', text: token.token, logprobs: [token] }),
    )
    for (const given of [[whole], single]) {
      const parts: StreamPart[] = [
        { type: 'text-start', id: 't' },
        ...given,
        { type: 'text-end', id: 't' },
        finish,
      ]
      const kept = fold(cut(['END'], parts))?.parts[0]
      expect(kept).toEqual({ type: 'text', text: 'Hello ', logprobs: tokens.slice(0, 3) })
      const all = fold(cut(['nothing'], parts))?.parts[0]
      expect(all).toEqual({ type: 'text', text: 'Hello END!', logprobs: tokens })
    }
  })

  it('equal those of a plain search, for any split into deltas', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 })
    const stop = fc.array(word, { maxLength: 4 })
    const pieces = fc.array(word, { maxLength: 8 })
    fc.assert(
      fc.property(stop, pieces, (stop, pieces) => {
        const answer = fold(cut(stop, [...text(...pieces), finish]))
        const want = expected(stop, pieces.join(''))
        expect(answer?.parts).toEqual([{ type: 'text', text: want.text }])
        expect(answer?.finish.stopSequence).toBe(want.sequence)
      }),
      { numRuns: 2000 },
    )
  })

  it('never hold back more than the longest of them', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), fc.array(word), (stop, pieces) => {
        let [given, got] = [0, 0]
        const isHit = { value: false }
        const part = cutAtStop(stop, (part) => {
          if (part.type === 'text-delta') got += part.text.length
          if (part.type === 'text-end') isHit.value = true
        })
        part({ type: 'text-start', id: 't' })
        for (const text of pieces) {
          part({ type: 'text-delta', id: 't', text })
          given += text.length
          if (isHit.value) return
          expect(given - got).toBeLessThanOrEqual(2 * Math.max(...stop.map(({ length }) => length)))
        }
      }),
    )
  })
})
