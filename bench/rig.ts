/**
 * The upstream and the load generator of the benchmarks: `bench/rig`, a Go program that is built on first use and again when
 * its sources change.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'

const SOURCES = join(import.meta.dirname, 'rig')
const BUILDS = join(import.meta.dirname, '../.run/bench')

const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** Path of the program. Throws if Go, which builds it, is missing. */
export function buildRig(): string {
  const files = readdirSync(SOURCES).filter((name) => /\.(go|mod)$/.test(name) && !name.endsWith('_test.go'))
  const text = files.sort().map((name) => readFileSync(join(SOURCES, name), 'utf8'))
  const built = join(BUILDS, `rig-${hash('sha256', text.join('\0')).slice(0, 12)}`)
  if (existsSync(built)) return built
  if (spawnSync('go', ['version']).status !== 0)
    throw new Error(
      'Go builds the load generator of the benchmarks, and is missing (https://go.dev/doc/install)',
    )
  mkdirSync(BUILDS, { recursive: true })
  const unfinished = `${built}.${process.pid}`
  const { status, stderr } = spawnSync('go', ['build', '-trimpath', '-o', unfinished, '.'], {
    cwd: SOURCES,
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
  })
  if (status !== 0) throw new Error(`go build failed:\n${stderr}`)
  renameSync(unfinished, built)
  return built
}

/** Cores that only the rig runs on, as taskset names them. */
export interface Pin {
  cores?: string | undefined
}

function start(command: 'upstream' | 'load', { cores }: Pin): ChildProcess & { pid: number } {
  const args = cores === undefined ? [buildRig(), command] : ['taskset', '-c', cores, buildRig(), command]
  const child = spawn(args[0] ?? '', args.slice(1), {
    stdio: ['pipe', 'pipe', 'inherit'],
    // One thread less than there are cores: more would take time from the gateway only to look for work.
    env: { ...process.env, GOMAXPROCS: String(Math.max(1, availableParallelism() >> 1)), GOGC: '400' },
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  if (child.pid === undefined) throw new Error('the rig did not start')
  return Object.assign(child, { pid: child.pid })
}

const counts = z.object({
  begun: z.number(),
  finished: z.number(),
  broken: z.number(),
  events: z.number(),
  bytesIn: z.number(),
  bytesOut: z.number(),
})
export type UpstreamCounts = z.output<typeof counts>

export interface Upstream {
  pid: number
  port: number
  /** What it has answered since its start, by path. */
  log(): Promise<Record<string, UpstreamCounts>>
  stop(): void
}

export async function startUpstream(pin: Pin = {}): Promise<Upstream> {
  const child = start('upstream', pin)
  const line = await firstLine(child)
  const port = Number(line)
  return {
    pid: child.pid,
    port,
    log: async () =>
      z.record(z.string(), counts).parse(await (await fetch(`http://127.0.0.1:${port}/log`)).json()),
    stop: () => void child.kill('SIGKILL'),
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the rig has no output')
  const lines = createInterface({ input: child.stdout })
  const exit = once(child, 'exit').then(([code]) => {
    throw new Error(`the rig ended with exit code ${code}`)
  })
  exit.catch(() => undefined)
  const [line] = await Promise.race([once(lines, 'line'), exit])
  return String(line)
}

/** See Spec in bench/rig/spec.go. */
export interface LoadSpec {
  address: string
  path: string
  headers?: Record<string, string>
  keys?: { prefix: string; count: number; spread?: boolean }
  bodies: string[]
  connections: number
  rate?: number
  durationMs: number
  each?: number
  rampMs?: number
  webSocket?: boolean
  expect: { text?: string; tokens?: number; token?: string; last?: string }
  stallMs?: number
}

const percentiles = z.object({
  count: z.number(),
  mean: z.number(),
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
})
/** In microseconds. */
export type Percentiles = z.output<typeof percentiles>

const result = z.object({
  requests: z.number(),
  tokens: z.number(),
  seconds: z.number(),
  failures: z.record(z.string(), z.number()),
  failure: z.string(),
  latency: percentiles.nullable(),
  first: percentiles.nullable(),
  gap: percentiles.nullable(),
  stalled: z.number(),
})
export type LoadResult = z.output<typeof result>

interface LoadOptions extends Pin {
  /** Called when every connection has its first token. */
  onOpen?: () => void
}

/** Runs one load to its end. Rejects if the rig fails; failures of requests are in the result. */
export async function runLoad(spec: LoadSpec, options: LoadOptions = {}): Promise<LoadResult> {
  const child = start('load', options)
  if (child.stdout === null || child.stdin === null) throw new Error('the rig has no pipes')
  const exited = once(child, 'exit')
  child.stdin.end(JSON.stringify({ ...spec, announce: options.onOpen !== undefined }))
  let last = ''
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === '{"open":true}') options.onOpen?.()
    else last = line
  }
  const [code] = await exited
  if (code !== 0) throw new Error(`the load generator ended with exit code ${code}`)
  return result.parse(JSON.parse(last))
}
