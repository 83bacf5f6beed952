/** The rule of tools/lint/assigned-functions.grit, as the linter applies it with this project's settings. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

/** How often the rule is broken by a file with this code. */
function findings(path: string, code: string): number {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-lint-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  cpSync('biome.json', join(dir, 'biome.json'))
  cpSync('tools/lint', join(dir, 'tools/lint'), { recursive: true })
  mkdirSync(dirname(join(dir, path)), { recursive: true })
  writeFileSync(join(dir, path), code)
  const args = ['lint', '--vcs-enabled=false', path]
  const { stdout, stderr } = spawnSync('biome', args, { cwd: dir, encoding: 'utf8' })
  expect(`${stdout}${stderr}`).toContain('Checked 1 file')
  return `${stdout}${stderr}`.split('keeps all that it refers to').length - 1
}

const held = (code: string) => `export function f(o: { x?: unknown; y: () => void }): void {\n  ${code}\n}\n`

test.each([
  'o.x = () => o',
  'o.x = async () => o',
  'o.x ??= () => o',
  'o.x = function g() {}',
  "o['x'] = () => o",
])('found where requests are served: %s', (code) => {
  expect(findings('proxy/pipeline/any.ts', held(code))).toBe(1)
})

test('a class that assigns one to a private field is found', () => {
  const code =
    'export class A {\n  readonly #x: () => unknown\n  constructor() {\n    this.#x = () => this\n  }\n}\n'
  expect(findings('store/any.ts', code)).toBe(1)
})

test.each(['const x = () => o\n  o.x = x', 'o.x = o.y', 'Object.assign(o, { x: () => o })', 'o.y()'])(
  'allowed: %s',
  (code) => {
    expect(findings('proxy/pipeline/any.ts', held(code))).toBe(0)
  },
)

test('tests and other programs may', () => {
  for (const path of ['proxy/pipeline/any.test.ts', 'controller/any.ts'])
    expect(findings(path, held('o.x = () => o'))).toBe(0)
})
