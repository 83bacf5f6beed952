import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { isPacked, toJavaScript } from './pack.ts'

const root = join(import.meta.dirname, '..')

test('removes types, ends relative imports in .js, and keeps everything else', () => {
  const source = [
    "import { a } from './a.ts'",
    "import type { B } from './b.ts'",
    "import { c } from 'c.ts'",
    "const d = await import('../d.ts')",
    "export const name: string = './a.ts'",
  ]
  expect(toJavaScript(source.join('\n')).split('\n')).toEqual([
    "import { a } from './a.js'",
    expect.stringMatching(/^\s*$/),
    "import { c } from 'c.ts'",
    "const d = await import('../d.js')",
    expect.stringMatching(/^export const name\s+= '.\/a.ts'$/),
  ])
})

test('secrets of a used example stay out', () => {
  const packed = ['compose.yaml', 'config/upstream.yaml', '.env', 'secrets'].map((path) =>
    isPacked(`/checkout/examples/compose/${path}`),
  )
  expect(packed).toEqual([true, true, false, false])
})

test('two imports on one line', () => {
  expect(toJavaScript("export * from './a.ts'; export * from './b.ts'")).toBe(
    "export * from './a.js'; export * from './b.js'",
  )
})

test.each(globSync('proxy/dialects/{*,core/json}/wire.ts', { cwd: root }))('%s has types only', (file) => {
  const code = toJavaScript(readFileSync(join(root, file), 'utf8'))
  // Otherwise the installed package would need the SDKs.
  expect(importsOf(code)).toEqual([])
  expect(code).not.toMatch(/^export/m)
})
