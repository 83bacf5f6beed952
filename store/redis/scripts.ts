/**
 * The Lua scripts of store/lua, read once. A script begins with `#!lua`; other files are parts that scripts include with
 * a line `--!include <folder>/<name>`.
 */
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../lua')

interface Script {
  source: string
  /** SHA-1 for EVALSHA. */
  sha: string
  /** The script has the flag no-writes, so that a user with read access may run it (EVALSHA_RO). */
  readOnly: boolean
}

/** Scripts by name: folder and file without extension, such as "ledger/reserve". */
export const SCRIPTS: ReadonlyMap<string, Script> = new Map(
  globSync('*/*.lua', { cwd: FOLDER })
    .map((file) => file.replace(/\.lua$/, ''))
    .map((name) => [name, read(name)] as const)
    .filter(([, source]) => source.startsWith('#!lua'))
    .map(([name, source]) => [name, script(source)]),
)

export function scriptNamed(name: string): Script {
  const found = SCRIPTS.get(name)
  if (found === undefined) throw new TypeError(`there is no script ${name} in store/lua`)
  return found
}

function read(name: string): string {
  const source = readFileSync(join(FOLDER, `${name}.lua`), 'utf8')
  return source.replace(/^--!include (\S+)$/gm, (_line, part: string) => read(part))
}

function script(source: string): Script {
  return { source, sha: hash('sha1', source, 'hex'), readOnly: /^#!lua flags=\S*no-writes/.test(source) }
}
