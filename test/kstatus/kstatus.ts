/**
 * Verdicts of kstatus, the library by which Helm's --wait and Flux read a status. The program beside this file is
 * built with Go once, into the cache folder of the other test programs.
 */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type Verdict = 'InProgress' | 'Failed' | 'Current' | 'Terminating' | 'NotFound' | 'Unknown'

const HERE = import.meta.dirname

/** One verdict for each object, which is JSON text from the API server. */
export function kstatus(objects: readonly string[]): Verdict[] {
  const out = execFileSync(program(), { input: `[${objects.join(',')}]`, encoding: 'utf8' })
  return out.trim().split('\n').map(verdictOf)
}

/** Builds the program if it is missing. */
export function program(): string {
  const sources = ['go.mod', 'go.sum', 'main.go'].map((name) => readFileSync(join(HERE, name), 'utf8'))
  const root =
    process.env.SLUICE_TEST_BINARIES ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice')
  const path = join(root, `kstatus-${hash('sha256', sources.join('\n')).slice(0, 12)}`)
  if (existsSync(path)) return path
  mkdirSync(root, { recursive: true })
  const unfinished = `${path}.${process.pid}`
  execFileSync('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', unfinished, '.'], {
    cwd: HERE,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
  })
  renameSync(unfinished, path)
  return path
}

const VERDICTS: readonly Verdict[] = ['InProgress', 'Failed', 'Current', 'Terminating', 'NotFound', 'Unknown']

function verdictOf(line: string): Verdict {
  const verdict = VERDICTS.find((known) => known === line)
  if (verdict === undefined) throw new Error(`kstatus says ${line}`)
  return verdict
}
