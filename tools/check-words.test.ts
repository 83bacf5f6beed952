import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { bannedWords, problemsOf } from './check-words.ts'

const words = new Map([
  ['picture', 'image'],
  ['goes on from', 'continues'],
])
const problems = (text: string, allowed = {}) => problemsOf(new Map([['a.ts', text]]), words, allowed)

describe('a file', () => {
  test.each([
    ['// One\n// Picture of it.', 'a.ts:2: "picture"; write: image'],
    ['/**\n * It goes on\n * from there.\n */', 'a.ts:2: "goes on from"; write: continues'],
    ['It goes on\nfrom there.', 'a.ts:1: "goes on from"; write: continues'],
  ])('has a problem in %j', (text, problem) => {
    expect(problems(text)).toEqual([problem])
  })

  test.each([
    'const picturesOnly = true',
    "import { MAX_PICTURE } from './picture.ts'",
    'It goes on. From there',
  ])('has none in %j', (text) => expect(problems(text)).toEqual([]))

  it('may use an allowed word in the given line only', () => {
    const allowed = { 'a.ts': { 'a picture of X': 'a name that X defines' } }
    expect(problems('a picture of X\na picture of Y', allowed)).toEqual(['a.ts:2: "picture"; write: image'])
  })

  it('must need its entries in the allow list', () => {
    const allowed = { 'a.ts': { 'a picture of X': 'a name that X defines' } }
    expect(problems('an image of X', allowed)).toEqual([
      'a.ts: a picture of X is allowed, but no such line has a banned word',
    ])
  })
})

it('reads the banned words of the glossary', () => {
  const glossary = readFileSync(join(import.meta.dirname, '../docs/glossary.md'), 'utf8')
  expect(bannedWords(glossary).get('pictures')).toBe('image')
  expect(bannedWords(glossary).get('somebody')).toContain('name who it is')
  expect(() => bannedWords('# Glossary')).toThrow('no table')
})
