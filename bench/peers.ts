/**
 * Sluice beside other gateways that install by name: LiteLLM, Portkey, Bifrost. They are installed once, into a cache folder outside
 * the checkout; one that cannot be installed or started is left out, with the reason. Raw lines go to .run/bench/peers.jsonl.
 * Never part of the tests. Linux only (/proc).
 *
 *     BENCH_ROUNDS=3 BENCH_MS=2000 node bench/peers.ts [litellm] [portkey] [bifrost]
 */
import { join } from 'node:path'
import { writeConfig } from './config.ts'
import { startEmbedded, startWithRedis } from './gateway.ts'
import { machine } from './machine.ts'
import { startBifrost } from './peers/bifrost.ts'
import { startLiteLLM } from './peers/litellm.ts'
import type { Peer } from './peers/peer.ts'
import { startPortkey } from './peers/portkey.ts'
import { openRaw, readRaw } from './raw.ts'
import { tablesOf } from './report.ts'
import { startUpstream } from './rig.ts'
import { runRounds } from './rounds.ts'
import { SCENARIOS } from './scenarios.ts'
import { direct, RUN, startPassthrough, type Target } from './targets.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const MEASURE_MS = Number(process.env.BENCH_MS ?? 2_000)

const PEERS: Record<string, Peer> = { litellm: startLiteLLM, portkey: startPortkey, bifrost: startBifrost }
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PEERS)

const scenarios = SCENARIOS.filter(({ quick }) => quick)
const upstream = await startUpstream()
const config = join(RUN, 'config-peers')
writeConfig(config, upstream.port, { scenarios })

const targets: Target[] = []
for (const name of wanted) {
  const start = PEERS[name]
  if (start === undefined) throw new Error(`there is no ${name}; there are ${Object.keys(PEERS).join(', ')}`)
  try {
    targets.push(await start(upstream, scenarios))
    console.error(`${name} serves`)
  } catch (error) {
    console.error(`${name} is left out: ${error instanceof Error ? error.message : error}`)
  }
}
targets.unshift(
  direct(upstream),
  await startPassthrough(upstream),
  await startEmbedded({ config }),
  await startWithRedis({ config }),
)

const file = join(RUN, 'peers.jsonl')
const write = openRaw(file)
write(machine())
await runRounds({
  upstream,
  targets,
  scenarios,
  rounds: ROUNDS,
  warmUpMs: Math.round(MEASURE_MS * 0.7),
  measureMs: MEASURE_MS,
  onMeasurement: (one) => write({ kind: 'measurement', ...one }),
})
await Promise.all(targets.map((target) => target.stop()))
console.log(tablesOf(readRaw(file)))
process.exit()
