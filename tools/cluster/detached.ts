/** Processes that outlive the program that started them, recorded in a ClusterState. */
import { once } from 'node:events'
import { join } from 'node:path'
import { isFree } from './ports.ts'
import { launch, logEnd, type ProgramSpec, untilReady } from './process.ts'
import { beginning, type ClusterState } from './state.ts'

const GRACE_MS = 10_000
const LOOK_EVERY_MS = 20

const logFolder = (state: ClusterState) => join(state.dir, 'log')

/** Starts the program unless it runs. Resolves when it is ready. */
export async function ensureRunning(state: ClusterState, spec: ProgramSpec): Promise<void> {
  const pid = state.pidOf(spec.name) ?? (await startDetached(state, spec))
  await untilReady(spec, logFolder(state), () => beginning(pid) !== undefined)
}

/** Throws with the end of its log if one of these has ended. */
export function mustRun(state: ClusterState, names: string[]): void {
  for (const name of names)
    if (state.pidOf(name) === undefined)
      throw new Error(`${name} has ended; ${logEnd(logFolder(state), name)}`)
}

async function startDetached(state: ClusterState, spec: ProgramSpec): Promise<number> {
  await mustBeFree(spec)
  const child = launch(spec, logFolder(state), true)
  if (child.pid === undefined) {
    const [error]: unknown[] = await once(child, 'error')
    throw error
  }
  // At once. Without this, a process that is started now is forgotten if this one ends.
  state.add(spec.name, child.pid)
  child.unref()
  return child.pid
}

async function mustBeFree({ name, ports = [], portSetting }: ProgramSpec): Promise<void> {
  for (const port of ports) {
    if (await isFree(port)) continue
    const remedy =
      portSetting === undefined ? 'end what listens there' : `choose another one with ${portSetting}`
    throw new Error(`${name} cannot start: port ${port} of 127.0.0.1 is taken; ${remedy}`)
  }
}

/** Stops the named processes that run, all together: SIGTERM, then SIGKILL. Resolves when they have ended. */
export async function endAll(state: ClusterState, names: string[]): Promise<void> {
  await Promise.all(names.map((name) => end(state, name)))
}

async function end(state: ClusterState, name: string): Promise<void> {
  const pid = state.pidOf(name)
  if (pid === undefined) return state.remove(name)
  const began = beginning(pid)
  send(pid, 'SIGTERM')
  // A suspended process handles SIGTERM only after SIGCONT.
  send(pid, 'SIGCONT')
  const deadline = performance.now() + GRACE_MS
  let killed = false
  while (beginning(pid) === began) {
    if (!killed && performance.now() > deadline) {
      send(pid, 'SIGKILL')
      killed = true
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  state.remove(name)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended in the meantime.
  }
}
