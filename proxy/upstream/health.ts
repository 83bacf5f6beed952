/** The state of channels as this process sees it: requests in flight, failures in a row, ejections. */
import { LRUCache } from 'lru-cache'
import type { FailureClass } from '../../contract/failures.ts'
import type { UpstreamFailure } from '../errors.ts'
import { Ejection, type EjectionPolicy } from './ejection.ts'

/** What a failure counts against. A caller's fault does not count; a rate limit only ejects for its Retry-After. */
const COUNTS_AGAINST: Record<FailureClass, 'channel' | 'model' | 'none'> = {
  credential: 'channel',
  quota: 'channel',
  region_blocked: 'channel',
  transient: 'channel',
  unknown: 'channel',
  model_gone: 'model',
  model_access: 'model',
  rate_limit: 'none',
  caller_fault: 'none',
}

/** Bound of an upstream's Retry-After. */
const MAX_RETRY_AFTER_MS = 60_000
/** Pairs of channel and model to remember. Without a bound, clients of a wildcard route could invent models without end. */
const MAX_PAIRS = 10_000

const NO_PROBES: ReadonlyMap<Ejection, number> = new Map()

interface Channel {
  inFlight: number
  ejection: Ejection
  /** End of the upstream's Retry-After. */
  limitedUntil: number
  lastFailure: FailureClass | undefined
}

/** The place of one request in flight on a channel, with its probes. */
export interface Place {
  /** namespace/name */
  readonly channel: string
  readonly model: string
  /** See Ejection.use. */
  readonly probes: ReadonlyMap<Ejection, number>
}

export interface ChannelState {
  /** namespace/name */
  channel: string
  inFlight: number
  consecutiveFailures: number
  ejected: boolean
  /** Class of the last failure that was not the caller's. */
  lastFailure: FailureClass | undefined
}

/** Channels are named namespace/name, models as the upstream knows them. */
export class ChannelHealth {
  readonly #now: () => number
  readonly #channels = new Map<string, Channel>()
  readonly #pairs = new LRUCache<string, Ejection>({ max: MAX_PAIRS })

  /** `now`: milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Takes a place for a request; undefined when `max` are taken. The caller must release it once. */
  acquire(channel: string, model: string, max: number | undefined): Place | undefined {
    if (this.isFull(channel, max)) return undefined
    const entry = this.#entry(channel)
    entry.inFlight++
    let probes: Map<Ejection, number> | undefined
    for (const ejection of [entry.ejection, this.#pairAt(channel, model)]) {
      const probe = ejection?.use(this.#now())
      if (ejection === undefined || probe === undefined) continue
      probes ??= new Map()
      probes.set(ejection, probe)
    }
    return { channel, model, probes: probes ?? NO_PROBES }
  }

  /** A probe without a result passes to the next request. */
  release({ channel, probes }: Place): void {
    for (const [ejection, probe] of probes) ejection.unproven(probe)
    const entry = this.#channels.get(channel)
    if (entry !== undefined && entry.inFlight > 0) entry.inFlight--
  }

  isFull(channel: string, max: number | undefined): boolean {
    return max !== undefined && (this.#channels.get(channel)?.inFlight ?? 0) >= max
  }

  /** When the ejection of this channel, or of this model on it, ends; 0 when it may be used. */
  ejectedUntil(channel: string, model: string): number {
    const entry = this.#channels.get(channel)
    const until = Math.max(this.#pairAt(channel, model)?.until ?? 0, entry === undefined ? 0 : endOf(entry))
    // Few are ejected: a route of 100 channels need not look at the clock 100 times.
    return until > 0 && until > this.#now() ? until : 0
  }

  succeeded({ channel, model }: Place): void {
    this.#channels.get(channel)?.ejection.succeeded()
    if (this.#pairs.size > 0) this.#pairs.delete(pairOf(channel, model))
  }

  /** Not to be called for attempts that the gateway itself gave up. */
  failed(place: Place, failure: UpstreamFailure, policy: EjectionPolicy): void {
    const { channel, model, probes } = place
    if (failure.class === 'caller_fault') return
    const now = this.#now()
    const entry = this.#entry(channel)
    entry.lastFailure = failure.class
    if (failure.class === 'rate_limit' && failure.retryAfterSeconds !== undefined) {
      const waitMs = Math.min(failure.retryAfterSeconds * 1_000, MAX_RETRY_AFTER_MS)
      entry.limitedUntil = Math.max(entry.limitedUntil, now + waitMs)
    }
    const target = COUNTS_AGAINST[failure.class]
    if (target === 'none') return
    const ejection = target === 'channel' ? entry.ejection : this.#pair(channel, model)
    ejection.failed(now, policy, probes.get(ejection))
  }

  /** Forgets all other channels, except those with requests in flight. */
  retain(channels: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [name, { inFlight }] of this.#channels)
      if (!channels.has(name) && inFlight === 0) this.#channels.delete(name)
  }

  /** Forgets the failures of channels whose settings changed: the change may have fixed them. */
  reset(channels: ReadonlySet<string>): void {
    for (const channel of channels) {
      const entry = this.#channels.get(channel)
      if (entry === undefined) continue
      entry.ejection = new Ejection()
      entry.limitedUntil = 0
    }
    for (const pair of [...this.#pairs.keys()]) if (channels.has(channelOf(pair))) this.#pairs.delete(pair)
  }

  /** All channels that were used, for metrics. */
  snapshot(): ChannelState[] {
    const now = this.#now()
    return Array.from(this.#channels, ([channel, entry]) => ({
      channel,
      inFlight: entry.inFlight,
      consecutiveFailures: entry.ejection.failures,
      ejected: endOf(entry) > now,
      lastFailure: entry.lastFailure,
    }))
  }

  #entry(channel: string): Channel {
    const known = this.#channels.get(channel)
    if (known !== undefined) return known
    const entry = { inFlight: 0, ejection: new Ejection(), limitedUntil: 0, lastFailure: undefined }
    this.#channels.set(channel, entry)
    return entry
  }

  /** Undefined as long as the model has not failed. */
  #pairAt(channel: string, model: string): Ejection | undefined {
    return this.#pairs.size === 0 ? undefined : this.#pairs.get(pairOf(channel, model))
  }

  #pair(channel: string, model: string): Ejection {
    const name = pairOf(channel, model)
    const ejection = this.#pairs.get(name) ?? new Ejection()
    this.#pairs.set(name, ejection)
    return ejection
  }
}

/** When the ejection of the whole channel ends, or ended. */
function endOf({ ejection, limitedUntil }: Channel): number {
  return Math.max(ejection.until, limitedUntil)
}

/** Channel names contain no space. */
function pairOf(channel: string, model: string): string {
  return `${channel} ${model}`
}

const channelOf = (pair: string) => pair.slice(0, pair.indexOf(' '))
