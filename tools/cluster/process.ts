/** A server as a process of its own: its output in a log file, its readiness awaited, its pid the program's. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What is started, and how one sees that it serves. */
export interface ProgramSpec {
  /** Also the name of its log file. */
  name: string
  command: string
  args: string[]
  /** Beside the environment of this process. */
  env?: Record<string, string>
  /** Of 127.0.0.1: taken by somebody else, they would answer in its place. */
  ports?: number[]
  /** Setting of `make up` that moves it to another port. */
  portSetting?: string
  /** A rejection means "not yet". */
  ready: () => Promise<boolean>
}

/** A child of this process. */
export interface ManagedProcess {
  readonly name: string
  /** Of the program itself; another one after a restart. */
  readonly pid: number
  /** Resolves when the process of now has ended. */
  readonly exited: Promise<void>
  /** Sends a signal; does nothing when the process has ended. */
  kill(signal: NodeJS.Signals): void
  /** Starts the program again, after SIGKILL when it still runs. Resolves when it is ready. */
  restart(): Promise<void>
}

const READY_MS = 60_000
const LOOK_EVERY_MS = 50
const LOG_TAIL_LINES = 15

/** Starts a child. Resolves when it is ready; rejects with the end of its log when it ends instead. */
export async function startProcess(spec: ProgramSpec, logDir: string): Promise<ManagedProcess> {
  let child = await startChild(spec, logDir)
  return {
    name: spec.name,
    get pid() {
      return child.pid
    },
    get exited() {
      return child.exited
    },
    kill: (signal) => child.kill(signal),
    restart: async () => {
      child.kill('SIGKILL')
      await child.exited
      child = await startChild(spec, logDir)
    },
  }
}

/** Ends a process: `signal` first, SIGKILL when it has not ended in time. */
export async function endProcess(
  process: ManagedProcess,
  signal: NodeJS.Signals,
  graceMs = 10_000,
): Promise<void> {
  process.kill(signal)
  // One that was stopped takes its signal only when it goes on.
  process.kill('SIGCONT')
  const timer = setTimeout(() => process.kill('SIGKILL'), graceMs)
  await process.exited
  clearTimeout(timer)
}

const children = new Set<ChildProcess>()
// No child outlives this process, unless that one is killed.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

async function startChild(
  spec: ProgramSpec,
  logDir: string,
): Promise<{ pid: number; exited: Promise<void>; kill(signal: NodeJS.Signals): void }> {
  const child = launch(spec, logDir, false)
  await once(child, 'spawn')
  children.add(child)
  const exited = once(child, 'exit').then(() => {
    children.delete(child)
  })
  try {
    await untilReady(spec, logDir, () => children.has(child))
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  return { pid: child.pid ?? 0, exited, kill: (signal) => child.kill(signal) }
}

/** Spawns without a shell in between. A detached one goes on when this process ends. */
export function launch(
  { name, command, args, env }: ProgramSpec,
  logDir: string,
  detached: boolean,
): ChildProcess {
  mkdirSync(logDir, { recursive: true })
  const log = openSync(logFile(logDir, name), 'a')
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
    detached,
  })
  closeSync(log)
  return child
}

/** Waits until the program says so. Rejects with the end of its log when it ended, or took too long. */
export async function untilReady(spec: ProgramSpec, logDir: string, alive: () => boolean): Promise<void> {
  const deadline = performance.now() + READY_MS
  for (;;) {
    const ready = await spec.ready().catch(() => false)
    if (!alive()) throw new Error(`${spec.name} ended while it started; ${logEnd(logDir, spec.name)}`)
    if (ready) return
    if (performance.now() > deadline)
      throw new Error(`${spec.name} is not ready after ${READY_MS / 1000} s; ${logEnd(logDir, spec.name)}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

const logFile = (logDir: string, name: string) => join(logDir, `${name}.log`)

/** What a program said last, for an error message. */
export function logEnd(logDir: string, name: string): string {
  const file = logFile(logDir, name)
  return `the end of ${file}:\n${readFileSync(file, 'utf8').split('\n').slice(-LOG_TAIL_LINES).join('\n')}`
}
