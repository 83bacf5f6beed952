/**
 * Checks that no regular expression of the programs takes more than linear time, because most of the texts that they match
 * come from outside. scslre finds quantifiers that compete for the same characters, and patterns that a search restarts
 * at every character. It does not find long bounded repetitions, nor patterns that begin like their own end, such as
 * `_x_[\w]+$`; the texts for those must be short.
 *
 *     node tools/check-regexes.ts [<folder>]
 */
import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { analyse } from 'scslre'
import { parseAst } from 'vitest/node'

/** A regular expression and its place; `pattern` is undefined if only the running program knows it. */
interface Regex {
  line: number
  /** The text in the source. */
  text: string
  pattern: string | undefined
  flags: string
}

/** By file and text: why the expression is safe although the check cannot prove it. */
type Allowed = Record<string, Record<string, string>>

const ALLOWED: Allowed = {
  'contract/api/apikey.ts': {
    'new RegExp(`^[^*]*(\\\\*[^*]*){0,${MAX_GLOB_STARS}}$`)': 'each star is followed by what is none: linear',
  },
  'contract/key-format.ts': {
    'new RegExp(`${PREFIX}[0-9A-Za-z]{${ID_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH}}`)':
      'one repetition, of 48 characters; texts have at most 4,096',
    'new RegExp(`^${ANYWHERE.source}$`)': 'has no choice: a fixed length from the first character on',
  },
  'proxy/dialects/core/neutral/ids.ts': {
    'new RegExp(`^[a-z]+_([0-9A-Za-z]{${LENGTH}})[0-9]{2,4}$`)':
      'the underscore ends the one open repetition',
  },
  'proxy/dialects/core/errors/wordings.ts': {
    "new RegExp(source.replaceAll('N', '\\\\d[\\\\d,]{0,11}'), 'i')":
      'of numbers with 12 characters; texts have at most 6,002',
    "new RegExp(source.replaceAll('#', '(\\\\d{1,12})'), 'i')":
      'of numbers with 12 characters; texts have at most 6,002',
  },
  'proxy/dialects/core/errors/refusals.ts': {
    'new RegExp(`\\\\b${effort}\\\\b`)': 'a fixed word',
  },
  'proxy/dialects/core/errors/sanitise.ts': {
    "new RegExp(escaped(text), 'gi')": 'a fixed text',
    "new RegExp(`(?<![\\\\w-])${escaped(text)}${more}(?![\\\\w-])`, 'gi')":
      'a fixed text and at most 66 characters behind it',
  },
}

interface Node {
  type?: string
  start: number
  end: number
  regex?: { pattern: string; flags: string }
  callee?: { type: string; name?: string }
  arguments?: {
    type: string
    value?: unknown
    expressions?: unknown[]
    quasis?: { value: { cooked: string } }[]
  }[]
}

export function regexesOf(source: string): Regex[] {
  const found: Regex[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return
    const node = value as Node
    const made = readRegex(node)
    const { start, end } = node
    if (made !== undefined)
      found.push({ line: source.slice(0, start).split('\n').length, text: source.slice(start, end), ...made })
    for (const [key, child] of Object.entries(node)) if (key !== 'regex') visit(child)
  }
  visit(parseAst(source, { lang: 'ts' }))
  return found
}

function readRegex({
  type,
  regex,
  callee,
  arguments: given,
}: Node): Pick<Regex, 'pattern' | 'flags'> | undefined {
  if (regex !== undefined) return regex
  if (type !== 'NewExpression' && type !== 'CallExpression') return undefined
  if (callee?.type !== 'Identifier' || callee.name !== 'RegExp') return undefined
  const [pattern, flags] = (given ?? []).map(textOf)
  return { pattern, flags: flags ?? '' }
}

/** The value of a literal text in the source. */
function textOf({ value, expressions, quasis }: NonNullable<Node['arguments']>[number]): string | undefined {
  if (typeof value === 'string') return value
  return expressions?.length === 0 ? quasis?.[0]?.value.cooked : undefined
}

/** One line for each fault of the sources, and for each unused entry of `allowed`. */
export function problemsOf(sources: ReadonlyMap<string, string>, allowed: Allowed = ALLOWED): string[] {
  const problems: string[] = []
  const unused = new Set(
    Object.entries(allowed).flatMap(([file, texts]) => Object.keys(texts).map((text) => `${file}: ${text}`)),
  )
  for (const [file, source] of sources) {
    for (const regex of regexesOf(source)) {
      const fault = faultOf(regex)
      if (fault === undefined) continue
      const isAllowed = Object.hasOwn(allowed[file] ?? {}, regex.text)
      unused.delete(`${file}: ${regex.text}`)
      if (!isAllowed) problems.push(`${file}:${regex.line}: ${regex.text} ${fault}`)
    }
  }
  return [...problems, ...[...unused].map((entry) => `${entry} is allowed, but is no longer there`)]
}

function faultOf({ pattern, flags }: Regex): string | undefined {
  if (pattern === undefined) return 'is built at run time; say in ALLOWED why it is linear'
  const { reports } = analyse({ source: pattern, flags })
  if (reports.length === 0) return undefined
  const takes = reports.some(({ exponential }) => exponential) ? 'exponential' : 'quadratic'
  return `takes ${takes} time: ${[...new Set(reports.map(({ type }) => type))].join(', ')}`
}

/** The sources of the programs, without tests and what only tests use. */
export function shippedSources(root: string): Map<string, string> {
  const files = globSync(join(root, '{admin,cli,contract,controller,kit,proxy,store}/**/*.ts'))
  const shipped = files.filter((file) => !/(?:\.test|\.cases|testing)\.ts$/.test(file))
  return new Map(shipped.map((file) => [relative(root, file), readFileSync(file, 'utf8')]))
}

if (import.meta.main) {
  const sources = shippedSources(resolve(process.argv[2] ?? join(import.meta.dirname, '..')))
  const problems = sources.size === 0 ? ['found no sources'] : problemsOf(sources)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}
