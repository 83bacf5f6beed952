/**
 * Whether this checkout costs more than another commit: `BASE=<commit> node bench/check.ts`. Both gateways run at once, with
 * this checkout's configuration, against the same upstream; each round measures them one after the other, in alternating
 * order, and compares them inside the round. The verdict uses the medians of nine rounds: CPU per request or event, and
 * median latency. A figure that is worse by more than 15 % fails the check; smaller differences are noise. Takes about
 * ten minutes. Linux only (/proc).
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeConfig } from './config.ts'
import { startEmbedded } from './gateway.ts'
import { ROOT } from './processes.ts'
import { startUpstream } from './rig.ts'
import { runRounds } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import { RUN, type Target } from './targets.ts'
import { report } from './verdict.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)
const KEYS = 1_000
const WARM_UP_MS = 1_200
const MEASURE_MS = 1_800

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

/** A base from before the pages of usage and ledger has no books; its own requests are counted by the upstream alone. */
async function withReadableBooks(target: Target): Promise<Target> {
  const readable = await target.books?.read().then(
    () => true,
    () => false,
  )
  if (readable) return target
  const { books: _, ...rest } = target
  return rest
}

let drop = () => {}
const stops: (() => unknown)[] = []
try {
  const commit = git('rev-parse', '--verify', `${process.env.BASE ?? ''}^{commit}`)
  const base = checkOut(commit)
  drop = base.drop
  const upstream = await startUpstream()
  stops.push(upstream.stop)
  const scenarios = SCENARIOS.filter(({ quick }) => quick)
  const config = join(RUN, 'config-check')
  writeConfig(config, upstream.port, { scenarios, keys: KEYS })
  const sides: Target[] = []
  for (const [name, checkout] of [
    ['base', base.folder],
    ['head', ROOT],
  ] as const) {
    const target = await startEmbedded({ config, keys: KEYS, name, checkout })
    stops.push(target.stop)
    sides.push(await withReadableBooks(target))
  }
  const kept = await runRounds({
    upstream,
    targets: sides,
    scenarios,
    rounds: ROUNDS,
    warmUpMs: WARM_UP_MS,
    measureMs: MEASURE_MS,
    onMeasurement: () => undefined,
  })
  const { table, worse } = report(kept)
  console.log(table)
  console.log(worse.length === 0 ? 'no figure is worse by more than 15 %' : `worse: ${worse.join('; ')}`)
  process.exitCode = worse.length === 0 ? 0 : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await Promise.all(stops.map((stop) => stop()))
  drop()
}
process.exit()
