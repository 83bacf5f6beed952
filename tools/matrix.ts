/**
 * Makes the page that shows how each feature survives between each client dialect and channel type, from what the tests
 * observed (test/harness/matrix.ts).
 *
 *     node tools/matrix.ts --observed <file> [--check] [--partial] [--report <file>]
 *
 * With --check it writes nothing, and fails if the page differs from the observations. With --partial, cells may be
 * missing in the observations, because some tests had no input; those present must still match the page.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { DIALECT_NAMES, type DialectName } from '../contract/apis.ts'
import { typeOf } from '../contract/channel-types.ts'
import { isRecord } from '../proxy/dialects/core/json/value.ts'

const FEATURES = [
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
/** Sources of an observation: an official SDK as client, a recording of a real upstream, a third-party upstream. */
const WITNESSES = ['sdk', 'recording', 'third-party'] as const
/** From best to worst. */
const RESULTS = ['byte', 'exact', 'lossy', 'not eligible'] as const

export const DIALECTS = DIALECT_NAMES
type Dialect = DialectName
export type Feature = (typeof FEATURES)[number]
type Witness = (typeof WITNESSES)[number]
type Result = (typeof RESULTS)[number]

export interface Observation {
  client: Dialect
  upstream: Dialect
  feature: Feature
  by: Witness
  result: Result
  /** Of a lossy result: fields, with the client's names. */
  losses?: string[]
}

const LETTER: Record<Witness, string> = { sdk: 'S', recording: 'R', 'third-party': 'T' }

const HEAD = `# Conversion matrix

<!-- Written by the tests: node tools/matrix.ts. Do not edit. -->

How each feature survives between a client and a channel. *byte*: bytes pass unchanged. *exact*: converted without a
loss. *lossy*: converted, and the named fields are lost; the answer lists them in \`x-sluice-dropped\`. *not eligible*:
such a channel does not serve the feature. An empty cell: no test has observed it.

The letters show which tests observed it: **S** with an official SDK as the client, **R** with recordings of real
upstreams, **T** with a third-party upstream. A cell needs **S** and one other letter; a cell in brackets lacks that.
`

/** The cells, worst result first: `client>upstream>feature` to the text of the cell. */
function cellsOf(observations: readonly Observation[]): Map<string, string> {
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

/** The cells that differ between the page and the observations, as sentences. */
export function differences(page: string, observed: readonly Observation[], partial: boolean): string[] {
  if (page === matrixPage(observed)) return []
  const onPage = pageCells(page)
  const seen = cellsOf(observed)
  const problems = [...seen].flatMap(([name, text]) => {
    const expected = onPage.get(name) ?? ''
    if (partial ? isWithin(text, expected) : text === expected) return []
    return [`${name}: the tests observed "${text}", the page says "${expected}"`]
  })
  if (partial) return problems
  const unseen = [...onPage].filter(([name, text]) => text !== '' && !seen.has(name))
  problems.push(...unseen.map(([name, text]) => `${name}: the page says "${text}", no test observed it`))
  return problems.length > 0 ? problems : ['the text of the page differs']
}

/** True if the observation is no worse than the page, with no source that the page does not name. */
function isWithin(text: string, expected: string): boolean {
  const read = (cell: string) => /^\[?(\w[\w ]*?)(?: \((.*)\))? ([SRT]+)\]?$/.exec(cell) ?? []
  const [, result = '', fields = '', letters = ''] = read(text)
  const [, pageResult = '', pageFields = '', pageLetters = ''] = read(expected)
  const rank = (name: string) => (RESULTS as readonly string[]).indexOf(name)
  const known = new Set(pageFields.split(', '))
  return (
    rank(result) <= rank(pageResult) &&
    (fields === '' || fields.split(', ').every((field) => known.has(field))) &&
    [...letters].every((letter) => pageLetters.includes(letter))
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
  const outcome = {
    fullName: 'docs/matrix.md matches the observations of the tests',
    status,
    failureMessages: problems,
  }
  const testResults = [{ name: 'conversion matrix', message: '', assertionResults: [outcome] }]
  writeFileSync(values.report, JSON.stringify({ success: problems.length === 0, testResults }))
}

if (import.meta.main) main()
