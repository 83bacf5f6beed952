/**
 * Everything that `make bench` measures, in one run: each scenario for each server in interleaved rounds, the figures of
 * onthebench.ai, and memory. Raw lines go to .run/bench/bench.jsonl, tables to standard output. Linux only (/proc).
 *
 *     BENCH_PARTS=rounds,yardstick,memory BENCH_ROUNDS=8 BENCH_WORKERS=1 node bench/main.ts
 */
import { join } from 'node:path'
import { writeConfig } from './config.ts'
import { startEmbedded, startWithRedis } from './gateway.ts'
import { machine } from './machine.ts'
import { measureMemory, OPEN_STREAM } from './memory.ts'
import { openRaw, readRaw } from './raw.ts'
import { tablesOf } from './report.ts'
import { startUpstream, type Upstream } from './rig.ts'
import { runRounds } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import { direct, RUN, startNginx, startPassthrough, type Target } from './targets.ts'
import { type Contestant, halves, runYardstick, YARDSTICK_SCENARIOS } from './yardstick.ts'

const PARTS = (process.env.BENCH_PARTS ?? 'rounds,yardstick,memory').split(',')
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8)
/** Many short rounds agree better than few long ones: a busy machine spoils some. A paced stream takes a second. */
const ROUND_MS = 1_200
/** V8 has compiled nearly all functions of a gateway after 5,000 requests. */
const WARM_UP_MS = 4_000
/** As long as a window of onthebench.ai. */
const YARDSTICK_MS = 6_000
const WORKERS = Number(process.env.BENCH_WORKERS ?? 1)

const config = join(RUN, 'config')
const file = join(RUN, 'bench.jsonl')
const write = openRaw(file)

function configure(upstream: Upstream): void {
  writeConfig(config, upstream.port, { scenarios: [...SCENARIOS, ...YARDSTICK_SCENARIOS, OPEN_STREAM] })
}

async function rounds(): Promise<void> {
  const upstream = await startUpstream()
  configure(upstream)
  const targets = [
    direct(upstream),
    await startPassthrough(upstream),
    await startNginx(upstream),
    await startEmbedded({ config }),
    await startWithRedis({ config }),
  ]
  try {
    await runRounds({
      upstream,
      targets,
      scenarios: SCENARIOS,
      rounds: ROUNDS,
      warmUpMs: WARM_UP_MS,
      measureMs: ROUND_MS,
      onMeasurement: (one) => write({ kind: 'measurement', ...one }),
    })
  } finally {
    await Promise.all(targets.map((target) => target.stop()))
    upstream.stop()
  }
}

async function contestants(upstream: Upstream, cores: string): Promise<Contestant[]> {
  configure(upstream)
  const { count } = halves()
  const alone = async (target: Promise<Target>) => ({ target: await target, cores: 1 })
  const several = async () => {
    const name = `Sluice, Redis, ${WORKERS} workers`
    // With fewer cores than workers in its half it gets all, and shares them with the rig.
    const own = WORKERS <= count ? cores : undefined
    return { target: await startWithRedis({ config, workers: WORKERS, cores: own, name }), cores: WORKERS }
  }
  return [
    await alone(startPassthrough(upstream, { cores })),
    await alone(startNginx(upstream, { cores })),
    await alone(startEmbedded({ config, cores })),
    await alone(startWithRedis({ config, cores })),
    ...(WORKERS > 1 ? [await several()] : []),
  ]
}

async function memory(): Promise<void> {
  const upstream = await startUpstream()
  configure(upstream)
  const starts = [
    () => startPassthrough(upstream),
    () => startNginx(upstream),
    () => startEmbedded({ config }),
    () => startWithRedis({ config }),
  ]
  for (const start of starts) {
    const line = await measureMemory(start)
    write({ kind: 'memory', ...line })
    console.error(`memory of ${line.target}`)
  }
  upstream.stop()
}

write(machine())
if (PARTS.includes('rounds')) await rounds()
if (PARTS.includes('yardstick'))
  await runYardstick({
    start: contestants,
    measureMs: YARDSTICK_MS,
    onLine(line) {
      write(line)
      console.error(`yardstick of ${line.target}, ${line.path}`)
    },
  })
if (PARTS.includes('memory')) await memory()
console.log(tablesOf(readRaw(file)))
process.exit()
