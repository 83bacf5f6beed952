/**
 * Runs the planted faults of list.ts: each in a copy of the tree, with the one test that must fail. The named tests
 * must pass without a fault first, and a fault must make an assertion fail, not stop the file from loading.
 *
 *     node test/mutants/run.ts [<part of a file name>]
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { MUTANTS, type Mutant } from './list.ts'

const NOT_COPIED = new Set(['node_modules', '.git', '.run', '.venv', 'dist'])

/** `caught`, or what is wrong with the fault or with the test that should have caught it. */
export interface Verdict {
  mutant: Mutant
  outcome: 'caught' | 'survived' | 'broken' | 'stale'
}

/** Tries every fault on a copy of the tree at `root`. Throws when a named test fails without any fault. */
export function tryMutants(root: string, mutants: Mutant[]): Verdict[] {
  const copy = mkdtempSync(join(tmpdir(), 'sluice-mutants-'))
  try {
    cpSync(root, copy, {
      recursive: true,
      filter: (path) => path === root || !NOT_COPIED.has(basename(path)),
    })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const sound = runTests(copy, [...new Set(mutants.map(({ test }) => test))])
    if (!sound?.success || sound.numPassedTests === 0) throw new Error('the tests fail without a fault')
    return mutants.map((mutant) => ({ mutant, outcome: tryMutant(copy, mutant) }))
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function tryMutant(copy: string, { file, find, replace, test }: Mutant): Verdict['outcome'] {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  if (source.split(find).length !== 2) return 'stale'
  writeFileSync(
    path,
    source.replace(find, () => replace),
  )
  const faulty = runTests(copy, [test])
  writeFileSync(path, source)
  if (faulty === undefined) return 'broken'
  if (faulty.numFailedTests > 0) return 'caught'
  return faulty.success ? 'survived' : 'broken'
}

const report = z.object({ success: z.boolean(), numPassedTests: z.int(), numFailedTests: z.int() })

const TIMEOUT_MS = 120_000

/** Undefined when the runner did not come to its end. */
function runTests(root: string, tests: string[]): z.output<typeof report> | undefined {
  const output = join(root, '.run/mutant.json')
  rmSync(output, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--reporter=json', `--outputFile=${output}`, ...tests]
  // The runner may itself run inside vitest, whose variables would mislead the inner one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
  spawnSync(process.execPath, args, { cwd: root, env, stdio: 'ignore', timeout: TIMEOUT_MS })
  if (!existsSync(output)) return undefined
  return report.parse(JSON.parse(readFileSync(output, 'utf8')))
}

const EXPLAIN: Record<Verdict['outcome'], string> = {
  caught: 'caught',
  survived: 'SURVIVED: the test does not notice',
  broken: 'BROKEN: the file no longer loads or the test no longer ends, which shows nothing',
  stale: 'STALE: the text to find does not stand exactly once in the file',
}

if (import.meta.main) {
  const part = process.argv[2] ?? ''
  const chosen = MUTANTS.filter(({ file }) => file.includes(part))
  const verdicts = tryMutants(join(import.meta.dirname, '../..'), chosen)
  for (const { mutant, outcome } of verdicts)
    console.log(`${EXPLAIN[outcome]}  ${mutant.file}: ${mutant.find.trim()}  ->  ${mutant.replace.trim()}`)
  const caught = verdicts.filter(({ outcome }) => outcome === 'caught').length
  console.log(`${caught} of ${verdicts.length} faults caught`)
  process.exitCode = caught === verdicts.length && caught > 0 ? 0 : 1
}
