/**
 * Memory through an hour of load: both kinds of gateway at once, 64 connections each, as many requests as the machine allows.
 * Raw lines go to .run/bench/hour.jsonl, a table to standard output. Takes 10 GB of disk for the request logs. Linux only
 * (/proc).
 *
 *     BENCH_LOAD_MINUTES=60 node bench/hour.ts
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { disagreement } from './books.ts'
import { priceOf, writeConfig } from './config.ts'
import { startEmbedded, startWithRedis } from './gateway.ts'
import { hourTable } from './hour-report.ts'
import { machine } from './machine.ts'
import { failuresOf, finished, specOf } from './measure.ts'
import { LOAD, RECOVERY_MS } from './memory.ts'
import { residentBytes } from './processes.ts'
import { type HourLine, openRaw, readRaw } from './raw.ts'
import { runLoad, startUpstream } from './rig.ts'
import { RUN, type Target } from './targets.ts'

const MINUTES = Number(process.env.BENCH_LOAD_MINUTES ?? 60)
const MINUTE_MS = 60_000
/** The load ends a little after the last look. */
const LOOK_SPARE_MS = 500

/** Loads a server, and looks at its memory each minute. */
async function load(target: Target): Promise<HourLine> {
  const before = await target.books?.read()
  const idle = residentBytes(target.pids)
  const minutes: number[] = []
  const look = setInterval(() => minutes.push(residentBytes(target.pids)), MINUTE_MS)
  const done = await runLoad(specOf(target, LOAD, MINUTES * MINUTE_MS + LOOK_SPARE_MS))
  clearInterval(look)
  await delay(RECOVERY_MS)
  const recovered = residentBytes(target.pids)
  const problems = failuresOf(done)
  if (before !== undefined && target.books !== undefined && problems.length === 0) {
    const cost = done.requests * priceOf(LOAD.upstream)
    const difference = await disagreement(target.books, before, { requests: done.requests, cost })
    if (difference !== undefined) problems.push(difference)
  }
  return {
    kind: 'hour',
    target: target.name,
    requests: done.requests,
    idle,
    minutes: minutes.slice(0, MINUTES),
    recovered,
    ...(problems.length > 0 && { void: problems.join('; ') }),
  }
}

const file = join(RUN, 'hour.jsonl')
const write = openRaw(file)
write(machine())
const upstream = await startUpstream()
const config = join(RUN, 'config-hour')
writeConfig(config, upstream.port, { scenarios: [LOAD] })
const targets = [await startEmbedded({ config }), await startWithRedis({ config })]
try {
  const lines = await Promise.all(targets.map(load))
  const [sent, served] = [lines.reduce((sum, { requests }) => sum + requests, 0), await finished(upstream)]
  const difference = `the upstream answered ${served} of ${sent} requests`
  for (const line of lines) write({ ...line, ...(sent !== served && { void: line.void ?? difference }) })
} finally {
  await Promise.all(targets.map((target) => target.stop()))
  upstream.stop()
}
console.log(hourTable(readRaw(file)))
process.exit()
