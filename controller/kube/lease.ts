/**
 * One leader among controllers, by a Lease. As in client-go a holder that renews nothing for the length of the lease has
 * lost it, measured by everybody on a clock of their own: the times in the Lease are only looked at for being others.
 * Somebody who was paused may still believe to lead for a moment: what a leader writes must be fenced besides.
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
  /** Of the Lease. */
  name: string
  /** Of this process among those who stand for election. */
  identity: string
  /** How long a leader that stopped answering stays leader; at least 1 s. */
  leaseMs: number
  log: Log
  /** Called once, when this process leads. */
  onLeading(term: LeaderTerm): void
  /** Monotonic milliseconds. */
  now?: () => number
}

export interface LeaderTerm {
  /** How often the Lease has changed hands. */
  transitions: number
  /** Aborted when the Lease is lost or about to be given back. */
  signal: AbortSignal
}

/** client-go's 15 s lease, 10 s to renew it, 2 s between attempts, as parts of the lease. */
const RENEW_DEADLINE = 10 / 15
const RETRY = 2 / 15
/** One request may take so long that others fit in after it. */
const REQUEST = 5 / 15
/** A leader that leaves is noticed within this time. */
const MAX_LOOK_MS = 200

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
  /** What somebody else's Lease said last, and since when. */
  #seen: { record: string; at: number } | undefined
  /** Our last write that is known to have arrived; `at` is from before it was sent, as others may have seen it since. */
  #renewed: { renewTime: string; at: number } | undefined
  /** Our writes since, which may have arrived: renewTime to the time when it was sent. */
  readonly #sent = new Map<string, number>()
  #failing = false

  constructor(options: ElectorOptions) {
    this.#options = options
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Stands for election and then holds the Lease. 'stopped': after `release`. 'lost': somebody else may lead; the program
   * ends, as that is the surest way to end everything that it does.
   */
  run(): Promise<'stopped' | 'lost'> {
    this.#running ??= this.#run()
    return this.#running
  }

  /** Gives the Lease back, so that another leads at once. To be called when this one's work has ended. */
  async release(): Promise<void> {
    this.#release.abort()
    await this.#running
  }

  async #run(): Promise<'stopped' | 'lost'> {
    const { leaseMs } = this.#options
    while (!this.#release.signal.aborted) {
      const lease = await this.#stand().catch((error: unknown) => this.#complain(error))
      if (lease !== undefined) return await this.#lead(lease)
      await this.#pause(Math.min(leaseMs * RETRY, MAX_LOOK_MS))
    }
    return 'stopped'
  }

  /** The Lease, when it is ours now. */
  async #stand(): Promise<Lease | undefined> {
    const lease = await this.#read()
    this.#failing = false
    if (lease === undefined) return this.#create()
    if (this.#isOurs(lease)) return lease
    if (!this.#isFree(lease)) return undefined
    const transitions = (lease.spec.leaseTransitions ?? 0) + 1
    const times = { acquireTime: microTime(), leaseTransitions: transitions }
    return this.#replace(lease, times).catch(nothingOn(409))
  }

  async #lead(first: Lease): Promise<'stopped' | 'lost'> {
    const { log, identity, name } = this.#options
    const term = new AbortController()
    let lease = first
    if (!this.#release.signal.aborted) {
      log.info({ lease: name, identity }, 'this process holds the Lease')
      this.#options.onLeading({ transitions: lease.spec.leaseTransitions ?? 0, signal: term.signal })
    }
    try {
      for (;;) {
        await this.#pause(Math.max(0, Math.min(this.#options.leaseMs * RETRY, this.#leftMs())))
        if (this.#release.signal.aborted) break
        if (this.#leftMs() <= 0) return this.#lost('it could not be renewed in time')
        const next = await this.#renew(lease)
        if (next === undefined) return this.#lost('somebody else has it')
        lease = next
      }
    } finally {
      term.abort()
    }
    await this.#giveBack(lease)
    return 'stopped'
  }

  /** The Lease as it is, renewed or not; undefined when it is no longer ours. */
  async #renew(lease: Lease): Promise<Lease | undefined> {
    try {
      const renewed = await this.#replace(lease, {})
      this.#failing = false
      return renewed
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      if (error.status === 404) return undefined
      if (error.status !== 409) {
        this.#complain(error)
        return lease
      }
    }
    try {
      const current = await this.#read()
      return current !== undefined && this.#isOurs(current) ? current : undefined
    } catch (error) {
      this.#complain(error)
      return lease
    }
  }

  async #giveBack(lease: Lease): Promise<void> {
    const { client, name, log } = this.#options
    // An empty holder, for one second: as client-go does it. What is undefined is not sent.
    const spec = { ...lease.spec, holderIdentity: undefined, leaseDurationSeconds: 1, renewTime: microTime() }
    try {
      await client.request({
        method: 'PUT',
        path: `${this.#path}/${name}`,
        body: { ...lease, spec },
        timeoutMs: this.#requestMs(),
      })
    } catch (error) {
      log.warn({ err: error, lease: name }, 'the Lease could not be given back; it ends by itself')
    }
  }

  /** By what this process wrote, not by name: another of this name may live, or this one before a restart. */
  #isOurs({ spec: { holderIdentity, renewTime = '' } }: Lease): boolean {
    if (holderIdentity !== this.#options.identity) return false
    const at = this.#sent.get(renewTime)
    // A write whose answer was lost has arrived.
    if (at !== undefined) this.#arrived(renewTime, at)
    return this.#renewed?.renewTime === renewTime
  }

  #arrived(renewTime: string, at: number): void {
    this.#renewed = { renewTime, at }
    this.#sent.clear()
  }

  /** Nobody holds it, or its holder has renewed nothing since we look. */
  #isFree({ spec }: Lease): boolean {
    const { holderIdentity = '', renewTime = '', leaseDurationSeconds } = spec
    if (holderIdentity === '') return true
    const record = `${holderIdentity} ${renewTime}`
    if (this.#seen?.record !== record) this.#seen = { record, at: this.#now() }
    const lengthMs = leaseDurationSeconds === undefined ? this.#options.leaseMs : leaseDurationSeconds * 1_000
    return this.#now() - this.#seen.at > lengthMs
  }

  #leftMs(): number {
    return (this.#renewed?.at ?? 0) + this.#options.leaseMs * RENEW_DEADLINE - this.#now()
  }

  async #read(): Promise<Lease | undefined> {
    const path = `${this.#path}/${this.#options.name}`
    const read = this.#options.client.request({ path, timeoutMs: this.#requestMs() }).catch(nothingOn(404))
    return leaseSchema.optional().parse(await read)
  }

  #create(): Promise<Lease | undefined> {
    const metadata = { name: this.#options.name, namespace: this.#options.namespace }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }
    const spec = { acquireTime: microTime(), leaseTransitions: 0 }
    return this.#write('POST', this.#path, lease, spec).catch(nothingOn(409))
  }

  /** Rejects with 409 when somebody wrote it since it was read. */
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

  #requestMs(): number {
    return this.#options.leaseMs * REQUEST
  }

  #pause(ms: number): Promise<void> {
    return pause(ms, this.#release.signal, 'resolve')
  }

  #lost(why: string): 'lost' {
    this.#options.log.error({ lease: this.#options.name }, `the Lease is lost: ${why}`)
    return 'lost'
  }

  /** Once for a row of failures. */
  #complain(error: unknown): undefined {
    if (!this.#failing) this.#options.log.warn({ err: error }, 'the Lease cannot be read or written')
    this.#failing = true
  }
}

function nothingOn(status: number): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof KubeError) || error.status !== status) throw error
  }
}
