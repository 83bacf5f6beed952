/** The modules that a program loads, as record-modules.ts has written them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './program.ts'

export interface LoadedModules {
  /** Paths in the checkout. */
  own: string[]
  /** Names of the packages. */
  packages: Set<string>
  /** Number of all files, those of packages included. */
  files: number
}

/** Environment with which a program of Node records its modules in a file. */
export const recordingTo = (file: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'record-modules.ts'))}`,
  MODULES_FILE: file,
})

export function loadedModules(file: string): LoadedModules {
  const files = readFileSync(file, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith('file:'))
  const root = `${pathToFileURL(ROOT)}/`.replace(/\/+$/, '/')
  const packages = files.flatMap((url) => /.*\/node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(url)?.[1] ?? [])
  return {
    own: files
      .filter((url) => url.startsWith(root) && !url.includes('/node_modules/'))
      .map((url) => url.slice(root.length)),
    packages: new Set(packages),
    files: files.length,
  }
}
