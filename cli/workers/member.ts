/** One worker as the first process sees it: a process that is forked again when it ends, with the same number and name. */
import cluster, { type Worker } from 'node:cluster'
import { AdminError } from '../../admin/server.ts'
import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { type Assignment, type Order, type Report, report } from './protocol.ts'
import { wholeLines } from './whole-lines.ts'

/** A worker that ends soon again and again is started less and less often. */
const RESTART: Backoff = { firstMs: 100, lastMs: 30_000 }
/** After this long a worker counts as healthy: the next end is a first one. */
const HEALTHY_MS = 60_000

export interface MemberEvents {
  listening(port: number): void
  /** It could not start: what to print, and the exit code. */
  failed(text: string, code: number): void
  /** Its process ended unasked; it is started again after `restartMs`. */
  ended(code: number | null, signal: string | null, restartMs: number): void
  /** Lines of its log. */
  logged(lines: string): void
}

interface Asked {
  resolve(value: unknown): void
  reject(error: AdminError): void
}

export class Member {
  readonly assignment: Assignment
  readonly #events: MemberEvents
  readonly #asked = new Map<number, Asked>()
  #worker: Worker | undefined
  #listening = false
  #lastId = 0
  #failures = 0
  #startedAt = 0
  #restart: NodeJS.Timeout | undefined
  #gone: (() => void) | undefined

  constructor(assignment: Assignment, events: MemberEvents) {
    this.assignment = assignment
    this.#events = events
    this.#fork()
  }

  /** False while its process starts or waits to be started again. */
  get listens(): boolean {
    return this.#listening
  }

  /** The answer of a page. Rejects with AdminError: the page's own, or one of status 503 when the worker does not answer. */
  ask(path: string, query: string, timeoutMs: number): Promise<unknown> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => end(() => reject(silent(this.assignment))), timeoutMs)
      const end = (settle: () => void) => {
        clearTimeout(timer)
        this.#asked.delete(id)
        settle()
      }
      this.#asked.set(id, {
        resolve: (value) => end(() => resolve(value)),
        reject: (error) => end(() => reject(error)),
      })
      if (!this.#send({ type: 'ask', id, path, query })) this.#asked.get(id)?.reject(silent(this.assignment))
    })
  }

  /** Lets it drain, and kills it after `killMs`. Resolves when its process has ended; it is not started again. */
  async stop(graceMs: number, killMs: number): Promise<void> {
    clearTimeout(this.#restart)
    const worker = this.#worker
    const gone = new Promise<void>((resolve) => {
      this.#gone = resolve
    })
    if (worker === undefined) return
    this.#send({ type: 'stop', graceMs })
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), killMs)
    await gone
    clearTimeout(timer)
  }

  /** Ends its process at once, for a first process that ends itself. */
  kill(): void {
    this.#worker?.process.kill('SIGKILL')
  }

  #fork(): void {
    this.#startedAt = performance.now()
    const worker = cluster.fork({
      WORKER_ASSIGNMENT: JSON.stringify(this.assignment),
      SLUICE_WORKERS: String(this.assignment.workers),
      // The first process makes text of it, if that is wanted.
      SLUICE_LOG_FORMAT: 'json',
    })
    this.#worker = worker
    worker.process.stdout?.on(
      'data',
      wholeLines((lines) => this.#events.logged(lines)),
    )
    worker.on('message', (message: unknown) => this.#take(report.parse(message)))
    worker.on('error', () => undefined)
    // "close", not "exit": its last lines must have arrived.
    worker.process.once('close', (code: number | null, signal: string | null) => this.#ended(code, signal))
  }

  #take(message: Report): void {
    switch (message.type) {
      case 'listening':
        this.#listening = true
        this.#events.listening(message.port)
        break
      case 'failed':
        this.#events.failed(message.text, message.code)
        break
      case 'answer':
        this.#asked.get(message.id)?.resolve(message.value)
        break
      case 'refusal':
        this.#asked.get(message.id)?.reject(new AdminError(message.status, message.message))
    }
  }

  #ended(code: number | null, signal: string | null): void {
    this.#worker = undefined
    this.#listening = false
    for (const asked of [...this.#asked.values()]) asked.reject(silent(this.assignment))
    if (this.#gone !== undefined) {
      this.#gone()
      return
    }
    if (performance.now() - this.#startedAt > HEALTHY_MS) this.#failures = 0
    const restartMs = backoffMs(this.#failures++, RESTART)
    this.#restart = setTimeout(() => this.#fork(), restartMs)
    this.#events.ended(code, signal, restartMs)
  }

  /** False when there is no process that could take it. */
  #send(message: Order): boolean {
    if (this.#worker?.isConnected() !== true) return false
    this.#worker.send(message, () => undefined)
    return true
  }
}

const silent = ({ worker }: Assignment) => new AdminError(503, `worker ${worker} does not answer`)
