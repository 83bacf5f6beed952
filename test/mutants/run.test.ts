import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MUTANTS } from './list.ts'
import { tryMutants } from './run.ts'

let root = ''
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'mutants-'))
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(root, 'node_modules'))
  mkdirSync(join(root, 'sum'))
  const files = {
    'package.json': '{ "type": "module" }',
    'sum/sum.ts': 'export const sum = (a: number, b: number) => a + b\nexport const zero = 0\n',
    'sum/sum.test.ts': [
      "import { expect, test } from 'vitest'",
      "import { sum } from './sum.ts'",
      "test('adds', () => expect(sum(1, 2)).toBe(3))",
    ].join('\n'),
    'sum/wrong.test.ts': "import { expect, test } from 'vitest'\ntest('fails', () => expect(1).toBe(2))\n",
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content)
})
afterAll(() => rmSync(root, { recursive: true }))

const fault = (find: string, replace: string) => ({
  file: 'sum/sum.ts',
  find,
  replace,
  test: 'sum/sum.test.ts',
})

test('distinguishes caught faults from others and leaves the tree alone', {
  timeout: 60_000,
}, async () => {
  const before = readFileSync(join(root, 'sum/sum.ts'), 'utf8')
  const verdicts = await tryMutants(root, [
    fault('a + b', 'a - b'),
    fault('zero = 0', 'zero = 1'),
    fault('=> a + b', '=> a +* b'),
    fault('a * b', 'a - b'),
    fault('export', ''),
  ])
  expect(verdicts.map(({ outcome }) => outcome)).toEqual(['caught', 'survived', 'broken', 'stale', 'stale'])
  expect(readFileSync(join(root, 'sum/sum.ts'), 'utf8')).toBe(before)
})

test('a test that fails without a fault proves nothing', async () => {
  const mutant = { ...fault('a + b', 'a - b'), test: 'sum/wrong.test.ts' }
  await expect(tryMutants(root, [mutant])).rejects.toThrow('the tests fail without a fault: wrong.test.ts')
})

test.each(MUTANTS.map((mutant) => [`${mutant.file}: ${mutant.find}`, mutant] as const))(
  'still fits, and leaves code that loads: %s',
  (_name, { file, find, replace }) => {
    const source = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
    expect(source.split(find)).toHaveLength(2)
    if (!file.endsWith('.ts')) return
    const faulty = source.replace(find, () => replace)
    expect(() => stripTypeScriptTypes(faulty)).not.toThrow()
  },
)
