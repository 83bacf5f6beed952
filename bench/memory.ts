/**
 * Memory over the life of a process: idle after its start, with a thousand and with five thousand open streams; and, in a
 * process of its own, under steady load, and after it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { median, specOf } from './measure.ts'
import { residentBytes } from './processes.ts'
import type { MemoryLine } from './raw.ts'
import { runLoad } from './rig.ts'
import type { Scenario } from './scenarios.ts'
import type { Target } from './targets.ts'

/** A stream that sends a token a second for twenty seconds. */
export const OPEN_STREAM: Scenario = {
  name: 'open streams',
  client: 'chat',
  upstream: 'chat',
  answer: 's20x1000',
  clients: 1,
  promptBytes: 300,
}
export const LOAD: Scenario = { ...OPEN_STREAM, name: 'steady load', answer: 'json', clients: 64 }

const STREAMS = [1_000, 5_000]
/** Streams that are opened in a second. */
const OPENED_PER_SECOND = 350
const IDLE_MS = 4_000
const SETTLE_MS = 2_000
/** bench/hour.ts loads longer. */
const LOAD_MS = 60_000
/** From the end of the load to the last look: two looks of the quiet proxy's own collection; see cli/engine.ts. */
export const RECOVERY_MS = 65_000
const LOOK_EVERY_MS = 500

async function watch(pids: readonly number[], ms: number): Promise<number[]> {
  const seen: number[] = []
  for (const end = performance.now() + ms; performance.now() < end; await delay(LOOK_EVERY_MS))
    seen.push(residentBytes(pids))
  return seen
}

const idleOf = async ({ pids }: Target) => median(await watch(pids, IDLE_MS))

/** `start` starts the target anew: streams and load are measured in fresh processes. */
export async function measureMemory(start: () => Promise<Target>): Promise<Omit<MemoryLine, 'kind'>> {
  const first = await start()
  const idle = await idleOf(first)
  const streams: MemoryLine['streams'] = []
  const problems: string[] = []
  for (const count of STREAMS)
    await withStreams(first, count).then(
      (bytes) => streams.push({ count, bytes }),
      (error: unknown) => problems.push(`${count} streams: ${error}`),
    )
  await first.stop()

  const second = await start()
  await idleOf(second)
  const load = runLoad(specOf(second, LOAD, LOAD_MS))
  const series = await watch(second.pids, LOAD_MS)
  const { failure } = await load
  const recovered = (await watch(second.pids, RECOVERY_MS)).at(-1) ?? Number.NaN
  await second.stop()
  if (failure !== '') problems.push(`steady load: ${failure}`)
  const end = series.slice(-Math.ceil(series.length / 4))
  const minutes = (end.length * LOOK_EVERY_MS) / 60_000
  return {
    target: first.name,
    idle,
    streams,
    loadSeconds: LOAD_MS / 1_000,
    plateau: median(end),
    growthPerMinute: ((end.at(-1) ?? 0) - (end[0] ?? 0)) / minutes,
    recovered,
    ...(problems.length > 0 && { void: problems.join('; ') }),
  }
}

/** Resident memory while so many streams are open. Every stream runs to its end. */
async function withStreams(target: Target, count: number): Promise<number> {
  const opened = Promise.withResolvers<void>()
  const load = runLoad(
    {
      ...specOf(target, OPEN_STREAM, 1_000),
      connections: count,
      each: 1,
      rampMs: Math.round((count / OPENED_PER_SECOND) * 1_000),
    },
    { onOpen: opened.resolve },
  )
  const finished = load.then(({ failure }) => {
    if (failure !== '') throw new Error(failure)
  })
  await Promise.race([opened.promise, finished])
  const seen = await watch(target.pids, SETTLE_MS)
  await finished
  return Math.max(...seen)
}
