/**
 * A copy of one collection of the API server: listed, then watched. Changes are delivered once and in order; changes
 * while the server was unreachable are delivered when it is back.
 */

import type { Log } from '../../contract/log.ts'
import { type Backoff, backoffMs } from '../../kit/backoff.ts'
import { pause } from '../../kit/time.ts'
import { statusError } from './errors.ts'
import { type Change, type Collected, ObjectCache } from './object-cache.ts'
import { endsInitialEvents, type Page, parseEvent, parsePage, type WatchEvent, wentBack } from './objects.ts'
import { type KubeCall, type KubeClient, KubeError, type KubeObject } from './types.ts'

export type { Change } from './object-cache.ts'

export interface ReflectorOptions<T> {
  client: KubeClient
  /** Path of the collection, such as "/apis/sluice.dev/v1alpha1/apikeys". */
  path: string
  fieldSelector?: string
  labelSelector?: string
  log: Log
  /** What to keep of an object; called once per version. If it throws, the previous version stays. */
  keep(object: KubeObject): T
  /**
   * Called with the first complete state, unless it is empty, and then with changes that arrived together; the cache
   * already contains them. An object is removed when the server deletes it, or when a complete list lacks it.
   */
  changed(changes: Change<T>[]): void
  /** A watch that is silent for so long counts as dead: the server sends a bookmark each minute. Default 90 s. */
  staleAfterMs?: number
  /** Interval of checks whether the server went back to an earlier state, which no watch reports. Default 10 min. */
  checkEveryMs?: number
  /** Time between attempts; doubles with each failure. Default 200 ms to 5 s. */
  backoff?: Backoff
}

interface ReflectorHealth {
  synced: boolean
  /** Time since the server last sent something, or since the start. */
  lastEventAgeMs: number
  /** Number of complete lists after the first. */
  relists: number
}

const LIST_TIMEOUT_MS = 30_000
const PAGE_ITEMS = 1_000
/** Seconds until the server ends a watch; random, so that watches do not reconnect at the same time. */
const WATCH_SECONDS = { min: 300, max: 600 }
const GONE = 410
const BACKOFF: Backoff = { firstMs: 200, lastMs: 5_000, jitter: 0.5 }
/** Statuses with which a server refuses a streaming list that it does not support. */
const NO_STREAMING_LIST = [400, 422, 500]

export class Reflector<T> {
  /** Resolves when the first complete state was delivered, or when the reflector is stopped before. */
  readonly synced: Promise<void>
  readonly #synced = Promise.withResolvers<void>()
  readonly #options: ReflectorOptions<T>
  readonly #cache: ObjectCache<T>
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #checks: NodeJS.Timeout | undefined
  /** Ends the open stream. */
  #stream = new AbortController()
  /** The version up to which the cache is complete; undefined: everything must be listed. */
  #version: string | undefined
  #mustRelist = false
  #lists = 0
  #failures = 0
  #lastFailure: number | undefined
  #lastEventAt = performance.now()
  #pending: Change<T>[] = []

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#cache = new ObjectCache((object) => options.keep(object), options.log)
    this.synced = this.#synced.promise
  }

  start(): void {
    if (this.#running !== undefined || this.#stop.signal.aborted) return
    this.#lastEventAt = performance.now()
    this.#running = this.#run()
    this.#checks = setInterval(() => void this.#check(), this.#options.checkEveryMs ?? 600_000)
  }

  /** Stops deliveries at once; resolves when the stream is closed. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#stream.abort()
    clearInterval(this.#checks)
    await this.#running
    this.#synced.resolve()
  }

  get(key: string): T | undefined {
    return this.#cache.get(key)
  }

  values(): IterableIterator<T> {
    return this.#cache.values()
  }

  get size(): number {
    return this.#cache.size
  }

  health(): ReflectorHealth {
    return {
      synced: this.#lists > 0,
      lastEventAgeMs: performance.now() - this.#lastEventAt,
      relists: Math.max(0, this.#lists - 1),
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const openedAt = performance.now()
      const error = await this.#follow().then(
        () => undefined,
        (cause: unknown) => cause,
      )
      if (this.#stop.signal.aborted) return
      if (error !== undefined) this.#failed(error)
      // Counted from the last opening, so that a watch that ends after minutes is opened again at once.
      const earliest = openedAt + backoffMs(this.#failures++, this.#options.backoff ?? BACKOFF)
      const serverMs = (error instanceof KubeError && error.retryAfterMs) || 0
      const waitMs = Math.max(earliest - performance.now(), serverMs)
      if (waitMs > 0) await pause(waitMs, this.#stop.signal, 'resolve')
    }
  }

  /** Lists if necessary, and watches until the server ends the watch. */
  async #follow(): Promise<void> {
    if (this.#mustRelist) {
      this.#mustRelist = false
      this.#version = undefined
    }
    this.#stream = new AbortController()
    if (this.#version !== undefined) return this.#watch({ resourceVersion: this.#version })
    try {
      await this.#watch(
        { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
        this.#cache.collect(),
      )
    } catch (error) {
      const refused = error instanceof KubeError && NO_STREAMING_LIST.includes(error.status)
      if (!refused || this.#version !== undefined) throw error
      this.#version = await this.#list()
      await this.#watch({ resourceVersion: this.#version })
    }
  }

  /** `initial` collects the objects that the server sends before it reports the end of the list. */
  async #watch(query: Record<string, string>, initial?: Collected<T>): Promise<void> {
    const { min, max } = WATCH_SECONDS
    const timeoutSeconds = String(min + Math.floor(Math.random() * (max - min)))
    const { signal } = this.#stream
    const call: KubeCall = {
      path: this.#options.path,
      query: this.#selected({ watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds, ...query }),
      signal,
    }
    const silence = setTimeout(() => this.#stream.abort(), this.#options.staleAfterMs ?? 90_000)
    let collected = initial
    try {
      for await (const line of this.#options.client.stream(call)) {
        if (signal.aborted) return
        silence.refresh()
        const event = parseEvent(line)
        if (event.type === 'ERROR') throw statusError(call, event.object)
        this.#onAnswer()
        if (collected === undefined) this.#take(event)
        else if (endsInitialEvents(event)) {
          this.#version = versionOf(event)
          this.#complete(collected)
          collected = undefined
        } else if (event.type === 'DELETED') collected.remove(event.object)
        else if (event.type !== 'BOOKMARK') collected.put(event.object)
      }
    } finally {
      clearTimeout(silence)
    }
  }

  #take(event: Exclude<WatchEvent, { type: 'ERROR' }>): void {
    this.#version = versionOf(event)
    if (event.type === 'BOOKMARK') return
    const change = event.type === 'DELETED' ? this.#cache.remove(event.object) : this.#cache.put(event.object)
    if (change === undefined) return
    // The events of one chunk are processed before the next turn of the event loop, and delivered together.
    if (this.#pending.length === 0) setImmediate(() => this.#deliver())
    this.#pending.push(change)
  }

  /** Lists everything in pages of one version, which it returns. */
  async #list(): Promise<string> {
    const collected = this.#cache.collect()
    for (let from: string | undefined; ; ) {
      const query = { limit: String(PAGE_ITEMS), ...(from !== undefined && { continue: from }) }
      const page = await this.#page(query)
      this.#onAnswer()
      for (const item of page.items ?? []) collected.put(item)
      from = page.metadata.continue || undefined
      if (from !== undefined) continue
      if (!this.#stop.signal.aborted) this.#complete(collected)
      return page.metadata.resourceVersion
    }
  }

  #complete(collected: Collected<T>): void {
    this.#lists++
    this.#pending.push(...this.#cache.replace(collected))
    this.#deliver()
    this.#synced.resolve()
  }

  #deliver(): void {
    const changes = this.#pending
    this.#pending = []
    if (changes.length === 0 || this.#stop.signal.aborted) return
    try {
      this.#options.changed(changes)
    } catch (error) {
      this.#options.log.error({ err: error, path: this.#options.path }, 'changes could not be processed')
    }
  }

  #onAnswer(): void {
    this.#lastEventAt = performance.now()
    this.#failures = 0
    if (this.#lastFailure === undefined) return
    this.#lastFailure = undefined
    this.#options.log.info({ path: this.#options.path }, 'the API server responds again')
  }

  #failed(error: unknown): void {
    const { log, path } = this.#options
    const status = error instanceof KubeError ? error.status : 0
    if (status === GONE) {
      // The server is reachable and has only forgotten this version: no need to wait.
      if (this.#version !== undefined) this.#failures = 0
      this.#version = undefined
      log.info({ path }, 'the API server no longer has the version of this watch; listing everything again')
      return
    }
    // Logs the first of equal failures in a row.
    if (status === this.#lastFailure) return
    this.#lastFailure = status
    log.warn(
      { err: error, path },
      ADVICE[status] ?? 'a watch failed; known resources stay in force until it works again',
    )
  }

  /** If the server's storage was restored from a backup, a watch from a later version just stays silent. */
  async #check(): Promise<void> {
    const { log, path } = this.#options
    const before = this.#version
    if (before === undefined) return
    try {
      const { metadata } = await this.#page({ limit: '1' })
      if (!wentBack(metadata.resourceVersion, before)) return
      log.warn({ path }, 'the API server went back to an earlier state; listing everything again')
      this.#mustRelist = true
      this.#stream.abort()
    } catch {
      // The watch itself reports an unreachable server.
    }
  }

  async #page(query: Record<string, string>): Promise<Page> {
    const { client, path } = this.#options
    const call = { path, query: this.#selected(query), timeoutMs: LIST_TIMEOUT_MS, signal: this.#stop.signal }
    return parsePage(await client.request(call))
  }

  #selected(query: Record<string, string>): Record<string, string> {
    const { fieldSelector, labelSelector } = this.#options
    return { ...query, ...(fieldSelector && { fieldSelector }), ...(labelSelector && { labelSelector }) }
  }
}

function versionOf({ object }: Exclude<WatchEvent, { type: 'ERROR' }>): string {
  return object.metadata.resourceVersion
}

const ADVICE: Readonly<Record<number, string>> = {
  401: 'the API server does not accept our credentials; the token may have expired',
  403: 'the API server denies access; allow the ServiceAccount to get, list and watch',
  404: 'the API server does not have this resource; apply the CustomResourceDefinitions (crds/)',
}
