/** Events, which `kubectl describe` shows for a resource. https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../contract/log.ts'
import { microTime } from './time.ts'
import { type KubeClient, KubeError } from './types.ts'

export interface EventRecorderOptions {
  client: KubeClient
  /** Name of this process. */
  instance: string
  log: Log
  /** Monotonic milliseconds, for the limits. */
  now?: () => number
}

export interface EventRecord {
  regarding: { apiVersion: string; kind: string; namespace: string; name: string; uid: string }
  type: 'Normal' | 'Warning'
  /** The reason in one word, such as "KeyCreated". */
  reason: string
  /** What was done or tried, in one word. */
  action: string
  /** Text for people; cut at 1 KiB. */
  note: string
}

const CONTROLLER = 'sluice.dev/controller'
const MAX_NOTE_BYTES = 1_024
/** A name has at most 253 characters; a dot and 16 digits follow. */
const MAX_NAME_CHARACTERS = 236
const SERIES_MS = 600_000
/** As in client-go: an object may have this many events at once, then one per five minutes. */
const BURST = 25
const REFILL_MS = 300_000
const MAX_QUEUED = 1_000
const MAX_REMEMBERED = 5_000

/** An event on the server, and how often it happened. */
interface Series {
  record: EventRecord
  /** Undefined until the event is created. */
  path: string | undefined
  count: number
  queued: boolean
}

export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #now: () => number
  readonly #series: LRUCache<string, Series>
  readonly #tokens: LRUCache<string, { left: number; at: number }>
  readonly #queue: Series[] = []
  #writing: Promise<void> | undefined
  #stopped = false

  constructor(options: EventRecorderOptions) {
    this.#options = options
    const now = options.now ?? (() => performance.now())
    this.#now = now
    const limits = { max: MAX_REMEMBERED, perf: { now }, ttlResolution: 0 }
    this.#series = new LRUCache({ ...limits, ttl: SERIES_MS, updateAgeOnGet: true })
    this.#tokens = new LRUCache(limits)
  }

  /**
   * Writes an event as soon as possible, in order. Events are dropped if there are too many for one object, or too many
   * are waiting. A repeat within ten minutes raises the count of the first. Never throws.
   */
  record(record: EventRecord): void {
    if (this.#stopped) return
    const { regarding, type, reason, action, note } = record
    const key = [regarding.uid, type, reason, action, note].join('\n')
    const series = this.#series.get(key) ?? { record, path: undefined, count: 0, queued: false }
    this.#series.set(key, series)
    series.count++
    if (series.queued || this.#queue.length >= MAX_QUEUED || !this.#takeToken(regarding.uid)) return
    series.queued = true
    this.#queue.push(series)
    this.#writing ??= this.#write()
  }

  /** Drops waiting events, and resolves when running requests have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#queue.length = 0
    await this.#writing
  }

  async #write(): Promise<void> {
    for (let series = this.#queue.shift(); series !== undefined; series = this.#queue.shift()) {
      series.queued = false
      try {
        if (series.path === undefined) await this.#create(series)
        else await this.#repeat(series, series.path)
      } catch (error) {
        this.#options.log.warn({ err: error, reason: series.record.reason }, 'cannot write an event')
      }
    }
    this.#writing = undefined
  }

  async #create(series: Series): Promise<void> {
    const { regarding, note, ...words } = series.record
    const { namespace } = regarding
    const name = `${regarding.name.slice(0, MAX_NAME_CHARACTERS)}.${randomBytes(8).toString('hex')}`
    const collection = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
    await this.#options.client.request({
      method: 'POST',
      path: collection,
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name, namespace },
        eventTime: microTime(),
        reportingController: CONTROLLER,
        reportingInstance: this.#options.instance,
        ...words,
        note: cut(note),
        regarding,
      },
    })
    series.path = `${collection}/${name}`
  }

  async #repeat(series: Series, path: string): Promise<void> {
    const body = { series: { count: series.count, lastObservedTime: microTime() } }
    const contentType = 'application/merge-patch+json'
    try {
      await this.#options.client.request({ method: 'PATCH', path, contentType, body })
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 404) throw error
      // The server removes events after an hour by default, or someone has deleted it.
      series.count = 1
      await this.#create(series)
    }
  }

  #takeToken(uid: string): boolean {
    const now = this.#now()
    const { left, at } = this.#tokens.get(uid) ?? { left: BURST, at: now }
    const tokens = Math.min(BURST, left + (now - at) / REFILL_MS)
    const taken = tokens >= 1
    this.#tokens.set(uid, { left: taken ? tokens - 1 : tokens, at: now })
    return taken
  }
}

/** Cuts the text between characters. */
function cut(note: string): string {
  const { read } = new TextEncoder().encodeInto(note, new Uint8Array(MAX_NOTE_BYTES))
  return note.slice(0, read)
}
