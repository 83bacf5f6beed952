import { expect, test } from 'vitest'
import { outdated, withSections } from './docs.ts'

test('docs/benchmarks.md and its plots show what the raw lines contain', () => {
  expect(outdated()).toEqual([])
})

test('a section replaces what stands between its marks, and nothing else', () => {
  const page = 'before\n<!-- a -->\nold\n<!-- /a -->\nafter\n<!-- b -->\n<!-- /b -->\n'
  const sections = new Map([
    ['a', 'new $1'],
    ['b', 'second'],
  ])
  const once = withSections(page, sections)
  expect(once).toBe(
    'before\n<!-- a -->\n\nnew $1\n\n<!-- /a -->\nafter\n<!-- b -->\n\nsecond\n\n<!-- /b -->\n',
  )
  expect(withSections(once, sections)).toBe(once)
})

test('a section without a place is an error', () => {
  expect(() => withSections('nothing', new Map([['a', 'x']]))).toThrow('no place for a')
})
