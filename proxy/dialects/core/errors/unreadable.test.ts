import { expect, it } from 'vitest'
import { contentList, contentText, inputText, readable } from './unreadable.ts'

it('reads valid values, and absent ones as empty', () => {
  expect([contentText('a'), contentText(null), contentText(undefined)]).toEqual(['a', '', ''])
  expect([contentList([1]), contentList(null), contentList(undefined)]).toEqual([[1], [], []])
  expect([inputText('{"a'), inputText({ a: 1 }), inputText([7]), inputText(null)]).toEqual([
    '{"a',
    '{"a":1}',
    '[7]',
    '',
  ])
})

it.each([7, true, false, {}, ['a']])('a text that is %j makes the answer a failure', (odd) => {
  expect(readable(() => contentText(odd))).toEqual({ class: 'unknown', detail: 'unreadable_answer' })
})

it.each([7, 'text', {}])('a list that is %j makes the answer a failure', (odd) => {
  expect(readable(() => contentList(odd))).toEqual({ class: 'unknown', detail: 'unreadable_answer' })
})

it('an input that is nested too deep is a failure, and other errors are rethrown', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  expect(readable(() => inputText(deep))).toEqual({ class: 'unknown', detail: 'answer_too_deep' })
  expect(readable(() => 1)).toBe(1)
  const fault = () => {
    throw new TypeError('ours')
  }
  expect(() => readable(fault)).toThrow('ours')
})
