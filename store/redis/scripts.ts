/**
 * The Lua scripts of store/lua, read once. A script begins with `#!lua`; a file that does not is a part of scripts,
 * which take it in with a line `--!include <folder>/<name>`.
 */
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../lua')

export interface Script {
  source: string
  /** What EVALSHA names it by. */
  sha: string
  /** Declares that it writes nothing, so that a user who may only read may run it (EVALSHA_RO). */
  readOnly: boolean
}

/** By name: folder and file without ending, such as "ledger/reserve". */
export const SCRIPTS: ReadonlyMap<string, Script> = new Map(
  globSync('*/*.lua', { cwd: FOLDER })
    .map((file) => file.replace(/\.lua$/, ''))
    .map((name) => [name, read(name)] as const)
    .filter(([, source]) => source.startsWith('#!lua'))
    .map(([name, source]) => [name, script(source)]),
)

export function scriptNamed(name: string): Script {
  const found = SCRIPTS.get(name)
  if (found === undefined) throw new TypeError(`store/lua has no script ${name}`)
  return found
}

function read(name: string): string {
  const source = readFileSync(join(FOLDER, `${name}.lua`), 'utf8')
  return source.replace(/^--!include (\S+)$/gm, (_line, part: string) => read(part))
}

function script(source: string): Script {
  return { source, sha: hash('sha1', source, 'hex'), readOnly: /^#!lua flags=\S*no-writes/.test(source) }
}
