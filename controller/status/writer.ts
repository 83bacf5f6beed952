/** Writes statuses to the API server: only those that differ, at a limited rate, and no transient ones. */
import { isDeepStrictEqual } from 'node:util'
import { API_VERSION, CONDITION_TYPES, KIND_NAMES, KINDS, type KindName } from '../../contract/api/index.ts'
import type { Log } from '../../contract/log.ts'
import { applyStatus } from '../kube/apply.ts'
import type { EventRecorder } from '../kube/events.ts'
import type { KubeClient } from '../kube/types.ts'
import { type QueueMetrics, WorkQueue } from '../kube/workqueue.ts'
import type { FoundStatus } from '../snapshot.ts'
import { announcements } from './announce.ts'
import type { Status } from './board.ts'

const FIELD_MANAGER = 'sluice-controller'
const CONCURRENCY = 8
const WRITES_PER_SECOND = 200

/**
 * How long a condition with this reason is held back, because it may change by itself: resources applied together arrive
 * one by one, and proxies need a moment to take up a publication, or to send heartbeats after the store was unreachable.
 * There is no delay if the API server calls an old generation ready, which must not be mistaken for the new one.
 */
const GRACE_MS: Readonly<Record<string, number>> = {
  Pending: 1_000,
  RefNotFound: 1_000,
  RefNotInForce: 1_000,
  NoProxies: 5_000,
}

/** A resource in the API server. */
export interface Found {
  uid: string
  status: FoundStatus | undefined
}

interface StatusWriterOptions {
  client: KubeClient
  /** The status that a resource should have, and the one it has, by statusId. */
  wanted: (id: string) => Status | undefined
  found: (id: string) => Found | undefined
  events: Pick<EventRecorder, 'record'>
  log: Log
  metrics?: QueueMetrics
}

export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #queue: WorkQueue<string>
  /** Statuses that were written and have not come back through the watch yet. */
  readonly #written = new Map<string, Status>()
  /** When a status first had a transient condition. */
  readonly #passing = new Map<string, number>()

  constructor(options: StatusWriterOptions) {
    this.#options = options
    this.#queue = new WorkQueue({
      name: 'status',
      concurrency: CONCURRENCY,
      perSecond: WRITES_PER_SECOND,
      work: (id) => this.#write(id),
      log: options.log,
      ...(options.metrics && { metrics: options.metrics }),
    })
  }

  /** Compares the statuses of these resources, and writes those that differ. */
  changed(ids: Iterable<string>): void {
    for (const id of ids) {
      const due = this.#due(id)
      if (due === undefined) continue
      if (due.inMs > 0) this.#queue.addAfter(id, due.inMs)
      else this.#queue.add(id)
    }
  }

  /** The watch has reported a new version, or the deletion, of this resource. */
  seen(id: string): void {
    this.#written.delete(id)
    this.changed([id])
  }

  stop(): Promise<void> {
    return this.#queue.stop()
  }

  /** The status to write, and when; undefined if there is none. */
  #due(id: string): { status: Status; found: Found; inMs: number } | undefined {
    const status = this.#options.wanted(id)
    const found = this.#options.found(id)
    const same =
      status === undefined ||
      found === undefined ||
      matches(found.status, status) ||
      isDeepStrictEqual(this.#written.get(id), status)
    if (same) {
      this.#passing.delete(id)
      return undefined
    }
    const grace = showsOldReady(found.status, status.observedGeneration)
      ? 0
      : Math.max(...status.conditions.map(({ reason }) => GRACE_MS[reason] ?? 0))
    if (grace === 0) {
      this.#passing.delete(id)
      return { status, found, inMs: 0 }
    }
    const since = this.#passing.get(id) ?? performance.now()
    this.#passing.set(id, since)
    return { status, found, inMs: Math.max(0, Math.ceil(since + grace - performance.now())) }
  }

  async #write(id: string): Promise<void> {
    const due = this.#due(id)
    if (due === undefined) return
    if (due.inMs > 0) return this.#queue.addAfter(id, due.inMs)
    const { status, found } = due
    const { kind, namespace, name, path } = placeOf(id)
    const { uid } = found
    const object = { apiVersion: API_VERSION, kind, namespace, name, path }
    if ((await applyStatus(this.#options.client, object, status, FIELD_MANAGER)) === 'gone') return
    // The watch reports each version once, and may have been quicker than the answer.
    const seen = this.#options.found(id)
    if (seen !== undefined && !matches(seen.status, status)) this.#written.set(id, status)
    this.#passing.delete(id)
    const regarding = { apiVersion: API_VERSION, kind, namespace, name, uid }
    for (const event of announcements(found.status, status))
      this.#options.events.record({ regarding, ...event })
  }
}

/** True if the API server calls another generation than this one ready. */
function showsOldReady(found: FoundStatus | undefined, generation: number | undefined): boolean {
  const ready = found?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && found?.observedGeneration !== generation
}

/** True if the API server has the fields and conditions of `status`, and no other conditions of our types. */
function matches(found: FoundStatus | undefined, status: Status): boolean {
  if (found === undefined) return false
  const { conditions: old = [], ...oldFields } = found
  const { conditions, ...fields } = status
  const ours = old.filter(({ type }) => CONDITION_TYPES.some((known) => known === type))
  return (
    ours.length === conditions.length &&
    conditions.every((condition) =>
      isDeepStrictEqual(
        ours.find(({ type }) => type === condition.type),
        condition,
      ),
    ) &&
    isDeepStrictEqual(oldFields, fields)
  )
}

function placeOf(id: string): { kind: KindName; namespace: string; name: string; path: string } {
  const [kindName = '', namespace = '', name = ''] = id.split('/')
  const kind = KIND_NAMES.find((known) => known === kindName)
  if (kind === undefined) throw new Error(`${id} has no known kind`)
  const path = `/apis/${API_VERSION}/namespaces/${namespace}/${KINDS[kind].plural}/${name}`
  return { kind, namespace, name, path }
}
