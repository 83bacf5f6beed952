/** What all peers share: where they are installed, and how they are started. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { endProcess, type ProgramSpec, startProcess } from '../../tools/cluster/process.ts'
import { treeOf } from '../processes.ts'
import type { Upstream } from '../rig.ts'
import { PATHS, type Scenario } from '../scenarios.ts'
import { RUN, type Target } from '../targets.ts'

/** Starts a peer that serves those of the scenarios that it can. Rejects if it cannot be installed or does not start. */
export type Peer = (upstream: Upstream, scenarios: readonly Scenario[]) => Promise<Target>

/** Folder of an installation: outside the checkout, kept between runs. */
export const folderOf = (peer: string) =>
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice', 'peers', peer)

const INSTALL_MS = 600_000

/** Runs the commands in the folder, once. */
export function install(folder: string, commands: readonly (readonly string[])[]): void {
  const complete = join(folder, '.complete')
  if (existsSync(complete)) return
  mkdirSync(folder, { recursive: true })
  for (const [program = '', ...args] of commands) {
    const { status, stderr, error } = spawnSync(program, args, {
      cwd: folder,
      encoding: 'utf8',
      timeout: INSTALL_MS,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    if (status === 0) continue
    const reason = error?.message ?? stderr.trim().split('\n').at(-1)
    throw new Error(`${program} ${args.join(' ')}: ${reason}`)
  }
  writeFileSync(complete, '')
}

interface PeerFacts {
  name: string
  port: number
  spec: ProgramSpec
  headers: Target['headers']
  model: (scenario: Scenario) => string
  serves: (scenario: Scenario) => boolean
}

export async function startPeer({ name, port, spec, headers, model, serves }: PeerFacts): Promise<Target> {
  const process = await startProcess(spec, join(RUN, `logs-${port}`))
  return {
    name,
    port,
    // Workers may be forked later than the port is open.
    get pids() {
      return treeOf(process.pid)
    },
    api: ({ client }) => client,
    path: ({ client }) => PATHS[client],
    headers,
    model,
    serves,
    webSocket: false,
    stop: () => endProcess(process, 'SIGTERM', 3_000),
  }
}

/** True if anything answers at the address. */
export async function answers(url: string): Promise<boolean> {
  return (await fetch(url)).status > 0
}
