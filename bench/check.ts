/**
 * Whether this checkout costs more than another commit: `BASE=<commit> node bench/check.ts`. Both gateways run at once
 * against the same upstream; each round measures them one after the other, in alternating order, and compares them
 * inside the round. The verdict uses the medians of nine rounds: CPU per request or event, and median latency. A figure that
 * is worse by more than 15 % fails the check; smaller differences are noise. Takes about seven minutes. Linux only (/proc).
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Target } from './load.ts'
import { MEASURE_MS, measure, WARM_UP_MS } from './measure.ts'
import { gatewayTarget, ROOT, startGateway, startScript, stopAll } from './processes.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'
import { type Round, report } from './verdict.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

/** A checkout of `commit` with its packages; `drop` removes it. */
function checkOut(commit: string): { folder: string; drop: () => void } {
  const folder = join(mkdtempSync(join(tmpdir(), 'sluice-bench-')), 'base')
  git('worktree', 'add', '--quiet', '--detach', folder, commit)
  const drop = () => {
    git('worktree', 'remove', '--force', folder)
    rmSync(join(folder, '..'), { recursive: true, force: true })
  }
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lock(folder) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  else execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  return { folder, drop }
}

async function compare(base: Target, head: Target): Promise<Map<Scenario, Round[]>> {
  const rounds = new Map<Scenario, Round[]>(SCENARIOS.map((scenario) => [scenario, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    const durationMs = round === 0 ? WARM_UP_MS : MEASURE_MS
    for (const [scenario, kept] of rounds) {
      const measured: Partial<Round> = {}
      const order = round % 2 === 0 ? (['base', 'head'] as const) : (['head', 'base'] as const)
      for (const side of order)
        measured[side] = await measure(side === 'base' ? base : head, scenario, durationMs)
      if (round > 0) kept.push(measured as Round)
    }
    console.error(round === 0 ? 'warmed up' : `round ${round} of ${ROUNDS}`)
  }
  return rounds
}

let drop = () => {}
try {
  const commit = git('rev-parse', '--verify', `${process.env.BASE ?? ''}^{commit}`)
  const base = checkOut(commit)
  drop = base.drop
  if (!existsSync(join(base.folder, 'bench/config'))) throw new Error('the base has no bench/config')
  const upstream = await startScript('upstream.ts')
  const { table, worse } = report(
    await compare(
      gatewayTarget('base', await startGateway(upstream.port, base.folder)),
      gatewayTarget('head', await startGateway(upstream.port)),
    ),
  )
  console.log(table)
  console.log(worse.length === 0 ? 'no figure is worse by more than 15 %' : `worse: ${worse.join('; ')}`)
  process.exitCode = worse.length === 0 ? 0 : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  stopAll()
  drop()
}
