/**
 * The page that tells what becomes of each feature between each pair of client dialect and channel type. Tests record
 * what they saw (test/harness/matrix.ts); this makes the page of it.
 *
 *     node tools/matrix.ts --observed <file> [--check] [--partial] [--report <file>]
 *
 * With --check nothing is written: the page must say what was observed. With --partial a cell may be missing in the
 * observations, because some tests had nothing to run on; what was seen must still be what the page says.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { CHANNEL_TYPE_FACTS } from '../contract/channel-types.ts'
import { DIALECT_NAMES, type DialectName } from '../contract/endpoints.ts'
import { isRecord } from '../proxy/dialects/core/json/value.ts'

export const FEATURES = [
  'JSON',
  'stream',
  'tools',
  'parallel tools',
  'image',
  'PDF',
  'reasoning',
  'structured output',
  'stop',
  'usage',
  'upstream error',
  'cut stream',
] as const
/** Who saw it: an official SDK as client, a recording of a real upstream, an upstream that others wrote. */
export const WITNESSES = ['sdk', 'recording', 'third-party'] as const
/** From the best to the worst. */
export const RESULTS = ['byte', 'exact', 'lossy', 'not eligible'] as const

export const DIALECTS = DIALECT_NAMES
export type Dialect = DialectName
export type Feature = (typeof FEATURES)[number]
export type Witness = (typeof WITNESSES)[number]
export type Result = (typeof RESULTS)[number]

export interface Observation {
  client: Dialect
  upstream: Dialect
  feature: Feature
  by: Witness
  result: Result
  /** Of a lossy result: fields by the client's names. */
  losses?: string[]
}

/** The type of channel that speaks a dialect. */
function typeOf(dialect: DialectName): string {
  const found = Object.entries(CHANNEL_TYPE_FACTS).find(([, { api }]) => api === dialect)
  if (found === undefined) throw new Error(`no type of channel speaks ${dialect}`)
  return found[0]
}

const LETTER: Record<Witness, string> = { sdk: 'S', recording: 'R', 'third-party': 'T' }

const HEAD = `# Conversion matrix

<!-- Written by the tests: node tools/matrix.ts. Do not edit. -->

What becomes of each feature on its way from a client to a channel. *byte*: bytes pass as they are. *exact*: converted
without a loss. *lossy*: converted, and the fields named are lost; the answer's header \`x-sluice-dropped\` tells them.
*not eligible*: such a channel does not serve it. An empty cell: no test has shown anything.

The letters say who has seen it: **S** an official SDK as the client, **R** recordings of real upstreams, **T** an
upstream that others wrote. A cell counts when an SDK and one of the other two have; one in brackets does not count yet.
`

/** The cells, worst result first: `client>upstream>feature` to the text of the cell. */
export function cellsOf(observations: readonly Observation[]): Map<string, string> {
  const groups = Map.groupBy(observations, cellName)
  return new Map([...groups].map(([name, group]) => [name, cellText(group)]))
}

const cellName = ({ client, upstream, feature }: Pick<Observation, 'client' | 'upstream' | 'feature'>) =>
  `${client}>${upstream}>${feature}`

function cellText(group: readonly Observation[]): string {
  const result = RESULTS[Math.max(...group.map((one) => RESULTS.indexOf(one.result)))] ?? 'not eligible'
  const losses = [...new Set(group.flatMap((one) => one.losses ?? []))].sort()
  const fields = result === 'lossy' ? ` (${losses.map((loss) => `\`${loss}\``).join(', ')})` : ''
  const seen = WITNESSES.filter((witness) => group.some((one) => one.by === witness))
  const text = `${result}${fields} ${seen.map((witness) => LETTER[witness]).join('')}`
  return seen.includes('sdk') && seen.length > 1 ? text : `[${text}]`
}

/** Markdown: a table for each client dialect. */
export function matrixPage(observations: readonly Observation[]): string {
  const cells = cellsOf(observations)
  const tables = DIALECTS.map((client) => {
    const head = ['', ...DIALECTS.map(typeOf)]
    const rows = FEATURES.map((feature) => [
      feature,
      ...DIALECTS.map((upstream) => cells.get(cellName({ client, upstream, feature })) ?? ''),
    ])
    const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
    return `\n## Clients of ${client}\n\n${lines.join('\n')}\n`
  })
  return HEAD + tables.join('')
}

/** The observations in a report file, one JSON object a line. Throws for a line that is none. */
export function parseObservations(text: string): Observation[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => observation(JSON.parse(line)))
}

function observation(value: unknown): Observation {
  if (!isRecord(value)) throw new Error('an observation is an object')
  const losses = value.losses
  return {
    client: oneOf(DIALECTS, value.client),
    upstream: oneOf(DIALECTS, value.upstream),
    feature: oneOf(FEATURES, value.feature),
    by: oneOf(WITNESSES, value.by),
    result: oneOf(RESULTS, value.result),
    ...(Array.isArray(losses) && { losses: losses.filter((loss) => typeof loss === 'string') }),
  }
}

function oneOf<T extends string>(names: readonly T[], value: unknown): T {
  const name = names.find((one) => one === value)
  if (name === undefined) throw new Error(`${String(value)} is none of ${names.join(', ')}`)
  return name
}

/** The cells that differ between the page and what was observed, as sentences. */
export function differences(page: string, observed: readonly Observation[], partial: boolean): string[] {
  if (page === matrixPage(observed)) return []
  const told = pageCells(page)
  const seen = cellsOf(observed)
  const problems = [...seen].flatMap(([name, text]) => {
    const said = told.get(name) ?? ''
    if (partial ? isWithin(text, said) : text === said) return []
    return [`${name}: the tests saw "${text}", the page says "${said}"`]
  })
  if (partial) return problems
  const unseen = [...told].filter(([name, text]) => text !== '' && !seen.has(name))
  problems.push(...unseen.map(([name, text]) => `${name}: the page says "${text}", no test saw it`))
  return problems.length > 0 ? problems : ['the text of the page differs']
}

/** True when fewer witnesses than the page names saw nothing worse than it says. */
function isWithin(text: string, said: string): boolean {
  const read = (cell: string) => /^\[?(\w[\w ]*?)(?: \((.*)\))? ([SRT]+)\]?$/.exec(cell) ?? []
  const [, result = '', fields = '', letters = ''] = read(text)
  const [, saidResult = '', saidFields = '', saidLetters = ''] = read(said)
  const rank = (name: string) => (RESULTS as readonly string[]).indexOf(name)
  const known = new Set(saidFields.split(', '))
  return (
    rank(result) <= rank(saidResult) &&
    (fields === '' || fields.split(', ').every((field) => known.has(field))) &&
    [...letters].every((letter) => saidLetters.includes(letter))
  )
}

/** The cells of a page, by their names. */
function pageCells(page: string): Map<string, string> {
  const cells = new Map<string, string>()
  let client: Dialect | undefined
  for (const line of page.split('\n')) {
    const heading = /^## Clients of (\w+)$/.exec(line)?.[1]
    if (heading !== undefined) client = oneOf(DIALECTS, heading)
    const [feature = '', ...texts] = line
      .split('|')
      .slice(1, -1)
      .map((text) => text.trim())
    const known = FEATURES.find((one) => one === feature)
    if (client === undefined || known === undefined) continue
    for (const [index, upstream] of DIALECTS.entries()) {
      cells.set(cellName({ client, upstream, feature: known }), texts[index] ?? '')
    }
  }
  return cells
}

function main(): void {
  const { values } = parseArgs({
    options: {
      observed: { type: 'string', default: '.run/reports/matrix.jsonl' },
      page: { type: 'string', default: join(import.meta.dirname, '..', 'docs', 'matrix.md') },
      check: { type: 'boolean', default: false },
      partial: { type: 'boolean', default: false },
      report: { type: 'string' },
    },
  })
  const observed = parseObservations(readFileSync(values.observed, 'utf8'))
  if (!values.check) {
    writeFileSync(values.page, matrixPage(observed))
    return
  }
  const problems = differences(readFileSync(values.page, 'utf8'), observed, values.partial)
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
  if (values.report === undefined) return
  mkdirSync(dirname(values.report), { recursive: true })
  const status = problems.length > 0 ? 'failed' : 'passed'
  const outcome = { fullName: 'docs/matrix.md says what the tests saw', status, failureMessages: problems }
  const testResults = [{ name: 'conversion matrix', message: '', assertionResults: [outcome] }]
  writeFileSync(values.report, JSON.stringify({ success: problems.length === 0, testResults }))
}

if (import.meta.main) main()
