import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_GLOB_LENGTH, MAX_GLOB_STARS, matchesGlob } from './glob.ts'

/** A direct implementation of the definition: exponential, but fine for short texts. */
function matches(glob: string, text: string): boolean {
  if (glob === '') return text === ''
  if (glob[0] === '*') return matches(glob.slice(1), text) || (text !== '' && matches(glob, text.slice(1)))
  return text !== '' && glob[0] === text[0] && matches(glob.slice(1), text.slice(1))
}

describe('globs', () => {
  it.each([
    ['gpt-*', 'gpt-4o', true],
    ['gpt-*', 'gpt-', true],
    ['gpt-*', 'xgpt-4o', false],
    ['*-mini', 'gpt-4o-mini', true],
    ['*-mini', 'gpt-4o-mini-2', false],
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
    ['a*b*a', 'abba', true],
    ['a*ba', 'ababa', true],
    ['gpt-4.1', 'gpt-4x1', false],
    ['gpt-?', 'gpt-4', false],
    ['[a]', 'a', false],
    ['org/*', 'org/model:7b', true],
    ['GPT-*', 'gpt-4', false],
  ])('%s on %s: %s', (glob, text, expected) => {
    expect(matchesGlob(glob, text)).toBe(expected)
  })

  it('agrees with the definition', () => {
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 10 })
    fc.assert(
      fc.property(glob, text, (g, t) => {
        expect(matchesGlob(g, t)).toBe(matches(g, t))
      }),
      { numRuns: 2_000 },
    )
  })

  it('matches a text against a glob made from it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.boolean())), (parts) => {
        const glob = parts.map(([part, star]) => (star ? '*' : part)).join('')
        expect(matchesGlob(glob, parts.map(([part]) => part).join(''))).toBe(true)
      }),
    )
  })

  it('quickly rejects a text against the worst glob that a key may have', () => {
    const glob = `${'*aaaaaaaaaaaaaaaaaaaaaaa'.repeat(MAX_GLOB_STARS)}b`
    expect(glob.length).toBeLessThanOrEqual(MAX_GLOB_LENGTH)
    const text = 'a'.repeat(256)
    const start = process.cpuUsage()
    for (let i = 0; i < 100; i++) expect(matchesGlob(glob, text)).toBe(false)
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000)
  })
})
