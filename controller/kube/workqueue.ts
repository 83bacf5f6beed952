/** Keys that wait for work: each at most once in the queue, and never worked on twice at the same time. */

import type { Log } from '../../contract/log.ts'
import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { MAX_TIMER_MS } from '../../kit/time.ts'

/** What dashboards for controllers show of a queue. */
export interface QueueMetrics {
  /** Keys that wait now. */
  depth(items: number): void
  /** A key was queued. */
  added(): void
  /** A key will be tried again after a failure. */
  retried(): void
  /** How long a key waited, in seconds. */
  waited(seconds: number): void
  worked(seconds: number, result: 'success' | 'error'): void
}

export interface WorkQueueOptions<K extends string> {
  /** As it is logged. */
  name: string
  /** Keys that are worked on at the same time. */
  concurrency: number
  /** Pieces of work begun per second, in the long run. Default: as many as there are. */
  perSecond?: number
  /** A rejection is a failure: the key is tried again, later with each failure in a row. */
  work(key: K, signal: AbortSignal): Promise<void>
  metrics?: QueueMetrics
  log?: Log
}

const RETRY: Backoff = { firstMs: 50, lastMs: 30_000 }
/** How much work may be begun at once after a pause, as a part of `perSecond`. */
const BURST_MS = 100

export class WorkQueue<K extends string> {
  readonly #options: WorkQueueOptions<K>
  /** Key to the time when it was queued, in order. */
  readonly #waiting = new Map<K, number>()
  readonly #working = new Map<K, Promise<void>>()
  /** Added while it was worked on. */
  readonly #again = new Set<K>()
  readonly #delayed = new Map<K, { at: number; timer: NodeJS.Timeout }>()
  readonly #failed = new Map<K, { times: number; timer: NodeJS.Timeout }>()
  readonly #stop = new AbortController()
  /** When the next work may begin, by `perSecond`. */
  #slot = 0
  #slotTimer: NodeJS.Timeout | undefined

  constructor(options: WorkQueueOptions<K>) {
    this.#options = options
  }

  /** To be worked on as soon as possible; without effect on a key that waits already. */
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

  /** Adds the key in `ms`, or earlier when that was asked for before. */
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

  /** Begins nothing more, tells running work by its signal, and resolves when that has ended. */
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

  /** False when it is too early by `perSecond`; then the queue goes on by itself. */
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
    // Work that adds its own key at once must find it among those that are worked on.
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
    if (failure === undefined) this.#forgive(key)
    else this.#retry(key, failure.error)
    if (this.#again.delete(key)) this.add(key)
    this.#begin()
  }

  #forgive(key: K): void {
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
      'work failed and is tried again',
    )
    this.#options.metrics?.retried()
    this.#failed.set(key, { times, timer: setTimeout(() => this.add(key), inMs) })
  }
}
