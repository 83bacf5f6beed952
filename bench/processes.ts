/** The processes under test: started, measured from outside, and ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { ENDPOINTS } from '../contract/endpoints.ts'
import type { Target } from './load.ts'

/** The checkout that this file belongs to. */
export const ROOT = join(import.meta.dirname, '..')
export const BENCH_KEY = 'sk-bench-0123456789abcdef'
const logs = join(ROOT, '.run')
const children: ChildProcess[] = []
process.on('exit', stopAll)

/** Starts a script that prints its port as first line. */
export async function startScript(script: string, ...args: string[]): Promise<{ pid: number; port: number }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => resolve(Number(line.toString())))
    child.once('exit', (code) => reject(new Error(`${script} ended with exit code ${code}`)))
  })
  return { pid: pidOf(child), port }
}

/**
 * Starts the gateway of a checkout on the bench/config that lies there, with its request log going nowhere, and waits
 * until it serves. `preload`: a module that it loads first.
 */
export async function startGateway(
  upstreamPort: number,
  checkout: string = ROOT,
  { preload, env }: { preload?: string; env?: Record<string, string> } = {},
): Promise<{ pid: number; port: number }> {
  const port = await freePort()
  mkdirSync(logs, { recursive: true })
  const log = join(logs, `bench-gateway-${port}.log`)
  const loaded = preload === undefined ? [] : ['--import', preload]
  const child = spawn(process.execPath, [...loaded, join(checkout, 'cli/main.ts'), 'dev'], {
    cwd: checkout,
    stdio: ['ignore', 'ignore', openSync(log, 'w')],
    env: {
      PATH: process.env.PATH,
      SLUICE_HOST: '127.0.0.1',
      SLUICE_PORT: String(port),
      SLUICE_ADMIN_PORT: '0',
      SLUICE_CONFIG_DIR: join(checkout, 'bench/config'),
      BENCH_UPSTREAM_PORT: String(upstreamPort),
      BENCH_KEY: BENCH_KEY,
      ...env,
    },
  })
  children.push(child)
  const deadline = Date.now() + 20_000
  while (!(await serves(port))) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the gateway does not serve; its log:\n${readFileSync(log, 'utf8').slice(-2000)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return { pid: pidOf(child), port }
}

/** A gateway as the load generator calls it. */
export function gatewayTarget(name: string, { pid, port }: { pid: number; port: number }): Target {
  return {
    name,
    origin: `http://127.0.0.1:${port}`,
    pid,
    path: ({ client }) => ENDPOINTS[client].path,
    headers: { authorization: `Bearer ${BENCH_KEY}` },
    converts: true,
  }
}

export function stopAll(): void {
  for (const child of children.splice(0)) child.kill('SIGKILL')
}

const CLOCK_TICKS_PER_SECOND = 100

/** User plus system CPU of a process, all threads, in microseconds; from proc(5), in steps of 10 ms. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may contain spaces, so fields are counted from behind it: utime is the 12th, stime the 13th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / CLOCK_TICKS_PER_SECOND
}

async function serves(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/models/bench-paced`, {
      headers: { authorization: `Bearer ${BENCH_KEY}` },
    })
    await answer.text()
    return answer.ok
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('no free port')
  return address.port
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the process did not start')
  return child.pid
}
