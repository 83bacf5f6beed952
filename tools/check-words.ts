/**
 * Checks that texts use the words of docs/glossary.md: the words of its table "Words that we do not use" must not occur in
 * the files of SCOPE.
 *
 *     node tools/check-words.ts [<folder>]
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files and folders that are checked. */
const SCOPE = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'Makefile',
  'docs',
  'contract',
  'store',
  'controller',
  'admin',
  'kit',
  'proxy',
  'test',
  'cli',
  'helm',
  'tools',
  'bench',
  'examples',
]
const KINDS = '{md,ts,lua,yaml,tpl,txt,sh,conf}'
/** Generated files, whose sources are checked instead, and files that must contain the words. */
const EXCEPT =
  /^docs\/((glossary|resources|environment|errors|matrix)\.md|openapi\.yaml)$|^helm\/[\w-]+\/files\/crds\/|^tools\/check-words\.test\.ts$/

/** By file, then by a part of the line: why the word stays. */
type Allowed = Record<string, Record<string, string>>

const ALLOWED: Allowed = {}

/** Word to what to write instead, from the last table of the glossary. Throws when there is none. */
export function bannedWords(glossary: string): Map<string, string> {
  const [, table = ''] = glossary.split('## Words that we do not use')
  const rows = [...table.matchAll(/^\| (`[^|]*) \| ([^|]*) \|$/gm)]
  const words = new Map(
    rows.flatMap(([, banned = '', instead = '']) =>
      [...banned.matchAll(/`([^`]+)`/g)].map(([, word = '']) => [word, instead] as const),
    ),
  )
  if (words.size === 0) throw new Error('docs/glossary.md has no table of words that are not used')
  return words
}

/** One line for each use of a banned word, and for each entry of `allowed` that nothing needs. */
export function problemsOf(
  files: ReadonlyMap<string, string>,
  words: ReadonlyMap<string, string>,
  allowed: Allowed = ALLOWED,
): string[] {
  const unused = new Set(
    Object.entries(allowed).flatMap(([file, parts]) => Object.keys(parts).map((part) => `${file}: ${part}`)),
  )
  // A phrase may be broken across two lines of a comment or a paragraph.
  const patterns = [...words].map(([word, instead]) => ({
    word,
    instead,
    pattern: new RegExp(`\\b${word.replaceAll(' ', '(?: |\\n[ *#/-]*)')}\\b(?!\\.ts)`, 'gi'),
  }))
  const problems = [...files].flatMap(([file, text]) =>
    patterns.flatMap(({ word, instead, pattern }) =>
      [...text.matchAll(pattern)].flatMap(({ index }) => {
        const before = text.slice(0, index).split('\n')
        const line = text.split('\n')[before.length - 1] ?? ''
        const part = Object.keys(allowed[file] ?? {}).find((each) => line.includes(each))
        unused.delete(`${file}: ${part}`)
        return part === undefined ? [`${file}:${before.length}: "${word}"; write: ${instead}`] : []
      }),
    ),
  )
  return [
    ...problems,
    ...[...unused].map((entry) => `${entry} is allowed, but no such line has a banned word`),
  ]
}

function filesIn(root: string): Map<string, string> {
  const found = globSync([...SCOPE, `{${SCOPE.join(',')}}/**/*.${KINDS}`], { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((file) => !EXCEPT.test(file))
  return new Map([...new Set(found)].sort().map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const words = bannedWords(readFileSync(join(root, 'docs/glossary.md'), 'utf8'))
  const problems = problemsOf(filesIn(process.argv[2] ?? root), words)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
