/**
 * Fills dist/ for the npm package: the checkout with its types stripped, because Node refuses TypeScript under
 * node_modules. Folders and file names stay the same, so that the code finds the files that it opens by relative path.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { importsOf } from './imports.ts'

const CODE = ['kit', 'contract', 'store', 'admin', 'controller', 'proxy', 'cli', 'examples']
const UNCHANGED = ['crds', 'examples', 'store/lua']
const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

/** JavaScript of a TypeScript source: types blanked (line numbers stay), relative imports ending in .js. */
export function toJavaScript(source: string): string {
  const code = stripTypeScriptTypes(source)
  const lines = code.split('\n')
  for (const { specifier, line } of importsOf(code)) {
    if (!/^\.\.?\/.*\.ts$/.test(specifier)) continue
    const text = lines[line - 1] ?? ''
    lines[line - 1] = text.replace(specifier, specifier.replace(/\.ts$/, '.js'))
  }
  return lines.join('\n')
}

/** Whoever uses examples/compose keeps secrets there. */
export const isPacked = (path: string) => !/\.ts$|\/compose\/(\.env|secrets)$/.test(path)

function pack(): void {
  rmSync(dist, { recursive: true, force: true })
  for (const folder of UNCHANGED)
    cpSync(join(root, folder), join(dist, folder), {
      recursive: true,
      filter: isPacked,
    })
  for (const file of globSync(`{${CODE.join(',')}}/**/*.ts`, { cwd: root })) {
    if (/(?:\.test|testing)\.ts$/.test(file)) continue
    const target = join(dist, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, toJavaScript(readFileSync(join(root, file), 'utf8')))
  }
}

if (import.meta.main) pack()
