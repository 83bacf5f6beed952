/** The life of one container of a pod: its process, its probes, its restarts and its end. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { NotYet } from './environment.ts'
import type { Container } from './pod-spec.ts'
import { act, probe, type Target } from './probes.ts'
import { execInSandbox, type SandboxSpec, startSandbox } from './sandbox.ts'

const RETRY_MS = 250
/** A node's: the first restart is immediate, then ten seconds, doubling; forgotten after ten good minutes. */
const BACK_OFF_MS = { first: 10_000, most: 300_000, forget: 600_000 }
const EXEC_MS = 600_000

export interface ContainerOptions {
  container: Container
  podIP: string
  restartPolicy: string
  graceMs: number
  /** Called before each start. Throws NotYet if something that the container needs is missing. */
  sandbox(): SandboxSpec
  output(chunk: Buffer): void
  /** Something in `status` is different. */
  changed(): void
}

type State =
  | { waiting: { reason: string; message?: string } }
  | { running: { startedAt: string } }
  | { terminated: { exitCode: number; reason: string; startedAt: string; finishedAt: string } }

const running = new Set<number>()
// No process of a pod outlives this one, unless this one is killed.
process.on('exit', () => {
  for (const pid of running) killGroup(pid, 'SIGKILL')
})

export class ContainerRun {
  readonly name: string
  state: State = { waiting: { reason: 'ContainerCreating' } }
  lastState: Partial<Extract<State, { terminated: unknown }>> = {}
  restartCount = 0
  started = false
  ready = false
  /** Of the process that runs. */
  pid: number | undefined
  /** Resolves when the container will not run again. */
  readonly done: Promise<void>
  readonly #options: ContainerOptions
  readonly #stop = new AbortController()
  #child: ChildProcess | undefined
  #spec: SandboxSpec | undefined
  #ending: Promise<void> | undefined

  constructor(options: ContainerOptions) {
    this.#options = options
    this.name = options.container.name
    this.done = this.#run()
  }

  /** Exit code of the last process; undefined while it runs, or if it never ran. */
  get exitCode(): number | undefined {
    return 'terminated' in this.state ? this.state.terminated.exitCode : undefined
  }

  /** Runs preStop, then ends the process: SIGTERM, and SIGKILL after the grace period, which includes preStop. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort()
    if (this.#child !== undefined) await this.#end(graceMs)
    await this.done
  }

  /** SIGKILL, as the machine does if memory runs out. The container is restarted as its policy says. */
  kill(): void {
    if (this.pid !== undefined) killGroup(this.pid, 'SIGKILL')
  }

  async #run(): Promise<void> {
    let backOffMs = 0
    for (;;) {
      const spec = await this.#prepared()
      if (spec === undefined) return
      const began = performance.now()
      const exitCode = await this.#once(spec)
      const { restartPolicy } = this.#options
      const again = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0)
      if (!again || this.#stop.signal.aborted) return
      if ('terminated' in this.state) this.lastState = this.state
      this.restartCount++
      if (performance.now() - began > BACK_OFF_MS.forget) backOffMs = 0
      if (backOffMs > 0) {
        this.#become({ waiting: { reason: 'CrashLoopBackOff', message: `back-off ${backOffMs / 1_000}s` } })
        await pause(backOffMs, undefined, { signal: this.#stop.signal }).catch(() => undefined)
      }
      backOffMs = Math.min(BACK_OFF_MS.most, backOffMs === 0 ? BACK_OFF_MS.first : backOffMs * 2)
    }
  }

  async #prepared(): Promise<SandboxSpec | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return this.#options.sandbox()
      } catch (error) {
        if (!(error instanceof NotYet)) throw error
        this.#become({ waiting: { reason: 'CreateContainerConfigError', message: error.message } })
        await pause(RETRY_MS)
      }
    }
    return undefined
  }

  async #once(spec: SandboxSpec): Promise<number> {
    const child = startSandbox(spec)
    const startedAt = new Date().toISOString()
    const { pid } = child
    if (pid === undefined) throw new Error('the sandbox did not start')
    running.add(pid)
    child.stdout?.on('data', this.#options.output)
    child.stderr?.on('data', this.#options.output)
    const closed = once(child, 'close')
    // As on a node, nothing outlives the first process. Without this, what it started would hold its output open.
    child.once('exit', () => killGroup(pid, 'SIGKILL'))
    this.#child = child
    this.#spec = spec
    this.pid = pid
    this.#become({ running: { startedAt } })
    const probes = new AbortController()
    const signal = AbortSignal.any([probes.signal, this.#stop.signal])
    const { container, graceMs } = this.#options
    void probe(
      this.#target(),
      {
        started: () => this.#found(() => (this.started = true)),
        ready: (ready) => this.#found(() => (this.ready = ready)),
        unhealthy: (reason) => {
          this.#options.output(Buffer.from(`[kubelet] container ${container.name}: ${reason}\n`))
          void this.#end(graceMs)
        },
      },
      signal,
    )
    const [code, killedBy]: unknown[] = await closed
    probes.abort()
    running.delete(pid)
    this.#child = undefined
    this.#ending = undefined
    this.pid = undefined
    this.started = false
    this.ready = false
    const exitCode = typeof code === 'number' ? code : killedBy === 'SIGKILL' ? 137 : 143
    const reason = exitCode === 0 ? 'Completed' : 'Error'
    this.#become({ terminated: { exitCode, reason, startedAt, finishedAt: new Date().toISOString() } })
    return exitCode
  }

  /** One end at a time: a second caller waits for the first. */
  #end(graceMs: number): Promise<void> {
    this.#ending ??= this.#terminate(graceMs)
    return this.#ending
  }

  async #terminate(graceMs: number): Promise<void> {
    const { pid } = this
    const child = this.#child
    if (pid === undefined || child === undefined) return
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const deadline = performance.now() + graceMs
    const { preStop } = this.#options.container.lifecycle
    if (preStop !== undefined) await Promise.race([act(preStop, this.#target(), graceMs), exited])
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    // A node leaves two seconds at least.
    const left = Math.max(2_000, deadline - performance.now())
    const timer = setTimeout(() => killGroup(pid, 'SIGKILL'), left)
    await exited
    clearTimeout(timer)
  }

  #target(): Target {
    const { container, podIP } = this.#options
    return {
      container,
      podIP,
      exec: async (command, timeoutMs) => {
        const [pid, spec] = [this.pid, this.#spec]
        if (pid === undefined || spec === undefined) return undefined
        return execInSandbox(pid, spec, command, Math.min(timeoutMs, EXEC_MS))
      },
    }
  }

  #found(change: () => void): void {
    const before = [this.started, this.ready].join()
    change()
    if (before !== [this.started, this.ready].join()) this.#options.changed()
  }

  #become(state: State): void {
    this.state = state
    this.#options.changed()
  }
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}
