/** Starts a server as a process, with its output in a log file, and waits until it is ready. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A program, and how to see that it is ready. */
export interface ProgramSpec {
  /** Also the name of its log file. */
  name: string
  command: string
  args: string[]
  /** Default: the folder of this process. */
  cwd?: string
  /** Added to the environment of this process. */
  env?: Record<string, string>
  /** Ports of 127.0.0.1. If another program has one, that program would answer in its place. */
  ports?: number[]
  /** Setting of `make up` that moves it to another port. */
  portSetting?: string
  /** A rejection means "not yet". */
  ready: () => Promise<boolean>
}

/** A child of this process. */
export interface ManagedProcess {
  readonly name: string
  /** The pid of the program; another one after a restart. */
  readonly pid: number
  /** Resolves when the current process has ended. */
  readonly exited: Promise<void>
  /** Sends a signal; does nothing if the process has ended. */
  kill(signal: NodeJS.Signals): void
  /** Starts the program again, after SIGKILL if it still runs. Resolves when it is ready. */
  restart(): Promise<void>
}

const READY_MS = 60_000
const LOOK_EVERY_MS = 50
const LOG_TAIL_LINES = 15

/** Starts a child. Resolves when it is ready; rejects with the end of its log if it ends before that. */
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

/** Stops a process: `signal` first, SIGKILL if it has not ended in time. */
export async function endProcess(
  process: ManagedProcess,
  signal: NodeJS.Signals,
  graceMs = 10_000,
): Promise<void> {
  process.kill(signal)
  // A suspended process handles its signal only after SIGCONT.
  process.kill('SIGCONT')
  const timer = setTimeout(() => process.kill('SIGKILL'), graceMs)
  await process.exited
  clearTimeout(timer)
}

const children = new Set<ChildProcess>()
// No child outlives this process, unless this process is killed.
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

/** Spawns without a shell. A detached process outlives this one. */
export function launch(
  { name, command, args, cwd, env }: ProgramSpec,
  logDir: string,
  detached: boolean,
): ChildProcess {
  mkdirSync(logDir, { recursive: true })
  const log = openSync(logFile(logDir, name), 'a')
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log],
    detached,
  })
  closeSync(log)
  return child
}

/** Waits until the program is ready. Rejects with the end of its log if it ends or takes too long. */
export async function untilReady(spec: ProgramSpec, logDir: string, alive: () => boolean): Promise<void> {
  const deadline = performance.now() + READY_MS
  for (;;) {
    const ready = await spec.ready().catch(() => false)
    if (!alive()) throw new Error(`${spec.name} ended during its start; ${logEnd(logDir, spec.name)}`)
    if (ready) return
    if (performance.now() > deadline)
      throw new Error(`${spec.name} is not ready after ${READY_MS / 1000} s; ${logEnd(logDir, spec.name)}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

const logFile = (logDir: string, name: string) => join(logDir, `${name}.log`)

/** The end of a program's log, for an error message. */
export function logEnd(logDir: string, name: string): string {
  const file = logFile(logDir, name)
  return `the end of ${file}:\n${readFileSync(file, 'utf8').split('\n').slice(-LOG_TAIL_LINES).join('\n')}`
}
