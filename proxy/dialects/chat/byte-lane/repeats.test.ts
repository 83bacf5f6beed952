import { expect, test } from 'vitest'
import { Repeats } from './repeats.ts'

const event = (text: string, finish = 'null') =>
  `data: {"choices":[{"delta":{"content":"${text}"},"finish_reason":${finish}}]}\n\n`

function learned(text = 'one'): Repeats {
  const repeats = new Repeats()
  const from = event(text).indexOf(text)
  repeats.learn(event(text), 0, event(text).length, from, from + text.length)
  return repeats
}

test('an event that differs in its text alone is known by what stands around it', () => {
  const stream = event('one') + event('three') + event('two')
  const start = event('one').length
  expect(learned().textLength(stream, start, start + event('three').length)).toBe(5)
})

test.each([
  ['ends the answer', event('two', '"stop"')],
  ['has no text', event('')],
  ['has an escape, which may stand for anything', event('a\\nb')],
  ['has more fields', event('two","refusal":"no')],
  ['is shorter than what stands around', 'data: {}\n\n'],
])('one that %s is not', (_, other) => {
  expect(learned().textLength(other, 0, other.length)).toBe(-1)
})

test('nothing is known before something was learned, nor after it was forgotten', () => {
  expect(new Repeats().textLength(event('a'), 0, event('a').length)).toBe(-1)
  const repeats = learned()
  repeats.forget()
  expect(repeats.textLength(event('a'), 0, event('a').length)).toBe(-1)
})
