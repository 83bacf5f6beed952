import { expect, test } from 'vitest'
import { countDelta } from './delta.ts'
import { KeySearch } from './search.ts'

test('the search goes on after what was read, so that nested deltas are read once', () => {
  const nested = `{"x":${'{"delta":'.repeat(20_000)}{"content":"a"}${'}'.repeat(20_001)}`
  const text = `data: {"delta":${nested},"delta":{"content":"bc"}}`
  const delivered = { deltas: 0, bytes: 0, from: 0, to: 0 }
  const search = new KeySearch(text)
  const first = search.delta(0, text.length)
  const stop = countDelta(text, first, text.length, delivered)
  expect(text.slice(first, stop)).toBe(nested)
  expect(delivered).toMatchObject({ deltas: 1, bytes: 1 })
  const second = search.delta(stop, text.length)
  expect(text.slice(second)).toBe('{"content":"bc"}}')
  expect(countDelta(text, second, text.length, delivered)).toBe(text.length - 1)
  expect(delivered).toMatchObject({ deltas: 2, bytes: 3 })
})

test.each([
  ['an object', '{"content":"a}"}, 1', '{"content":"a}"}'],
  ['a text', '"a", 1', '"a"'],
  ['an object that does not end', '{"content":"a"', '{"content":"a"'],
  ['a text that does not end', '{"content":"a\\', '{"content":"a\\'],
  ['a bracket', '}}', '}'],
])('reads %s and no further', (_, text, read) => {
  const delivered = { deltas: 0, bytes: 0, from: 0, to: 0 }
  expect(text.slice(0, countDelta(text, 0, text.length, delivered))).toBe(read)
})
