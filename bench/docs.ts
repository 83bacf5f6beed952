/**
 * Rewrites the tables and plots of docs/benchmarks.md from the raw lines beside it. With `--take` it first takes over the raw
 * files of the last runs.
 *
 *     node bench/docs.ts [--take]
 */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { growthPlot, growthTable } from './growth-report.ts'
import { hourTable } from './hour-report.ts'
import { lossesOf } from './losses.ts'
import { bars } from './plot.ts'
import { ROOT } from './processes.ts'
import { publishedTable } from './published.ts'
import { type RawLine, readRaw } from './raw.ts'
import { describe, linesOf, Measured, sectionsOf } from './report.ts'
import { RUN } from './targets.ts'

const PAGE = 'docs/benchmarks.md'
const FOLDER = 'docs/benchmarks'
/** Raw files, one for each command. */
const RAW = ['bench', 'hour', 'growth', 'peers'] as const

const NOT_YET = 'Not measured yet.'

/** Replaces what stands between `<!-- name -->` and `<!-- /name -->`; throws if a section has no place. */
export function withSections(page: string, sections: ReadonlyMap<string, string>): string {
  let result = page
  for (const [name, text] of sections) {
    const place = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`)
    if (!place.test(result)) throw new Error(`${PAGE} has no place for ${name}`)
    result = result.replace(place, (_, begin: string, end: string) => `${begin}\n${text}\n\n${end}`)
  }
  return result
}

function ratioPlot(lines: readonly RawLine[]): string {
  const measured = new Measured(lines)
  const series = measured.targets.filter((target) => target !== 'direct' && target !== 'passthrough')
  const groups = measured.scenarios().map((scenario) => ({
    name: scenario.name,
    values: series.map((target) => measured.ratio(scenario, target).withRedis),
  }))
  return bars(
    'CPU for a request or an event, over the bare passthrough = 1; with that of Redis',
    series,
    groups,
  )
}

/** Contents of all files that are made from raw lines, by path. */
export function made(raw: ReadonlyMap<string, RawLine[]>, page: string): Map<string, string> {
  const [bench, hour, growth, peers] = RAW.map((name) => raw.get(name) ?? [])
  const files = new Map<string, string>()
  const sections = new Map<string, string>()
  for (const name of ['machine', 'cpu', 'added', 'throughput', 'delay', 'void', 'memory', 'yardstick'])
    sections.set(name, sectionsOf(bench ?? []).get(name) ?? NOT_YET)
  sections.set('published', publishedTable())
  const [grown] = linesOf(growth ?? [], 'run')
  sections.set(
    'growth',
    grown === undefined ? NOT_YET : [describe(grown), growthTable(growth ?? [])].join('\n\n'),
  )
  const [hours] = linesOf(hour ?? [], 'run')
  sections.set('hour', hours === undefined ? NOT_YET : [describe(hours), hourTable(hour ?? [])].join('\n\n'))
  const [run] = linesOf(peers ?? [], 'run')
  const peerParts = ['cpu', 'added', 'throughput'].flatMap((name) => sectionsOf(peers ?? []).get(name) ?? [])
  sections.set('peers', run === undefined ? NOT_YET : [describe(run), ...peerParts].join('\n\n'))
  sections.set('losses', run === undefined ? NOT_YET : lossesOf(new Measured(peers ?? [])))
  files.set(PAGE, withSections(page, sections))
  files.set(`${FOLDER}/cpu.svg`, ratioPlot(bench ?? []))
  files.set(`${FOLDER}/growth.svg`, growthPlot(growth ?? []))
  return files
}

/** Raw lines of the checked-in files. */
export function keptRaw(): Map<string, RawLine[]> {
  const kept = RAW.filter((name) => existsSync(join(ROOT, FOLDER, `${name}.jsonl`)))
  return new Map(kept.map((name) => [name, readRaw(join(ROOT, FOLDER, `${name}.jsonl`))]))
}

/** Files that differ from what the raw lines make of them. */
export function outdated(): string[] {
  const files = made(keptRaw(), readFileSync(join(ROOT, PAGE), 'utf8'))
  return [...files]
    .filter(
      ([path, text]) => !existsSync(join(ROOT, path)) || readFileSync(join(ROOT, path), 'utf8') !== text,
    )
    .map(([path]) => path)
}

if (import.meta.main) {
  if (process.argv.includes('--take'))
    for (const name of RAW)
      if (existsSync(join(RUN, `${name}.jsonl`)))
        copyFileSync(join(RUN, `${name}.jsonl`), join(ROOT, FOLDER, `${name}.jsonl`))
  for (const [path, text] of made(keptRaw(), readFileSync(join(ROOT, PAGE), 'utf8')))
    writeFileSync(join(ROOT, path), text)
}
