import { expect, test } from 'vitest'
import { leftovers } from './leftovers.ts'

test.each([
  'proxy/pipeline/body.ts.orig',
  'proxy/pipeline/body.ts.rej',
  'cli/.main.ts.swp',
  'cli/main.ts~',
  'cli/#main.ts#',
  'cli/main.BASE.123.ts',
  'npm-debug.log',
  'test/core',
  'a.exe',
])('%s is refused', (file) => {
  expect(leftovers(['cli/main.ts', file])).toEqual([expect.stringContaining(`${file}: `)])
})

test('sources, documents and files with a known name are accepted', () => {
  const files = ['cli/main.ts', 'docs/cli.md', 'Makefile', '.gitignore', 'helm/sluice/templates/_helpers.tpl']
  expect(leftovers(files)).toEqual([])
})
