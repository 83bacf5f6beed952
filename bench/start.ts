/**
 * What it costs to start a proxy: time and CPU until it is Ready, with 10,000 keys and 1,000 routes in a real Redis, the
 * modules that it loads, and the memory that it takes when it has nothing to do.
 *
 *     node bench/start.ts [<rounds>]
 *
 * `checkout`: TypeScript, of which Node has kept nothing yet. `kept`: the same, after an earlier start (bin/sluice).
 * `package`: JavaScript, as in the npm package and the image. `package, kept`: with a compile cache too.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { keyHash } from '../contract/ids.ts'
import { loadedModules, recordingTo } from '../test/harness/modules.ts'
import { freePort } from '../test/harness/program.ts'
import { startWorld, tableOf } from '../test/integration/proxy/world.ts'
import { memoryOf } from '../test/scale/process.ts'
import { cpuMicros, ROOT } from './processes.ts'

const ROUNDS = Number(process.argv[2] ?? 5)
const KEYS = 10_000
const ROUTES = 1_000
/** V8 gives the pages that it has no use for back within ten seconds. */
const IDLE_MS = 15_000
const LOOK_EVERY_MS = 2
const GIVE_UP_MS = 60_000

interface Variant {
  name: string
  main: string
  cache?: string
}
interface Start {
  readyMs: number
  cpuMs: number
  idleMB: number
}

const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-start-'))
const world = await startWorld()
try {
  world.table = tableOf(world.upstream.baseURL, ...Array.from({ length: ROUTES }, (_, n) => `model-${n}`))
  const [template] = world.keys.values()
  if (template === undefined) throw new Error('there is no key')
  for (let n = 0; n < KEYS; n++)
    world.keys.set(keyHash(`sk-start-${n}`), { ...template, id: `start${String(n).padStart(15, '0')}` })
  await world.publish()

  const variants: Variant[] = [
    { name: 'checkout', main: join(ROOT, 'cli/main.ts') },
    { name: 'kept', main: join(ROOT, 'cli/main.ts'), cache: join(dir, 'checkout') },
    { name: 'package', main: packaged() },
    { name: 'package, kept', main: packaged(), cache: join(dir, 'package') },
  ]
  // Fills the compile caches, and reads every file once.
  for (const variant of variants) await start(variant, 0)

  const starts = new Map<string, Start[]>(variants.map(({ name }) => [name, []]))
  for (let round = 0; round < ROUNDS; round++)
    for (const variant of variants) starts.get(variant.name)?.push(await start(variant, IDLE_MS))

  console.log(`${KEYS} keys, ${ROUTES} routes; medians of ${ROUNDS} starts`)
  for (const [name, taken] of starts) {
    const of = (field: keyof Start) => median(taken.map((each) => each[field])).toFixed(0)
    console.log(
      `${name.padEnd(14)} Ready after ${of('readyMs').padStart(5)} ms, CPU ${of('cpuMs').padStart(5)} ms, idle ${of('idleMB').padStart(4)} MB`,
    )
  }
  const file = join(dir, 'modules')
  await start({ name: 'modules', main: join(ROOT, 'cli/main.ts') }, 0, recordingTo(file))
  const { own, packages, files } = loadedModules(file)
  console.log(`${files} files loaded: ${own.length} of Sluice, the others of ${packages.size} packages`)
} finally {
  await world.stop()
  rmSync(dir, { recursive: true, force: true })
}

/** dist/ as the npm package has it, beside the packages of this checkout. */
function packaged(): string {
  const folder = join(dir, 'installed')
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkIfAbsent(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'dist/cli/main.js')
}

function symlinkIfAbsent(target: string, path: string): void {
  try {
    symlinkSync(target, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/** Starts a proxy, waits until it is Ready, and then for `idleMs`. */
async function start(variant: Variant, idleMs: number, more: Record<string, string> = {}): Promise<Start> {
  const admin = await freePort()
  const began = performance.now()
  const child = spawn(process.execPath, [variant.main, 'proxy'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      SLUICE_HOST: '127.0.0.1',
      SLUICE_PORT: '0',
      SLUICE_ADMIN_PORT: String(admin),
      SLUICE_REDIS_URL: world.redis.url,
      SLUICE_SEALING_KEYS_FILE: world.sealingKeys,
      ...(variant.cache !== undefined && { NODE_COMPILE_CACHE: variant.cache }),
      ...more,
    },
  })
  const pid = child.pid ?? 0
  const ended = once(child, 'exit')
  try {
    while (!(await isReady(admin))) {
      if (child.exitCode !== null || performance.now() - began > GIVE_UP_MS)
        throw new Error(`${variant.name}: the proxy did not become ready`)
      await delay(LOOK_EVERY_MS)
    }
    const readyMs = performance.now() - began
    const cpuMs = cpuMicros(pid) / 1_000
    await delay(idleMs)
    return { readyMs, cpuMs, idleMB: memoryOf(pid).rss }
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

async function isReady(adminPort: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
