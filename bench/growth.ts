/**
 * How the cost of a request depends on what the gateway knows: keys, routes, channels of a route; and what a table that is put
 * in force under load does to latency. Stores of all sizes, each with its proxy, are measured in interleaved rounds. Raw lines
 * go to .run/bench/growth.jsonl. Linux only (/proc).
 *
 *     BENCH_KEYS=1000000 BENCH_ROUNDS=3 BENCH_MS=1500 node bench/growth.ts
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startProxy } from './gateway.ts'
import { compiled, openGrown, routeModel, type Size } from './grown-store.ts'
import { growthTable } from './growth-report.ts'
import { machine } from './machine.ts'
import { measure } from './measure.ts'
import { residentBytes } from './processes.ts'
import { type GrowthLine, openRaw, readRaw } from './raw.ts'
import { type LoadSpec, startUpstream, type Upstream } from './rig.ts'
import { requestBody, type Scenario } from './scenarios.ts'
import { RUN } from './targets.ts'

const KEYS = Number(process.env.BENCH_KEYS ?? 1_000_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const MEASURE_MS = Number(process.env.BENCH_MS ?? 1_500)

const SCENARIO: Scenario = {
  name: 'growth',
  client: 'chat',
  upstream: 'chat',
  answer: 'json',
  clients: 16,
  promptBytes: 300,
}

const bodies = (routes: number) =>
  Array.from({ length: routes }, (_, n) => requestBody('chat', SCENARIO, routeModel(n)))

interface Series {
  of: GrowthLine['of']
  counts: number[]
  size: (count: number) => Size
  load: (count: number) => Partial<LoadSpec>
}

const keys = [1, 100, 10_000, 100_000, 1_000_000].filter((count) => count <= KEYS)
const KEY_PREFIX = 'sk-bench-'
/** Requests with the first keys only: those that a proxy has read stay in its memory. */
const HOT = 16
const SERIES: Series[] = [
  {
    of: 'keys',
    counts: keys,
    size: (count) => ({ keys: count, routes: 1, channels: 1 }),
    load: (count) => ({ keys: { prefix: KEY_PREFIX, count: Math.min(HOT, count) }, bodies: bodies(1) }),
  },
  {
    of: 'keys, each request another one',
    counts: keys,
    size: (count) => ({ keys: count, routes: 1, channels: 1 }),
    load: (count) => ({ keys: { prefix: KEY_PREFIX, count, spread: true }, bodies: bodies(1) }),
  },
  {
    of: 'routes',
    counts: [1, 10, 100, 1_000, 10_000],
    size: (count) => ({ keys: HOT, routes: count, channels: 1 }),
    load: (count) => ({ bodies: bodies(count) }),
  },
  {
    of: 'channels of a route',
    counts: [1, 10, 100],
    size: (count) => ({ keys: HOT, routes: 1, channels: count }),
    load: () => ({ bodies: bodies(1) }),
  },
]

const file = join(RUN, 'growth.jsonl')
const write = openRaw(file)

/** Stores of the same sizes serve more than one series. */
const groups = Map.groupBy(SERIES, ({ size, counts }) => JSON.stringify(counts.map(size)))

async function run(series: readonly Series[], upstream: Upstream): Promise<void> {
  const [first] = series
  if (first === undefined) return
  const grown = []
  for (const count of first.counts) {
    const size = first.size(count)
    const store = await openGrown(size, upstream.port)
    grown.push({ count, store, target: await startProxy(store, { keys: Math.min(HOT, size.keys) }) })
    console.error(`${first.of}: ${count} written`)
  }
  for (let round = 0; round <= ROUNDS; round++)
    for (const { of, load } of series)
      for (const { count, target } of round % 2 === 0 ? grown : grown.toReversed()) {
        const done = await measure(target, SCENARIO, {
          upstream,
          durationMs: MEASURE_MS,
          change: load(count),
        })
        if (round === 0) continue
        write({
          kind: 'growth',
          of,
          count,
          round,
          cpuMicros: done.cpuMicros,
          redisMicros: done.redisMicros ?? 0,
          p50Micros: done.latency?.p50 ?? 0,
          residentBytes: residentBytes(target.pids),
          ...(done.void !== undefined && { void: done.void }),
        })
      }
  for (const { target, store } of grown) {
    await target.stop()
    await store.close()
  }
}

const ROUTES_OF_SWAP = 1_000
const SWAP_EVERY_MS = 1_000
const SWAP_MS = 4_000
const RATE = 200

/** Latency at a fixed rate while nothing changes, and while a table of a thousand routes is replaced again and again. */
async function swap(upstream: Upstream): Promise<void> {
  const size = { keys: HOT, routes: ROUTES_OF_SWAP, channels: 1 }
  const store = await openGrown(size, upstream.port)
  const target = await startProxy(store, { keys: HOT })
  const tables = ['json/v1', 'json/v1/'].map(
    (path) => compiled(size, `http://127.0.0.1:${upstream.port}/${path}`).table,
  )
  const { config } = store.store
  const { epoch } = await config.position()
  let { generation } = store
  const at = () =>
    measure(target, SCENARIO, {
      upstream,
      durationMs: SWAP_MS,
      change: { connections: 64, rate: RATE, bodies: bodies(ROUTES_OF_SWAP) },
    })
  const none = { put: new Map<never, never>(), remove: [] }
  for (let round = 0; round <= ROUNDS; round++) {
    const quiet = await at()
    let swapping = true
    const loaded = at().finally(() => {
      swapping = false
    })
    let swaps = 0
    while (swapping) {
      const table = tables[swaps % 2]
      if (table === undefined) break
      await config.publish({ epoch, generation: ++generation, table, keys: none, accounts: none })
      swaps++
      await delay(SWAP_EVERY_MS)
    }
    const busy = await loaded
    const problem = quiet.void ?? busy.void
    if (round > 0)
      write({
        kind: 'swap',
        round,
        routes: ROUTES_OF_SWAP,
        swaps,
        quietP99Micros: quiet.latency?.p99 ?? 0,
        swappingP99Micros: busy.latency?.p99 ?? 0,
        ...(problem !== undefined && { void: problem }),
      })
  }
  await target.stop()
  await store.close()
}

write(machine())
const upstream = await startUpstream()
for (const group of groups.values()) await run(group, upstream)
await swap(upstream)
console.log(growthTable(readRaw(file)))
process.exit()
