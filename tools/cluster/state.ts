/**
 * What `make up` has started, in cluster.json of its folder: the port of each server, kept for the next time, and the
 * processes with their start times, which distinguish them from later processes with the same pid.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { freePort } from './ports.ts'

const started = z.object({ pid: z.int().min(2), began: z.string() })
const schema = z.object({
  ports: z.record(z.string(), z.int()),
  processes: z.record(z.string(), started),
})

export class ClusterState {
  readonly dir: string
  readonly #state: z.output<typeof schema>

  /** Creates `dir` if it is missing. Throws if `make up` did not write the cluster.json there. */
  constructor(dir: string) {
    this.dir = dir
    mkdirSync(dir, { recursive: true })
    this.#state = existsSync(this.#file)
      ? schema.parse(JSON.parse(readFileSync(this.#file, 'utf8')))
      : { ports: {}, processes: {} }
  }

  get #file(): string {
    return join(this.dir, 'cluster.json')
  }

  /** The port that a server had before, else a free one. */
  async port(name: string): Promise<number> {
    const before = this.#state.ports[name]
    if (before !== undefined) return before
    const port = await freePort()
    // Another server may have this port and not have started yet.
    if (Object.values(this.#state.ports).includes(port)) return await this.port(name)
    this.setPort(name, port)
    return port
  }

  setPort(name: string, port: number): void {
    this.#state.ports[name] = port
    this.#save()
  }

  /** Names and pids of the running processes. */
  running(): { name: string; pid: number }[] {
    return Object.entries(this.#state.processes)
      .filter(([, { pid, began }]) => beginning(pid) === began)
      .map(([name, { pid }]) => ({ name, pid }))
  }

  pidOf(name: string): number | undefined {
    return this.running().find((process) => process.name === name)?.pid
  }

  add(name: string, pid: number): void {
    const began = beginning(pid)
    if (began === undefined) return
    this.#state.processes[name] = { pid, began }
    this.#save()
  }

  remove(name: string): void {
    delete this.#state.processes[name]
    this.#save()
  }

  #save(): void {
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#state, null, 2))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

/** When a process began, in the system's units; undefined if it has ended, even as a zombie. */
export function beginning(pid: number): string | undefined {
  if (process.platform !== 'linux') return beginningByPs(pid)
  try {
    // proc_pid_stat(5): after the name in brackets, which may contain anything, state is field 3, starttime field 22.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

function beginningByPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-p', String(pid), '-o', 'stat=,lstart='], { encoding: 'utf8' }).trim()
    return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '')
  } catch {
    return undefined
  }
}
