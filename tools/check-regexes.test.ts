import { expect, test } from 'vitest'
import { problemsOf, regexesOf, shippedSources } from './check-regexes.ts'

const check = (source: string, allowed = {}) => problemsOf(new Map([['a.ts', source]]), allowed)

test.each([
  ['what the relay once did to keys', String.raw`key.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9_-]+$/g, '')`],
  ['blanks at the end', String.raw`const re = /\s+$/`],
  ['two of the same', 'const re = /a*a*b/'],
  ['two that share characters', String.raw`const re = /^\w+[a-z]+!$/`],
  ['what is looked for from every bracket', 'const re = /<[^>]*>/'],
  ['one in a template literal', ['const text = `$', '{value.replace(/x+$/)}`'].join('')],
  ['one in a type assertion', 'const re = /a+$/ as RegExp'],
  ['a constant text', "const re = new RegExp('a+$', 'g')"],
  ['a constant template', 'const re = RegExp(`a+$`)'],
])('finds %s: quadratic', (_, source) => {
  expect(check(source)).toEqual([expect.stringMatching(/^a\.ts:1: .* takes quadratic time: /)])
})

test('finds exponential ones', () => {
  expect(check('\n\nconst re = /(a+)+$/')).toEqual([
    expect.stringMatching(/^a\.ts:3: .* takes exponential time: /),
  ])
})

test('finds expressions that are built at run time', () => {
  expect(check('const re = new RegExp(word + "$")')).toEqual([
    expect.stringMatching(/^a\.ts:1: new RegExp\(word \+ "\$"\) is built at run time/),
  ])
})

test.each([
  String.raw`const re = /^\s*x$/`,
  String.raw`const re = /^Bearer +([!-~]{1,4096}) *$/i`,
  "const text = 'a regex: /a+$/'",
  '// /a+$/',
  'const share = a / b+$ / c',
])('leaves %s alone', (source) => {
  expect(check(source)).toEqual([])
})

test('an allowed expression passes, and must still exist', () => {
  const allowed = { 'a.ts': { '/a+$/': 'texts have one character' } }
  expect(check('const re = /a+$/', allowed)).toEqual([])
  const stale = 'a.ts: /a+$/ is allowed, but is no longer there'
  expect(check('const re = /b/', allowed)).toEqual([stale])
  // Mended in its place.
  expect(check('const re = /a+/', allowed)).toEqual([stale])
})

test('reads the sources of the programs', () => {
  const sources = shippedSources(`${import.meta.dirname}/..`)
  const upstreamKey = regexesOf(sources.get('proxy/relay/upstream-key.ts') ?? '')
  expect(upstreamKey.map(({ pattern }) => pattern)).toContain('^Bearer +([!-~]{1,4096}) *$')
  expect([...sources.keys()].filter((file) => file.endsWith('.test.ts'))).toEqual([])
})
