/**
 * Attempts, before the commit point: nothing of an upstream's answer has reached the client yet, so a failure may be
 * retried on the same or another channel.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { LaneTarget } from '../dialects/lanes/index.ts'
import type { Lane } from '../dialects/lanes/lane.ts'
import { GatewayError, type UpstreamFailure } from '../errors.ts'
import { retryDelay } from '../upstream/backoff.ts'
import { choose } from '../upstream/choose.ts'
import { type AttemptJob, type Committed, tryOnce } from './one-attempt.ts'
import type { PlannedTarget } from './route.ts'

/** How the attempts of one request stand. */
interface Progress {
  tried: Map<PlannedTarget, number>
  /** Targets that are not asked (any more). */
  excluded: Set<PlannedTarget>
  /** Why the request could not be said in the dialect of a target. */
  refusal?: GatewayError
  last?: UpstreamFailure
  /** What later lanes do differently; see LaneTarget. */
  changes: Pick<LaneTarget, 'withoutCarriers' | 'withoutState' | 'emulate'>
}

/** Throws GatewayError when no channel could serve, ClientGone when nobody waits any more. */
export async function attempt(job: AttemptJob): Promise<Committed> {
  const { gateway, route, cancel } = job
  const progress: Progress = { tried: new Map(), excluded: new Set(), changes: { withoutCarriers: false } }
  const { tried } = progress
  const startedAt = performance.now()
  gateway.retryBudget.countRequest()

  for (let count = 0; count < route.retry.attempts; count++) {
    const next = await nextWay(job, progress)
    if (next === undefined) break
    const { target, lane } = next
    const before = tried.get(target) ?? 0
    if (progress.last !== undefined) {
      if (performance.now() - startedAt > target.channel.timeoutsMs.total) break
      // Another channel is asked whatever the budget says: it has no part in the trouble of the first.
      if (before > 0 && !gateway.retryBudget.takeRetry()) break
      const waitMs = before === 0 ? 0 : retryDelay(before, progress.last.retryAfterSeconds, Math.random())
      if (waitMs === undefined) break
      if (waitMs > 0) await delay(waitMs, undefined, { signal: cancel }).catch(() => undefined)
      if (cancel.aborted) throw cancel.reason
    }
    tried.set(target, before + 1)
    if (!gateway.health.acquire(target.key, target.model, target.channel.maxConcurrentRequests)) continue
    const outcome = await tryOnce(job, target, lane)
    if ('kind' in outcome) return outcome
    progress.last = outcome
    if (job.upload?.touched) break
    if (!route.retry.on.includes(outcome.class) && !mayGoOtherwise(job, progress, target, lane, outcome))
      break
  }
  throw clientError(progress)
}

/** The next target that the request can be said to, and the way there. */
async function nextWay(
  job: AttemptJob,
  progress: Progress,
): Promise<{ target: PlannedTarget; lane: Lane } | undefined> {
  for (;;) {
    const target = nextTarget(job, progress)
    if (target === undefined) return undefined
    const { key: channel, way, api, model, features } = target
    try {
      const how = { channel, way, model, features, ...(api && { api }), ...progress.changes }
      return { target, lane: await job.lanes.open(how) }
    } catch (error) {
      // Without the store nothing is said to any other channel either, and no upstream's word on it counts.
      if (!(error instanceof GatewayError) || error.code === 'store_unavailable') throw error
      progress.refusal ??= error
      progress.excluded.add(target)
    }
  }
}

function nextTarget(
  { gateway, targets, preferred }: AttemptJob,
  { tried, excluded }: Progress,
): PlannedTarget | undefined {
  const candidates = targets.flatMap((planned) =>
    excluded.has(planned)
      ? []
      : [
          {
            planned,
            target: planned.target,
            restingUntil: gateway.health.restingUntil(planned.key, planned.model),
            full: gateway.health.isFull(planned.key, planned.channel.maxConcurrentRequests),
            tried: tried.get(planned) ?? 0,
          },
        ],
  )
  for (const key of preferred) {
    const wanted = candidates.find(({ planned }) => planned.key === key)
    if (wanted !== undefined && wanted.tried === 0 && wanted.restingUntil === 0 && !wanted.full)
      return wanted.planned
  }
  const choice = choose(candidates, Math.random())
  return 'candidate' in choice ? choice.candidate.planned : undefined
}

/**
 * What an upstream calls the caller's fault may be one of the way that the request took. Then it is sent once more: to
 * the same channel without what it refused, or to one that speaks the client's dialect.
 */
function mayGoOtherwise(
  { lanes, targets, request }: AttemptJob,
  progress: Progress,
  target: PlannedTarget,
  lane: Lane,
  failure: UpstreamFailure,
): boolean {
  const { changes } = progress
  const others = (keep: (other: PlannedTarget) => boolean) => {
    for (const other of targets) if (!keep(other)) progress.excluded.add(other)
  }
  const again = (change: Progress['changes']) => {
    progress.changes = { ...changes, ...change }
    progress.tried.delete(target)
    others((other) => other === target)
    return true
  }
  const forgotten = failure.forCaller?.code === 'previous_response_not_found'
  if (forgotten && changes.withoutState !== true) return again({ ...changes, withoutState: true })
  if (request.compacts === true && lane.kind === 'byte' && cannotCompact(failure))
    return again({ ...changes, emulate: true })
  if (failure.class !== 'caller_fault' || lane.kind === 'byte') return false
  if (failure.carrierRefused === true && !changes.withoutCarriers)
    return again({ ...changes, withoutCarriers: true })
  const native = (other: PlannedTarget) =>
    lanes.kindFor(other) === 'byte' && !progress.tried.has(other) && !progress.excluded.has(other)
  if (!targets.some(native)) return false
  others(native)
  return true
}

/** Many upstreams that call themselves of the responses API have no compaction. */
function cannotCompact({ status }: UpstreamFailure): boolean {
  return status !== undefined && [400, 404, 405, 422, 501].includes(status)
}

/** What the client is told when attempts are over. */
function clientError({ last, refusal }: Progress): GatewayError {
  if (last?.forCaller !== undefined) return last.forCaller
  if (last === undefined && refusal !== undefined) return refusal
  const busy = last === undefined || last.class === 'rate_limit'
  return new GatewayError(
    'upstream_error',
    busy ? 'The upstream is busy.' : 'The upstream could not serve the request.',
    { retryAfterSeconds: last === undefined ? 1 : last.retryAfterSeconds },
  )
}
