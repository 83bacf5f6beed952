import { describe, expect, test } from 'vitest'
import type { ModelAnswer, StreamPart } from '../neutral/types.ts'
import { tidy, tidyAnswer } from './tidy.ts'

function tidied(...parts: StreamPart[]): StreamPart[] {
  const out: StreamPart[] = []
  const take = tidy((part) => void out.push(part))
  for (const part of parts) take(part)
  return out
}
const say = (text: string, id = 't'): StreamPart => ({ type: 'text-delta', id, text })
const textOf = (parts: StreamPart[]) => parts.flatMap((part) => ('text' in part ? [part.text] : []))
const call = (id: string, callId: string): StreamPart => ({
  type: 'tool-call-start',
  id,
  callId,
  name: 'f',
  kind: 'function',
})

describe('a stream', () => {
  test('halves of a character in two deltas are joined', () => {
    expect(textOf(tidied(say('a\ud83c'), say('\udf89b'), { type: 'text-end', id: 't' }))).toEqual([
      'a',
      '🎉b',
    ])
  })

  test('a lone surrogate becomes U+FFFD, also at the end of its part', () => {
    const out = tidied(say('a\ud83c'), say('b\ud83c'), { type: 'text-end', id: 't' })
    expect(textOf(out)).toEqual(['a', '\ufffdb', '\ufffd'])
    expect(out.at(-1)).toEqual({ type: 'text-end', id: 't' })
    expect(textOf(tidied(say('\udf89')))).toEqual(['\ufffd'])
  })

  test('halves in different parts are not joined', () => {
    expect(textOf(tidied(say('\ud83c', 'a'), say('\udf89', 'b'), say('x', 'a')))).toEqual([
      '\ufffd',
      '\ufffdx',
    ])
  })

  test('a valid value stays the same object', () => {
    const part = say('a🎉')
    expect(tidied(part)[0]).toBe(part)
  })

  test('a repeated call id gets a number', () => {
    const ids = tidied(call('a', 'x'), call('b', 'x'), call('c', 'y'), call('d', 'x'))
    expect(ids.map((part) => part.type === 'tool-call-start' && part.callId)).toEqual([
      'x',
      'x_2',
      'y',
      'x_3',
    ])
  })
})

describe('a whole answer', () => {
  const answer = (...parts: ModelAnswer['parts']): ModelAnswer => ({ parts, finish: { reason: 'stop' } })
  const toolCall = (callId: string) =>
    ({ type: 'tool-call', callId, name: 'f', kind: 'function', input: '{}' }) as const

  test('gets well-formed text and a unique id for each call', () => {
    const { parts } = tidyAnswer(answer({ type: 'text', text: 'a\ud83c' }, toolCall('x'), toolCall('x')))
    expect(parts).toEqual([{ type: 'text', text: 'a\ufffd' }, toolCall('x'), toolCall('x_2')])
  })

  test('a valid value stays the same object', () => {
    const right = answer({ type: 'text', text: 'a🎉' }, toolCall('x'), toolCall('y'))
    expect(tidyAnswer(right)).toBe(right)
  })
})
