/**
 * What attacks cost other clients: how long a well-behaved client waits during an attack, compared with the quiet seconds
 * before and after it. Attacker and clients share the machine with the gateway and cause a part of the delay; the longest
 * turns of its main thread, in CPU time, are mostly its own. Arguments are names of attacks; default all. CHECKOUT names another
 * checkout to measure. Linux only (/proc).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { keyOf, writeConfig } from './config.ts'
import { ATTACKS } from './edges/attacks.ts'
import { type Pace, WellBehaved } from './edges/well-behaved.ts'
import { startEmbedded } from './gateway.ts'
import { cpuMicros, ROOT, residentBytes } from './processes.ts'
import { startUpstream } from './rig.ts'
import { SCENARIOS } from './scenarios.ts'
import { RUN } from './targets.ts'

const WARM_UP_MS = 4_000
const MEASURE_MS = 5_000

const CHECKOUT = process.env.CHECKOUT ?? ROOT
const TURNS_FILE = join(RUN, 'turns.json')

/** CPU milliseconds of the longest turns of the gateway's main thread since the last call. */
async function longestTurns(pid: number): Promise<number[]> {
  rmSync(TURNS_FILE, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (let tries = 0; tries < 100 && !existsSync(TURNS_FILE); tries++)
    await new Promise((resolve) => setTimeout(resolve, 100))
  return z.array(z.number()).parse(JSON.parse(readFileSync(TURNS_FILE, 'utf8')))
}

const percentile = ({ latencies }: Pace, p: number) =>
  latencies[Math.floor((latencies.length - 1) * p)] ?? Number.NaN

/** Starts the attack in a process of its own; it prints a line when it begins. */
async function attack(name: string, port: number) {
  const script = join(import.meta.dirname, 'edges/attacker.ts')
  const child = spawn(process.execPath, [script, name, String(port), keyOf(0)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  await once(child.stdout, 'data')
  return kill
}

try {
  const names = process.argv.slice(2)
  const upstream = await startUpstream()
  const config = join(RUN, 'config-edges')
  writeConfig(config, upstream.port, { scenarios: SCENARIOS, keys: 1 })
  const gateway = await startEmbedded({
    config,
    keys: 1,
    checkout: CHECKOUT,
    preload: join(import.meta.dirname, 'edges/turns.ts'),
    env: { BENCH_TURNS: TURNS_FILE },
  })
  const [pid = 0] = gateway.pids
  const client = new WellBehaved(`http://127.0.0.1:${gateway.port}`, keyOf(0))
  await client.run(WARM_UP_MS)
  console.log(
    '| attack | quiet p50 / p99 ms | attacked p50 / p99 ms | p99 ratio | longest turns, CPU ms | gateway CPU | RSS MiB | not served |',
  )
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|')
  for (const { name } of ATTACKS.filter((attack) => names.length === 0 || names.includes(attack.name))) {
    const before = await client.run(MEASURE_MS)
    const endAttack = await attack(name, gateway.port)
    await client.run(1_000)
    await longestTurns(pid)
    const cpu = cpuMicros(pid)
    const attacked = await client.run(MEASURE_MS)
    const busy = (cpuMicros(pid) - cpu) / MEASURE_MS / 1_000
    const turns = await longestTurns(pid)
    const rss = residentBytes([pid]) / 2 ** 20
    endAttack()
    await client.run(2_000)
    const after = await client.run(MEASURE_MS)
    const quiet = (p: number) => (percentile(before, p) + percentile(after, p)) / 2
    const cells = [
      name,
      `${quiet(0.5).toFixed(1)} / ${quiet(0.99).toFixed(1)}`,
      `${percentile(attacked, 0.5).toFixed(1)} / ${percentile(attacked, 0.99).toFixed(1)}`,
      (percentile(attacked, 0.99) / quiet(0.99)).toFixed(2),
      turns
        .slice(0, 3)
        .map((ms) => ms.toFixed(1))
        .join(', '),
      `${(busy * 100).toFixed(0)} %`,
      rss.toFixed(0),
      JSON.stringify(attacked.failures),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
  await client.close()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
process.exit()
