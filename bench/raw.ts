/** The raw lines of a run: one JSON object each, from which all tables and plots are made. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'

const percentiles = z.object({
  count: z.number(),
  mean: z.number(),
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
})

const run = z.object({
  kind: z.literal('run'),
  at: z.string(),
  commit: z.string(),
  cpu: z.string(),
  cores: z.number(),
  memoryGB: z.number(),
  kernel: z.string(),
  node: z.string(),
  go: z.string(),
  redis: z.string(),
  nginx: z.string(),
  /** What other programs left of the machine: the load average before the run. */
  loadAverage: z.number(),
})
export type RunLine = z.output<typeof run>

const measurement = z.object({
  kind: z.literal('measurement'),
  round: z.number(),
  target: z.string(),
  scenario: z.string(),
  requests: z.number(),
  tokens: z.number(),
  units: z.number(),
  seconds: z.number(),
  cpuMicros: z.number(),
  redisMicros: z.number().optional(),
  loopDelayMs: z.number().optional(),
  latency: percentiles.nullable(),
  first: percentiles.nullable(),
  gap: percentiles.nullable(),
  void: z.string().optional(),
})
export type MeasurementLine = z.output<typeof measurement>

const memory = z.object({
  kind: z.literal('memory'),
  target: z.string(),
  /** Bytes. */
  idle: z.number(),
  streams: z.array(z.object({ count: z.number(), bytes: z.number() })),
  loadSeconds: z.number(),
  plateau: z.number(),
  growthPerMinute: z.number(),
  recovered: z.number(),
  void: z.string().optional(),
})
export type MemoryLine = z.output<typeof memory>

const rung = z.object({
  concurrency: z.number(),
  perSecond: z.number(),
  p99Micros: z.number(),
  failures: z.number(),
  stalled: z.number(),
})
export type Rung = z.output<typeof rung>

const yardstick = z.object({
  kind: z.literal('yardstick'),
  target: z.string(),
  /** Cores of the server under test. */
  cores: z.number(),
  /** `passthrough`: both sides speak the chat API. `translated`: a messages client on a chat upstream. */
  path: z.enum(['passthrough', 'translated']),
  addedP99Micros: z.number(),
  rungs: z.array(rung),
  addedFirstTokenMicros: z.number().optional(),
  addedGapP50Micros: z.number().optional(),
  addedGapP99Micros: z.number().optional(),
  streams: z.array(rung).optional(),
})
export type YardstickLine = z.output<typeof yardstick>

const growth = z.object({
  kind: z.literal('growth'),
  /** What grew. */
  of: z.enum(['keys', 'keys, each request another one', 'routes', 'channels of a route']),
  count: z.number(),
  round: z.number(),
  cpuMicros: z.number(),
  redisMicros: z.number(),
  p50Micros: z.number(),
  residentBytes: z.number(),
  void: z.string().optional(),
})
export type GrowthLine = z.output<typeof growth>

const swap = z.object({
  kind: z.literal('swap'),
  round: z.number(),
  routes: z.number(),
  /** Tables that were put in force while the second figure was taken. */
  swaps: z.number(),
  quietP99Micros: z.number(),
  swappingP99Micros: z.number(),
  void: z.string().optional(),
})
export type SwapLine = z.output<typeof swap>

const hour = z.object({
  kind: z.literal('hour'),
  target: z.string(),
  requests: z.number(),
  /** Resident bytes, as all figures here. */
  idle: z.number(),
  /** At the end of each minute of load. */
  minutes: z.array(z.number()),
  recovered: z.number(),
  void: z.string().optional(),
})
export type HourLine = z.output<typeof hour>

const line = z.discriminatedUnion('kind', [run, measurement, memory, hour, yardstick, growth, swap])
export type RawLine = z.output<typeof line>

export function readRaw(file: string): RawLine[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((text) => text !== '').map((text) => line.parse(JSON.parse(text)))
}

/** Begins a file anew; the returned function adds a line. */
export function openRaw(file: string): (added: RawLine) => void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  // Parsed, so that the file has no field that readers do not know.
  return (added) => appendFileSync(file, `${JSON.stringify(line.parse(added))}\n`)
}
