/** A program of the checkout as a child process, for tests of its start and exit. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { freePort as unusedPort } from '../../tools/cluster/ports.ts'
import { basicEnv } from './basic-env.ts'
import { until } from './gateway.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 60_000

export interface Program {
  child: ChildProcess
  /** stdout and stderr so far. */
  output(): string
  /** Exit code, or the signal that ended it. */
  exited: Promise<number | string>
  /** Waits until the output matches and returns the match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
}

export interface ProgramOptions {
  /** The whole environment except PATH, HOME and where Node keeps what it has compiled. */
  env?: Record<string, string>
  cwd?: string
}

/** Starts a program as the leader of its own process group, as a shell at a terminal does. */
export function startProgram(
  command: string,
  args: string[],
  { env = {}, cwd = ROOT }: ProgramOptions = {},
): Program {
  const child = spawn(command, args, {
    cwd,
    env: { ...basicEnv(), HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  const take = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  // "close", not "exit": the output must be complete.
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  const printed = (pattern: RegExp) => {
    const look = () => {
      const found = pattern.exec(output)
      if (found === null && child.exitCode !== null)
        throw new Error(`ended with ${child.exitCode} before it printed ${pattern}:\n${output}`)
      return found
    }
    return until(look, `the output ${pattern}`, START_MS)
  }
  return { child, output: () => output, exited, printed }
}

/** Starts `sluice dev`, or another sluice command. */
export const startSluice = (env: Record<string, string>, args: string[] = ['dev']) =>
  startProgram(process.execPath, [`${ROOT}/cli/main.ts`, ...args], {
    env: { SLUICE_PORT: '0', SLUICE_ADMIN_PORT: '0', UPSTREAM_PORT: '0', SLUICE_HOST: '127.0.0.1', ...env },
  })

/** Kills a program that may still be running, with all its children. */
export async function endProgram(program: Program | undefined): Promise<void> {
  if (program?.child.pid === undefined) return
  if (groupRuns(program)) process.kill(-program.child.pid, 'SIGKILL')
  await program.exited
}

/** True while a process of the program's group is alive. */
export function groupRuns({ child }: Program): boolean {
  try {
    return child.pid !== undefined && process.kill(-child.pid, 0)
  } catch {
    return false
  }
}

/** A port that is in use until `free` is called. */
export async function takenPort(): Promise<{ port: number; free(): Promise<void> }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async free() {
      server.close()
      await once(server, 'close')
    },
  }
}

const given = new Set<number>()

/** A port that is unused at the moment, a different one for each call. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await unusedPort()
    if (given.has(port)) continue
    given.add(port)
    return port
  }
}
