/** Refuses files that merges, editors and tests leave behind, and unknown kinds of files. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Known kinds of files. Add a new kind together with its first file. */
const KINDS = new Set(
  '.ts .js .json .jsonl .yaml .md .py .lua .go .mod .sum .sh .tpl .tmpl .toml .txt .conf .service .sse .svg .grit'.split(
    ' ',
  ),
)
/** Files without an extension. */
const NAMES = new Set([
  'Makefile',
  'Dockerfile',
  'LICENSE',
  'sluice',
  'run',
  'env',
  'why',
  '.gitignore',
  '.dockerignore',
  '.helmignore',
])
const LEFTOVER = /(~|\.(orig|rej|bak|tmp|swp|swo|log|patch|diff))$|^#.*#$|\.(BASE|LOCAL|REMOTE|BACKUP)\.\d+\./

/** One line for each such file. */
export function leftovers(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const name = basename(file)
    if (LEFTOVER.test(name)) return [`${file}: left behind by a merge, an editor or a run`]
    return NAMES.has(name) || KINDS.has(extname(name)) ? [] : [`${file}: an unknown kind of file`]
  })
}

/** Tracked files, and files that could be added by mistake; ignored ones are left out. Empty outside a checkout. */
function treeFiles(): string[] {
  if (!existsSync('.git')) return []
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  return execFileSync('git', args, { encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const found = leftovers(treeFiles())
  for (const line of found) console.error(line)
  process.exitCode = found.length === 0 ? 0 : 1
}
