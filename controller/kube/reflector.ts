/**
 * A copy of one resource of the API server: listed, then watched for as long as it is needed. Differences are told in
 * the order in which they happened, each once; what changed while the server was away is told when it is back.
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
  /** Of the collection: "/apis/sluice.dev/v1alpha1/apikeys" */
  path: string
  fieldSelector?: string
  labelSelector?: string
  log: Log
  /** What to remember of an object. Where it throws, the last one stays. Called again only for another version. */
  keep(object: KubeObject): T
  /**
   * The first complete state in one call, unless it is empty; later what arrived at once. The cache has it all.
   * Something is removed when the server says so, or when a complete list lacks it.
   */
  changed(changes: Change<T>[]): void
  /** A watch that says nothing for so long is dead: the server sends a bookmark each minute. Default 90 s. */
  staleAfterMs?: number
  /** Between looks whether the server went back to an earlier state, which no watch tells. Default 10 min. */
  checkEveryMs?: number
  /** Between attempts; doubled with each failure. Default 200 ms to 5 s. */
  backoff?: Backoff
}

export interface ReflectorHealth {
  synced: boolean
  /** Since the server was last heard of; before that, since the start. */
  lastEventAgeMs: number
  /** Times that everything was listed again, after the first. */
  relists: number
}

const LIST_TIMEOUT_MS = 30_000
const PAGE_ITEMS = 1_000
/** Seconds until the server ends a watch: not the same for all, so that they do not come back together. */
const WATCH_SECONDS = { min: 300, max: 600 }
const GONE = 410
const BACKOFF: Backoff = { firstMs: 200, lastMs: 5_000, jitter: 0.5 }
/** How a server refuses a streaming list that it does not know or cannot do. */
const NO_STREAMING_LIST = [400, 422, 500]

export class Reflector<T> {
  /** Resolves when the first complete state was delivered, or when it is stopped before. */
  readonly synced: Promise<void>
  readonly #options: ReflectorOptions<T>
  readonly #cache: ObjectCache<T>
  readonly #stop = new AbortController()
  #resolveSynced = () => {}
  #running: Promise<void> | undefined
  #checks: NodeJS.Timeout | undefined
  /** Ends the stream that is open. */
  #stream = new AbortController()
  /** Up to where the cache is complete; undefined: everything must be listed. */
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
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve
    })
  }

  start(): void {
    if (this.#running !== undefined || this.#stop.signal.aborted) return
    this.#lastEventAt = performance.now()
    this.#running = this.#run()
    this.#checks = setInterval(() => void this.#check(), this.#options.checkEveryMs ?? 600_000)
  }

  /** Nothing is delivered any more from the call on; resolves when nothing is open. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#stream.abort()
    clearInterval(this.#checks)
    await this.#running
    this.#resolveSynced()
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
      // Since the last opening, so that a watch which ends after minutes is opened again at once.
      const earliest = openedAt + backoffMs(this.#failures++, this.#options.backoff ?? BACKOFF)
      const serverMs = (error instanceof KubeError && error.retryAfterMs) || 0
      const waitMs = Math.max(earliest - performance.now(), serverMs)
      if (waitMs > 0) await pause(waitMs, this.#stop.signal, 'resolve')
    }
  }

  /** Lists where that is needed, and watches until the server ends it. */
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

  /** `initial` takes what the server sends before it says that it was everything. */
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
        this.#heard()
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
    // What one chunk carried is taken before the next turn of the event loop.
    if (this.#pending.length === 0) setImmediate(() => this.#deliver())
    this.#pending.push(change)
  }

  /** In pages, all of one version, which it returns. */
  async #list(): Promise<string> {
    const collected = this.#cache.collect()
    for (let from: string | undefined; ; ) {
      const query = { limit: String(PAGE_ITEMS), ...(from !== undefined && { continue: from }) }
      const page = await this.#page(query)
      this.#heard()
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
    this.#resolveSynced()
  }

  #deliver(): void {
    const changes = this.#pending
    this.#pending = []
    if (changes.length === 0 || this.#stop.signal.aborted) return
    try {
      this.#options.changed(changes)
    } catch (error) {
      this.#options.log.error({ err: error, path: this.#options.path }, 'changes could not be taken over')
    }
  }

  #heard(): void {
    this.#lastEventAt = performance.now()
    this.#failures = 0
    if (this.#lastFailure === undefined) return
    this.#lastFailure = undefined
    this.#options.log.info({ path: this.#options.path }, 'the API server answers again')
  }

  #failed(error: unknown): void {
    const { log, path } = this.#options
    const status = error instanceof KubeError ? error.status : 0
    if (status === GONE) {
      // A server that was away is back, and has only forgotten: there is nothing to wait for.
      if (this.#version !== undefined) this.#failures = 0
      this.#version = undefined
      log.info({ path }, 'the API server has forgotten where this watch was; everything is listed again')
      return
    }
    // Once for a row of equal failures.
    if (status === this.#lastFailure) return
    this.#lastFailure = status
    log.warn(
      { err: error, path },
      ADVICE[status] ?? 'a watch failed; what is known stays in force until it is back',
    )
  }

  /** A server whose storage was restored from a backup lets a watch from a later version wait in silence. */
  async #check(): Promise<void> {
    const { log, path } = this.#options
    const before = this.#version
    if (before === undefined) return
    try {
      const { metadata } = await this.#page({ limit: '1' })
      if (!wentBack(metadata.resourceVersion, before)) return
      log.warn({ path }, 'the API server went back to an earlier state; everything is listed again')
      this.#mustRelist = true
      this.#stream.abort()
    } catch {
      // The watch itself tells when the server is away.
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
  401: 'the API server does not know this account; its token may have ended',
  403: 'the API server does not allow this; give the ServiceAccount get, list and watch',
  404: 'the API server does not have this resource; apply the CustomResourceDefinitions (crds/)',
}
