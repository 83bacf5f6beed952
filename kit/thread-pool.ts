/**
 * Threads for work that would hold up the event loop. They start with the first task, and end when there is none for a
 * while.
 */
import { Worker } from 'node:worker_threads'

interface ThreadPoolOptions {
  /** The module that each thread runs: it answers each message with one message. */
  module: URL
  /** The most threads. */
  size: number
  /** How long a thread waits for a task before it ends and gives its memory back. */
  idleMs: number
  /** Bound on the memory of one thread. */
  heapMiB: number
}

interface Task<Question, Answer> {
  question: Question
  signal: Pick<AbortSignal, 'aborted' | 'reason'>
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** A thread ended during its task. */
export class ThreadEnded extends Error {
  override name = 'ThreadEnded'

  /** Its heap reached the bound. */
  get outOfMemory(): boolean {
    return (
      this.cause instanceof Error && 'code' in this.cause && this.cause.code === 'ERR_WORKER_OUT_OF_MEMORY'
    )
  }
}

/** Questions are answered in the order of their arrival, one at a time by each thread. */
export class ThreadPool<Question, Answer> {
  readonly #options: ThreadPoolOptions
  readonly #waiting: Task<Question, Answer>[] = []
  readonly #threads = new Set<Thread<Question, Answer>>()

  constructor(options: ThreadPoolOptions) {
    this.#options = options
  }

  /** Rejects with ThreadEnded, or with the reason of `signal` if it aborts before a thread takes the question. */
  ask(question: Question, signal: Pick<AbortSignal, 'aborted' | 'reason'>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, signal, resolve, reject })
      const free = [...this.#threads].find(({ isFree }) => isFree)
      if (free !== undefined) this.#next(free)
      else if (this.#threads.size < this.#options.size) this.#next(this.#start())
    })
  }

  /** Threads that live. */
  get size(): number {
    return this.#threads.size
  }

  /** Ends all threads; questions without an answer are rejected. */
  stop(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new ThreadEnded('the threads were stopped'))
    for (const thread of this.#threads) thread.end()
  }

  #start(): Thread<Question, Answer> {
    const thread = new Thread<Question, Answer>(this.#options, {
      free: () => this.#next(thread),
      ended: () => {
        this.#threads.delete(thread)
        if (this.#waiting.length > 0 && this.#threads.size < this.#options.size) this.#next(this.#start())
      },
    })
    this.#threads.add(thread)
    return thread
  }

  #next(thread: Thread<Question, Answer>): void {
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      if (!task.signal.aborted) {
        thread.take(task)
        return
      }
      task.reject(task.signal.reason)
    }
  }
}

class Thread<Question, Answer> {
  readonly #worker: Worker
  readonly #idleMs: number
  #task: Task<Question, Answer> | undefined
  #idle: NodeJS.Timeout | undefined
  #over = false

  constructor(options: ThreadPoolOptions, on: { free: () => void; ended: () => void }) {
    this.#idleMs = options.idleMs
    const resourceLimits = { maxOldGenerationSizeMb: options.heapMiB }
    this.#worker = new Worker(options.module, { resourceLimits })
    // A process that ends does not wait for idle threads.
    this.#worker.unref()
    this.#worker.on('message', (answer: Answer) => {
      this.#task?.resolve(answer)
      this.#task = undefined
      this.#idle = setTimeout(() => this.end(), this.#idleMs).unref()
      on.free()
    })
    let cause: unknown
    this.#worker.on('error', (error) => {
      cause = error
    })
    this.#worker.on('exit', () => {
      this.#over = true
      clearTimeout(this.#idle)
      this.#task?.reject(new ThreadEnded('a thread ended during its task', { cause }))
      on.ended()
    })
  }

  get isFree(): boolean {
    return this.#task === undefined && !this.#over
  }

  take(task: Task<Question, Answer>): void {
    clearTimeout(this.#idle)
    this.#task = task
    this.#worker.postMessage(task.question)
  }

  end(): void {
    this.#over = true
    void this.#worker.terminate()
  }
}
