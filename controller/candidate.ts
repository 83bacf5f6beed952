/**
 * Elects one leader among the controllers of a folder, by a key in the store that expires unless its holder renews it. As
 * with a Lease (kube/lease.ts), a leader that was paused may believe for a moment that it still leads, so that its writes
 * must be fenced, too.
 */
import { randomBytes } from 'node:crypto'
import type { Log } from '../contract/log.ts'
import { pause } from '../kit/time.ts'
import type { ConfigStore } from '../store/contract.ts'

interface CandidateOptions {
  store: Pick<ConfigStore, 'lead' | 'resign'>
  /** Name of this process, for people. */
  instance: string
  /** How long a leader that stopped responding stays leader. */
  leaseMs: number
  log: Log
  /** Called once, when this process becomes the leader. */
  onLeading(): void
  /** Monotonic milliseconds. */
  now?: () => number
}

/** Fractions of the lease, as with a Lease: when a leader that cannot renew no longer counts itself as one, and attempts. */
const RENEW_DEADLINE = 10 / 15
const RETRY = 2 / 15
/** A leader that resigned is noticed within this time. */
const MAX_LOOK_MS = 100

export class Candidate {
  readonly #options: CandidateOptions
  readonly #now: () => number
  /** Another process may have the same name, or this one before a restart. */
  readonly #identity: string
  readonly #release = new AbortController()
  #running: Promise<'stopped' | 'lost'> | undefined
  /** When our last successful command was sent. */
  #renewedAt = Number.NEGATIVE_INFINITY
  #failing = false

  constructor(options: CandidateOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#identity = `${options.instance} ${randomBytes(8).toString('hex')}`
  }

  /** False also for a leader that has not reached the store for so long that another one may lead. */
  get leads(): boolean {
    return this.#now() - this.#renewedAt < this.#options.leaseMs * RENEW_DEADLINE
  }

  /**
   * Waits for leadership and then keeps it. 'stopped': after `release`. 'lost': another process leads; the program must
   * end, because that is the surest way to stop all its work.
   */
  run(): Promise<'stopped' | 'lost'> {
    this.#running ??= this.#run()
    return this.#running
  }

  /** Resigns, so that another process can lead at once. Call it when the work of this one has ended. */
  async release(): Promise<void> {
    this.#release.abort()
    await this.#running
  }

  async #run(): Promise<'stopped' | 'lost'> {
    const { log, instance, leaseMs } = this.#options
    let led = false
    while (!this.#release.signal.aborted) {
      const leader = await this.#try()
      if (leader === this.#identity && !led && !this.#release.signal.aborted) {
        led = true
        this.#options.onLeading()
      } else if (led && leader !== undefined && leader !== this.#identity) {
        this.#renewedAt = Number.NEGATIVE_INFINITY
        log.error({ instance, leader: leader.split(' ')[0] }, 'another controller leads now')
        return 'lost'
      }
      const waitMs = led ? leaseMs * RETRY : Math.min(leaseMs * RETRY, MAX_LOOK_MS)
      await pause(waitMs, this.#release.signal, 'resolve')
    }
    await this.#resign()
    return 'stopped'
  }

  /** Who leads; undefined if the store does not answer. A store that lost the key gives it to whoever asks first. */
  async #try(): Promise<string | undefined> {
    const { store, leaseMs, log } = this.#options
    const sentAt = this.#now()
    try {
      const leader = await store.lead(this.#identity, leaseMs)
      if (leader === this.#identity) this.#renewedAt = sentAt
      this.#failing = false
      return leader
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, 'the store does not say who leads')
      this.#failing = true
      return undefined
    }
  }

  async #resign(): Promise<void> {
    const { store, log } = this.#options
    this.#renewedAt = Number.NEGATIVE_INFINITY
    await store.resign(this.#identity).catch((error: unknown) => {
      log.warn({ err: error }, 'leadership could not be released; it will expire')
    })
  }
}
