/**
 * Runs the planted faults of list.ts, five at a time: each in a copy of the tree, with the one test that must fail. The
 * named tests must pass without a fault first (`--tests-pass`: they have just been run), and a fault must make an
 * assertion fail, not stop the file from loading.
 *
 *     node test/mutants/run.ts [--tests-pass] [<part of a file name>]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import type { Mutant } from './fault.ts'
import { MUTANTS } from './list.ts'

const NOT_COPIED = new Set(['node_modules', '.git', '.run', '.venv', 'dist'])

/** `caught`, or the problem with the fault or with the test that should have caught it. */
export interface Verdict {
  mutant: Mutant
  outcome: 'caught' | 'survived' | 'broken' | 'stale'
  seconds: number
}

/** Copies of the tree, each with one fault at a time. More than the usual cores, because many tests wait for processes. */
const LANES = 5

export interface TryOptions {
  /** The named tests have just passed without a fault and need not run again. */
  testsPass?: boolean
  /** Called with each verdict as it is found. */
  found?: (verdict: Verdict) => void
}

/** Tries every fault on copies of the tree at `root`. Rejects when a named test fails without any fault. */
export async function tryMutants(
  root: string,
  mutants: readonly Mutant[],
  { testsPass = false, found = () => undefined }: TryOptions = {},
): Promise<Verdict[]> {
  if (mutants.length === 0) throw new Error('there is no such planted fault')
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-mutants-'))
  try {
    const copies = Array.from({ length: LANES }, (_, lane) => copyTree(root, join(scratch, String(lane))))
    if (!testsPass) await checkTests(copies[0] ?? scratch, mutants)
    const verdicts: Verdict[] = []
    const waiting = mutants.entries()
    const work = async (copy: string) => {
      for (const [index, mutant] of waiting) {
        const started = performance.now()
        const outcome = await tryMutant(copy, mutant)
        const verdict = { mutant, outcome, seconds: (performance.now() - started) / 1_000 }
        verdicts[index] = verdict
        found(verdict)
      }
    }
    await Promise.all(copies.map(work))
    return verdicts
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function checkTests(copy: string, mutants: readonly Mutant[]): Promise<void> {
  const all = [...new Set(mutants.map(({ test }) => test))]
  const report = await runTests(copy, all, ALL_TIMEOUT_MS)
  if (!report?.success || report.numPassedTests === 0)
    throw new Error(`the tests fail without a fault: ${failedFiles(report).join(', ')}`)
}

/** Returns `copy`. */
function copyTree(root: string, copy: string): string {
  cpSync(root, copy, {
    recursive: true,
    filter: (path) => path === root || !NOT_COPIED.has(basename(path)),
  })
  for (const name of ['node_modules', '.venv']) symlinkSync(join(root, name), join(copy, name))
  return copy
}

async function tryMutant(copy: string, { file, find, replace, test }: Mutant): Promise<Verdict['outcome']> {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  if (source.split(find).length !== 2) return 'stale'
  writeFileSync(
    path,
    source.replace(find, () => replace),
  )
  let faulty = await runTests(copy, [test], TIMEOUT_MS, '--bail=1', ...IMPATIENT)
  // If tests run in parallel, the runner may exit at the first failure without reporting it.
  if (faulty?.numFailedTests === 0 && !faulty.success)
    faulty = await runTests(copy, [test], TIMEOUT_MS, ...IMPATIENT)
  writeFileSync(path, source)
  if (faulty === undefined) return 'broken'
  if (faulty.numFailedTests > 0) return 'caught'
  return faulty.success ? 'survived' : 'broken'
}

const report = z.object({
  success: z.boolean(),
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  testResults: z.array(z.object({ name: z.string(), status: z.string() })),
})
type Report = z.output<typeof report>

function failedFiles(from: Report | undefined): string[] {
  return (from?.testResults ?? [])
    .filter(({ status }) => status !== 'passed')
    .map(({ name }) => basename(name))
}

const TIMEOUT_MS = 120_000
/** An event that a fault prevents is not worth a long wait. */
const IMPATIENT = ['--testTimeout=20000', '--hookTimeout=30000']
/** For the tests of all faults together. */
const ALL_TIMEOUT_MS = 900_000

/** Undefined if the runner did not finish. */
async function runTests(
  root: string,
  tests: string[],
  timeout: number,
  ...options: string[]
): Promise<Report | undefined> {
  const output = join(root, '.run/mutant.json')
  rmSync(output, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--reporter=json', `--outputFile=${output}`, ...options, ...tests]
  // The runner may itself run inside vitest, whose variables would mislead the inner one.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'))
  const env = { ...Object.fromEntries(own), TEST_PATIENCE_MS: '5000' }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore', timeout })
  await once(child, 'exit')
  endWhatIsLeft(root)
  if (!existsSync(output)) return undefined
  return report.parse(JSON.parse(readFileSync(output, 'utf8')))
}

/** A fault may leave programs behind that the tests started from the copy. */
function endWhatIsLeft(copy: string): void {
  for (const pid of existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
    try {
      const isOurs = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${copy}/`)
      if (isOurs && Number(pid) !== process.pid) process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has exited.
    }
  }
}

const EXPLAIN: Record<Verdict['outcome'], string> = {
  caught: 'caught',
  survived: 'SURVIVED: the test does not notice',
  broken: 'BROKEN: the file no longer loads or the test no longer ends, which shows nothing',
  stale: 'STALE: the text to find does not stand exactly once in the file',
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'tests-pass': { type: 'boolean' } },
  })
  const [part = ''] = positionals
  const chosen = MUTANTS.filter(({ file }) => file.includes(part))
  const verdicts = await tryMutants(join(import.meta.dirname, '../..'), chosen, {
    testsPass: values['tests-pass'] === true,
    found: ({ mutant: { file, find, replace }, outcome, seconds }) =>
      console.log(
        `${EXPLAIN[outcome]} (${seconds.toFixed(1)} s)  ${file}: ${find.trim()}  ->  ${replace.trim()}`,
      ),
  })
  const caught = verdicts.filter(({ outcome }) => outcome === 'caught').length
  console.log(`${caught} of ${verdicts.length} faults caught`)
  process.exitCode = caught === verdicts.length && caught > 0 ? 0 : 1
}
