// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the sources under test contain template literals
import { describe, expect, test } from 'vitest'
import { importsOf } from './imports.ts'

const found = (source: string) => importsOf(source).map(({ specifier }) => specifier)

describe('importsOf', () => {
  test.each([
    ["import { a } from './a.ts'", './a.ts'],
    ["import type {\n  A,\n  B,\n} from './a.ts'", './a.ts'],
    ['import "./a.ts"', './a.ts'],
    ["import a, * as b from './a.ts'", './a.ts'],
    ["export * from './a.ts'", './a.ts'],
    ["export { a as from } from './a.ts'", './a.ts'],
    ["const a = await import('./a.ts')", './a.ts'],
    ["let a: typeof import('./a.ts')", './a.ts'],
    ["import /* why */ a // and more\n from './a.ts'", './a.ts'],
    ['const t = `${await import("./a.ts")} b`', './a.ts'],
    ['const t = `${ { a: `${1}` } }`; import "./a.ts"', './a.ts'],
    ["const r = /['\"`]/; import './a.ts'", './a.ts'],
    ["const half = n / 2 // it's\nimport './a.ts'", './a.ts'],
    ["const r = text.replace(/[/]'/g, ''); import './a.ts'", './a.ts'],
  ])('finds it in %s', (source, specifier) => {
    expect(found(source)).toEqual([specifier])
  })

  test.each([
    "// import './a.ts'",
    "/* import './a.ts' */",
    'const t = "import \'./a.ts\'"',
    "const t = `import './a.ts'`",
    "const t = `${x} import './a.ts'`",
    "Array.from('abc')",
    "load('./a.ts')",
  ])('finds nothing in %s', (source) => {
    expect(found(source)).toEqual([])
  })

  test('reports the line', () => {
    expect(importsOf("// first\nimport {\n  a,\n} from './a.ts'\nimport './b.ts'")).toEqual([
      { specifier: './a.ts', line: 4 },
      { specifier: './b.ts', line: 5 },
    ])
  })
})
