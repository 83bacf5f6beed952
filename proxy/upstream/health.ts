/** What this process knows of its channels: requests in flight, failures in a row, rests. */
import { LRUCache } from 'lru-cache'
import type { FailureClass } from '../../contract/failures.ts'
import type { UpstreamFailure } from '../errors.ts'
import { Ejection, type EjectionPolicy } from './ejection.ts'

/** Whom a failure counts against. A caller's fault says nothing; a rate limit is obeyed, not counted. */
const BLAMES: Record<FailureClass, 'channel' | 'model' | 'nobody'> = {
  credential: 'channel',
  quota: 'channel',
  region_blocked: 'channel',
  transient: 'channel',
  unknown: 'channel',
  model_gone: 'model',
  model_access: 'model',
  rate_limit: 'nobody',
  caller_fault: 'nobody',
}

/** Longest rest that an upstream's Retry-After is given. */
const MAX_RETRY_AFTER_MS = 60_000
/** Pairs of channel and model that are remembered; models of a wildcard route are as many as clients make up. */
const MAX_PAIRS = 10_000

interface Channel {
  inFlight: number
  ejection: Ejection
  /** End of the rest that the upstream asked for. */
  limitedUntil: number
  lastFailure: FailureClass | undefined
}

/** A place that one request holds at a channel, with what it probes there. */
export interface Place {
  /** namespace/name */
  readonly channel: string
  readonly model: string
  /** Numbers of its probes; see Ejection. */
  readonly probes: ReadonlyMap<Ejection, number>
}

export interface ChannelState {
  /** namespace/name */
  channel: string
  inFlight: number
  consecutiveFailures: number
  resting: boolean
  /** Class of the last failure that was not the caller's. */
  lastFailure: FailureClass | undefined
}

/** Channels are named namespace/name, models as the upstream knows them. */
export class ChannelHealth {
  readonly #now: () => number
  readonly #channels = new Map<string, Channel>()
  readonly #pairs = new LRUCache<string, Ejection>({ max: MAX_PAIRS })

  /** `now` gives milliseconds and never goes back. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Takes a place for a request; undefined when `max` are taken. Every place must be released once. */
  acquire(channel: string, model: string, max: number | undefined): Place | undefined {
    if (this.isFull(channel, max)) return undefined
    const entry = this.#entry(channel)
    entry.inFlight++
    const probes = new Map<Ejection, number>()
    for (const ejection of [entry.ejection, this.#pairs.get(pairOf(channel, model))]) {
      const probe = ejection?.use(this.#now())
      if (ejection !== undefined && probe !== undefined) probes.set(ejection, probe)
    }
    return { channel, model, probes }
  }

  /** What the request probed and said nothing about is left to the next one. */
  release({ channel, probes }: Place): void {
    for (const [ejection, probe] of probes) ejection.unproven(probe)
    const entry = this.#channels.get(channel)
    if (entry !== undefined && entry.inFlight > 0) entry.inFlight--
  }

  isFull(channel: string, max: number | undefined): boolean {
    return max !== undefined && (this.#channels.get(channel)?.inFlight ?? 0) >= max
  }

  /** When the rest of this channel, for this model, ends; 0 when it may be used. */
  restingUntil(channel: string, model: string): number {
    const now = this.#now()
    const pair = this.#pairs.get(pairOf(channel, model))?.restingUntil(now) ?? 0
    const entry = this.#channels.get(channel)
    return entry === undefined ? pair : Math.max(pair, restOf(entry, now))
  }

  succeeded({ channel, model }: Place): void {
    this.#channels.get(channel)?.ejection.succeeded()
    this.#pairs.delete(pairOf(channel, model))
  }

  /** Not for attempts that the gateway itself gave up. */
  failed(place: Place, failure: UpstreamFailure, policy: EjectionPolicy): void {
    const { channel, model, probes } = place
    if (failure.class === 'caller_fault') return
    const now = this.#now()
    const entry = this.#entry(channel)
    entry.lastFailure = failure.class
    if (failure.class === 'rate_limit' && failure.retryAfterSeconds !== undefined) {
      const restMs = Math.min(failure.retryAfterSeconds * 1_000, MAX_RETRY_AFTER_MS)
      entry.limitedUntil = Math.max(entry.limitedUntil, now + restMs)
    }
    const blames = BLAMES[failure.class]
    if (blames === 'nobody') return
    const ejection = blames === 'channel' ? entry.ejection : this.#pair(channel, model)
    ejection.failed(now, policy, probes.get(ejection))
  }

  /** Forgets all other channels, except those with requests in flight. */
  retain(channels: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [name, { inFlight }] of this.#channels)
      if (!channels.has(name) && inFlight === 0) this.#channels.delete(name)
  }

  /** Forgets the failures of a channel: its settings changed, and what failed may be mended. */
  forgive(channel: string): void {
    const entry = this.#channels.get(channel)
    if (entry === undefined) return
    entry.ejection = new Ejection()
    entry.limitedUntil = 0
    for (const pair of [...this.#pairs.keys()])
      if (pair.startsWith(pairOf(channel, ''))) this.#pairs.delete(pair)
  }

  /** The channels that were used, for metrics. */
  snapshot(): ChannelState[] {
    const now = this.#now()
    return Array.from(this.#channels, ([channel, entry]) => ({
      channel,
      inFlight: entry.inFlight,
      consecutiveFailures: entry.ejection.failures,
      resting: restOf(entry, now) > 0,
      lastFailure: entry.lastFailure,
    }))
  }

  #entry(channel: string): Channel {
    let entry = this.#channels.get(channel)
    if (entry === undefined) {
      entry = { inFlight: 0, ejection: new Ejection(), limitedUntil: 0, lastFailure: undefined }
      this.#channels.set(channel, entry)
    }
    return entry
  }

  #pair(channel: string, model: string): Ejection {
    const name = pairOf(channel, model)
    let ejection = this.#pairs.get(name)
    if (ejection === undefined) {
      ejection = new Ejection()
      this.#pairs.set(name, ejection)
    }
    return ejection
  }
}

function restOf(entry: Channel, now: number): number {
  return Math.max(entry.ejection.restingUntil(now), entry.limitedUntil > now ? entry.limitedUntil : 0)
}

/** Names of channels hold no space. */
function pairOf(channel: string, model: string): string {
  return `${channel} ${model}`
}
