/** The files of a folder of resources, and the directories to watch for changes. */
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { SourceFile } from './source-file.ts'

const RESOURCE_FILE = /\.(ya?ml|json)$/
/** Deeper than any folder of resources; stops loops of symbolic links. */
const MAX_DEPTH = 16

export interface Listing {
  /** Resource files, sorted by path. */
  files: string[]
  /** Directories to watch, with the names that matter in them; undefined: all names. */
  watch: Map<string, Set<string> | undefined>
}

/** Lists a folder; follows symbolic links and skips names with a leading dot. Rejects if a directory cannot be read. */
export async function listFolder(dir: string): Promise<Listing> {
  const listing: Listing = { files: [], watch: new Map() }
  await visit(dir, 0, listing)
  listing.files.sort()
  for (const [parent, names] of await pathWatches(dir))
    for (const name of names) watchName(listing, parent, name)
  return listing
}

/** Watches one name in a directory, unless all names are watched. */
function watchName({ watch }: Listing, dir: string, name: string): void {
  const names = watch.get(dir)
  if (names !== undefined) names.add(name)
  else if (!watch.has(dir)) watch.set(dir, new Set([name]))
}

/** Watches for the path of the folder itself: the parents of all parts that are links or missing. */
export async function pathWatches(dir: string): Promise<Map<string, Set<string>>> {
  const watches = new Map<string, Set<string>>()
  for (let part = resolve(dir); part !== dirname(part); part = dirname(part)) {
    const found = await lstat(part).catch(() => undefined)
    if (found !== undefined && !found.isSymbolicLink()) continue
    const parent = dirname(part)
    watches.set(parent, (watches.get(parent) ?? new Set()).add(basename(part)))
  }
  return watches
}

/** The text of a file; undefined if it has been removed since it was listed. */
export async function readSource(path: string): Promise<SourceFile | undefined> {
  try {
    return { path, text: await readFile(path, 'utf8') }
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' ? undefined : { path, unreadable: code }
  }
}

/** The system's code of an error, such as ENOENT. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}

async function visit(dir: string, depth: number, listing: Listing): Promise<void> {
  listing.watch.set(dir, undefined)
  const entries = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    // A subdirectory may disappear while it is read; the folder itself may not.
    if (depth > 0 && errorCode(error) === 'ENOENT') return []
    throw error
  })
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue
    const path = join(dir, entry.name)
    const target = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry
    if (target?.isDirectory() === true && depth < MAX_DEPTH) await visit(path, depth + 1, listing)
    else if (target?.isFile() === true && RESOURCE_FILE.test(entry.name)) {
      listing.files.push(path)
      const real = entry.isSymbolicLink() ? await realpath(path).catch(() => undefined) : undefined
      if (real !== undefined) watchName(listing, dirname(real), basename(real))
    }
  }
}
