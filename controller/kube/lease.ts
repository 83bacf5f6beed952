/**
 * Elects one leader among controllers with a Lease. As in client-go, a holder that does not renew the Lease for its length
 * has lost it. Each process measures this with its own clock: the times in the Lease only show whether it has changed. A
 * leader that was paused may believe for a moment that it still leads, so that its writes must be fenced, too.
 *
 * https://kubernetes.io/docs/concepts/architecture/leases/#leader-election
 */

import { z } from 'zod'
import type { Log } from '../../contract/log.ts'
import { pause } from '../../kit/time.ts'
import { microTime } from './time.ts'
import { type KubeClient, KubeError } from './types.ts'

export interface ElectorOptions {
  client: KubeClient
  namespace: string
  /** Name of the Lease. */
  name: string
  /** Name of this process among the candidates. */
  identity: string
  /** How long a leader that stopped responding stays leader; at least 1 s. */
  leaseMs: number
  log: Log
  /** Called once, when this process becomes the leader. `term` aborts when the Lease is lost or about to be released. */
  onLeading(term: AbortSignal): void
  /** Monotonic milliseconds. */
  now?: () => number
}

/** As in client-go: 15 s lease, 10 s to renew it, 2 s between attempts, as fractions of the lease. */
const RENEW_DEADLINE = 10 / 15
const RETRY = 2 / 15
/** Time limit of one request, short enough for retries. */
const REQUEST = 5 / 15
const LATE = 'it could not be renewed in time'
/** A released Lease is noticed within this time. */
const MAX_LOOK_MS = 100

const leaseSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), resourceVersion: z.string() }),
  spec: z
    .looseObject({
      holderIdentity: z.string().optional(),
      renewTime: z.string().optional(),
      leaseDurationSeconds: z.number().optional(),
      leaseTransitions: z.number().optional(),
    })
    .default({}),
})
type Lease = z.infer<typeof leaseSchema>

export class Elector {
  readonly #options: ElectorOptions
  readonly #path: string
  readonly #now: () => number
  readonly #release = new AbortController()
  #running: Promise<'stopped' | 'lost'> | undefined
  /** Last state of a Lease that another process holds, and since when. */
  #seen: { record: string; at: number } | undefined
  /** Our last write known to have arrived; `at` is before it was sent, because others may have seen it since then. */
  #renewed: { renewTime: string; at: number } | undefined
  /** Our later writes, which may have arrived: time of sending by renewTime. */
  readonly #sent = new Map<string, number>()
  #failing = false

  constructor(options: ElectorOptions) {
    this.#options = options
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Waits for the Lease and then holds it. 'stopped': after `release`. 'lost': another process may lead; the program must
   * end, because that is the surest way to stop all its work.
   */
  run(): Promise<'stopped' | 'lost'> {
    this.#running ??= this.#run()
    return this.#running
  }

  /** Releases the Lease, so that another process can lead at once. Call it when the work of this one has ended. */
  async release(): Promise<void> {
    this.#release.abort()
    await this.#running
  }

  async #run(): Promise<'stopped' | 'lost'> {
    const { leaseMs } = this.#options
    while (!this.#release.signal.aborted) {
      const lease = await this.#tryAcquire().catch((error: unknown) => this.#logFailure(error))
      if (lease !== undefined) return await this.#lead(lease)
      await this.#pause(Math.min(leaseMs * RETRY, MAX_LOOK_MS))
    }
    return 'stopped'
  }

  /** Returns the Lease if it is ours now. */
  async #tryAcquire(): Promise<Lease | undefined> {
    const lease = await this.#read()
    this.#failing = false
    if (lease === undefined) return this.#create()
    if (this.#isOurs(lease)) return lease
    if (!this.#isFree(lease)) return undefined
    const transitions = (lease.spec.leaseTransitions ?? 0) + 1
    const times = { acquireTime: microTime(), leaseTransitions: transitions }
    return this.#replace(lease, times).catch(undefinedOn(409))
  }

  async #lead(first: Lease): Promise<'stopped' | 'lost'> {
    const { log, identity, name } = this.#options
    const term = new AbortController()
    let lease = first
    if (!this.#release.signal.aborted) {
      log.info({ lease: name, identity }, 'this process holds the Lease')
      this.#options.onLeading(term.signal)
    }
    try {
      for (;;) {
        await this.#pause(Math.max(0, Math.min(this.#options.leaseMs * RETRY, this.#leftMs())))
        if (this.#release.signal.aborted) break
        // A process that stood still is late: as long as its Lease has not ended, it has one attempt.
        if (this.#leftMs(1) <= 0) return this.#lost(LATE)
        const isLast = this.#leftMs() <= 0
        const next = await this.#renew(lease)
        if (next === undefined) return this.#lost('another process holds it')
        if (isLast && this.#leftMs() <= 0) return this.#lost(LATE)
        lease = next
      }
    } finally {
      term.abort()
    }
    await this.#giveBack(lease)
    return 'stopped'
  }

  /** Returns the current Lease, renewed or not; undefined if it is no longer ours. */
  async #renew(lease: Lease): Promise<Lease | undefined> {
    try {
      const renewed = await this.#replace(lease, {})
      this.#failing = false
      return renewed
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      if (error.status === 404) return undefined
      if (error.status !== 409) {
        this.#logFailure(error)
        return lease
      }
    }
    try {
      const current = await this.#read()
      return current !== undefined && this.#isOurs(current) ? current : undefined
    } catch (error) {
      this.#logFailure(error)
      return lease
    }
  }

  async #giveBack(lease: Lease): Promise<void> {
    const { client, name, log } = this.#options
    // An empty holder for one second, as in client-go. Undefined fields are not sent.
    const spec = { ...lease.spec, holderIdentity: undefined, leaseDurationSeconds: 1, renewTime: microTime() }
    try {
      await client.request({
        method: 'PUT',
        path: `${this.#path}/${name}`,
        body: { ...lease, spec },
        timeoutMs: this.#requestMs(),
      })
    } catch (error) {
      log.warn({ err: error, lease: name }, 'the Lease could not be released; it will expire')
    }
  }

  /** Compares with our own writes, not only the name: another process may have the same name, or this one before a restart. */
  #isOurs({ spec: { holderIdentity, renewTime = '' } }: Lease): boolean {
    if (holderIdentity !== this.#options.identity) return false
    const at = this.#sent.get(renewTime)
    // A write without an answer has arrived.
    if (at !== undefined) this.#arrived(renewTime, at)
    return this.#renewed?.renewTime === renewTime
  }

  #arrived(renewTime: string, at: number): void {
    this.#renewed = { renewTime, at }
    this.#sent.clear()
  }

  /** True if the Lease has no holder, or if its holder has not renewed it while we watched. */
  #isFree({ spec }: Lease): boolean {
    const { holderIdentity = '', renewTime = '', leaseDurationSeconds } = spec
    if (holderIdentity === '') return true
    const record = `${holderIdentity} ${renewTime}`
    if (this.#seen?.record !== record) this.#seen = { record, at: this.#now() }
    const lengthMs = leaseDurationSeconds === undefined ? this.#options.leaseMs : leaseDurationSeconds * 1_000
    return this.#now() - this.#seen.at > lengthMs
  }

  /** How long until this part of our Lease is over; negative after that. */
  #leftMs(part = RENEW_DEADLINE): number {
    return (this.#renewed?.at ?? 0) + this.#options.leaseMs * part - this.#now()
  }

  async #read(): Promise<Lease | undefined> {
    const path = `${this.#path}/${this.#options.name}`
    const read = this.#options.client.request({ path, timeoutMs: this.#requestMs() }).catch(undefinedOn(404))
    return leaseSchema.optional().parse(await read)
  }

  #create(): Promise<Lease | undefined> {
    const metadata = { name: this.#options.name, namespace: this.#options.namespace }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }
    const spec = { acquireTime: microTime(), leaseTransitions: 0 }
    return this.#write('POST', this.#path, lease, spec).catch(undefinedOn(409))
  }

  /** Rejects with 409 if the Lease has changed since it was read. */
  #replace(lease: Lease, more: object): Promise<Lease> {
    return this.#write('PUT', `${this.#path}/${this.#options.name}`, lease, { ...lease.spec, ...more })
  }

  async #write(method: 'POST' | 'PUT', path: string, lease: object, more: object): Promise<Lease> {
    const { identity, leaseMs } = this.#options
    const renewTime = microTime()
    const at = this.#now()
    this.#sent.set(renewTime, at)
    const leaseDurationSeconds = Math.ceil(leaseMs / 1_000)
    const body = { ...lease, spec: { ...more, holderIdentity: identity, leaseDurationSeconds, renewTime } }
    const written = await this.#options.client.request({ method, path, body, timeoutMs: this.#requestMs() })
    this.#arrived(renewTime, at)
    return leaseSchema.parse(written)
  }

  /** A leader does not wait for an answer beyond the end of its Lease. */
  #requestMs(): number {
    const ms = this.#options.leaseMs * REQUEST
    return this.#renewed === undefined ? ms : Math.max(1, Math.min(ms, this.#leftMs(1)))
  }

  #pause(ms: number): Promise<void> {
    return pause(ms, this.#release.signal, 'resolve')
  }

  #lost(reason: string): 'lost' {
    this.#options.log.error({ lease: this.#options.name }, `the Lease is lost: ${reason}`)
    return 'lost'
  }

  /** Logs the first of several failures in a row. */
  #logFailure(error: unknown): undefined {
    if (!this.#failing) this.#options.log.warn({ err: error }, 'the Lease cannot be read or written')
    this.#failing = true
  }
}

function undefinedOn(status: number): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof KubeError) || error.status !== status) throw error
  }
}
