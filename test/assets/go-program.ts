/**
 * Programs in Go that only some tests need. Each has a folder with a go.mod of its own, and is built once into the cache
 * folder of the other test programs; another version is another file there.
 */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

/** Where built test programs are kept. */
export const cacheRoot = (): string =>
  process.env.SLUICE_TEST_BINARIES ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice')

/** Path of the program in `folder`, or of the package `from` that its go.mod requires. Builds it if it is missing. */
export function goProgram(folder: string, from = '.', linkerFlags = ''): string {
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.go') || name.startsWith('go.'))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  const key = hash('sha256', [...sources, from, linkerFlags].join('\n')).slice(0, 12)
  const path = join(cacheRoot(), `${basename(folder)}-${key}`)
  if (existsSync(path)) return path
  mkdirSync(cacheRoot(), { recursive: true })
  const unfinished = `${path}.${process.pid}`
  execFileSync('go', ['build', '-trimpath', `-ldflags=-s -w ${linkerFlags}`, '-o', unfinished, from], {
    cwd: folder,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
  })
  renameSync(unfinished, path)
  return path
}
