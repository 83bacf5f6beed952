/** A queue of keys to work on. Each is at most once in the queue, and never worked on twice at the same time. */

import type { Log } from '../../contract/log.ts'
import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { MAX_TIMER_MS } from '../../kit/time.ts'

/** Metrics of a queue, as dashboards for controllers expect them. */
export interface QueueMetrics {
  /** Number of waiting keys. */
  depth(items: number): void
  /** A key was queued. */
  added(): void
  /** A key will be retried after a failure. */
  retried(): void
  /** How long a key waited, in seconds. */
  waited(seconds: number): void
  worked(seconds: number, result: 'success' | 'error'): void
}

export interface WorkQueueOptions<K extends string> {
  /** Name for the log. */
  name: string
  /** Maximum number of keys in work at the same time. */
  concurrency: number
  /** Average number of keys to start per second. Default: no limit. */
  perSecond?: number
  /** A rejection is a failure: the key is retried, after a longer time with each failure in a row. */
  work(key: K, signal: AbortSignal): Promise<void>
  metrics?: QueueMetrics
  log?: Log
}

const RETRY: Backoff = { firstMs: 50, lastMs: 30_000 }
/** How many keys may start at once after a pause: those of this time at `perSecond`. */
const BURST_MS = 100

export class WorkQueue<K extends string> {
  readonly #options: WorkQueueOptions<K>
  /** Time when each key was queued, in order. */
  readonly #waiting = new Map<K, number>()
  readonly #working = new Map<K, Promise<void>>()
  /** Keys that were added while they were worked on. */
  readonly #again = new Set<K>()
  readonly #delayed = new Map<K, { at: number; timer: NodeJS.Timeout }>()
  readonly #failed = new Map<K, { times: number; timer: NodeJS.Timeout }>()
  readonly #stop = new AbortController()
  /** When the next key may start, by `perSecond`. */
  #slot = 0
  #slotTimer: NodeJS.Timeout | undefined

  constructor(options: WorkQueueOptions<K>) {
    this.#options = options
  }

  /** Adds a key to be worked on as soon as possible, unless it is waiting already. */
  add(key: K): void {
    if (this.#stop.signal.aborted || this.#waiting.has(key)) return
    if (this.#working.has(key)) {
      this.#again.add(key)
      return
    }
    this.#waiting.set(key, performance.now())
    this.#options.metrics?.added()
    this.#options.metrics?.depth(this.#waiting.size)
    this.#begin()
  }

  /** Adds the key after `ms`, unless it is already scheduled for an earlier time. */
  addAfter(key: K, ms: number): void {
    if (this.#stop.signal.aborted) return
    // A key that comes too early is worked on once more, that is all.
    const delayMs = Math.min(ms, MAX_TIMER_MS)
    const at = performance.now() + delayMs
    const earlier = this.#delayed.get(key)
    if (earlier !== undefined && earlier.at <= at) return
    clearTimeout(earlier?.timer)
    const timer = setTimeout(() => {
      this.#delayed.delete(key)
      this.add(key)
    }, delayMs)
    this.#delayed.set(key, { at, timer })
  }

  /** Starts nothing more, aborts the signal of running work, and resolves when that has ended. */
  async stop(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#slotTimer)
    for (const { timer } of [...this.#delayed.values(), ...this.#failed.values()]) clearTimeout(timer)
    this.#waiting.clear()
    this.#options.metrics?.depth(0)
    await Promise.all(this.#working.values())
  }

  #begin(): void {
    for (const [key, queuedAt] of this.#waiting) {
      if (this.#working.size >= this.#options.concurrency || !this.#takeSlot()) return
      this.#waiting.delete(key)
      this.#options.metrics?.depth(this.#waiting.size)
      this.#options.metrics?.waited((performance.now() - queuedAt) / 1_000)
      this.#working.set(key, this.#work(key))
    }
  }

  /** False if it is too early by `perSecond`; then a timer continues. */
  #takeSlot(): boolean {
    const { perSecond } = this.#options
    if (perSecond === undefined) return true
    const now = performance.now()
    if (now < this.#slot) {
      clearTimeout(this.#slotTimer)
      this.#slotTimer = setTimeout(() => this.#begin(), Math.ceil(this.#slot - now))
      return false
    }
    this.#slot = Math.max(this.#slot, now - BURST_MS) + 1_000 / perSecond
    return true
  }

  async #work(key: K): Promise<void> {
    const { work, metrics } = this.#options
    // Work that adds its own key at once must find it in #working.
    await Promise.resolve()
    const startedAt = performance.now()
    let failure: { error: unknown } | undefined
    try {
      await work(key, this.#stop.signal)
    } catch (error) {
      failure = { error }
    }
    metrics?.worked((performance.now() - startedAt) / 1_000, failure === undefined ? 'success' : 'error')
    this.#working.delete(key)
    if (this.#stop.signal.aborted) return
    if (failure === undefined) this.#clearFailures(key)
    else this.#retry(key, failure.error)
    if (this.#again.delete(key)) this.add(key)
    this.#begin()
  }

  #clearFailures(key: K): void {
    clearTimeout(this.#failed.get(key)?.timer)
    this.#failed.delete(key)
  }

  #retry(key: K, error: unknown): void {
    const earlier = this.#failed.get(key)
    clearTimeout(earlier?.timer)
    const times = (earlier?.times ?? 0) + 1
    const inMs = backoffMs(times - 1, RETRY)
    this.#options.log?.warn(
      { err: error, queue: this.#options.name, key, inMs },
      'an item in the queue failed; will retry',
    )
    this.#options.metrics?.retried()
    this.#failed.set(key, { times, timer: setTimeout(() => this.add(key), inMs) })
  }
}
