/**
 * Attempts, before the commit point: nothing of an upstream's answer has reached the client yet, so a failure may be
 * retried on the same or another channel.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { FailureClass } from '../../../contract/failures.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import { GatewayError, type UpstreamFailure } from '../../errors.ts'
import { retryDelay } from '../../upstream/backoff.ts'
import { choose } from '../../upstream/choose.ts'
import type { PlannedTarget } from '../route.ts'
import { type Changes, refusedWay } from './adapt-after-refusal.ts'
import { type AttemptJob, type Committed, tryOnce } from './try-once.ts'

/**
 * After these the same credential, or the same model there, would be refused again: the rest of the attempts go to
 * other channels.
 */
const REFUSES_AGAIN: Partial<Record<FailureClass, 'channel' | 'model'>> = {
  credential: 'channel',
  quota: 'channel',
  region_blocked: 'channel',
  model_gone: 'model',
  model_access: 'model',
}

/** How the attempts of one request stand. */
interface Progress {
  tried: Map<PlannedTarget, number>
  /** Targets that are not asked (any more). */
  excluded: Set<PlannedTarget>
  /** Why the request could not be said in the dialect of a target. */
  refusal?: GatewayError
  last?: UpstreamFailure
  /** Failures after which the same channel may serve the request later. */
  passing: UpstreamFailure[]
  /** What later lanes do differently. */
  changes: Changes
  /** Asked once more, in another way, before any other. */
  again?: PlannedTarget | undefined
}

/** Throws GatewayError when no channel could serve, ClientGone when nobody waits any more. */
export async function attempt(job: AttemptJob): Promise<Committed> {
  const { gateway, route, cancel } = job
  const progress: Progress = {
    tried: new Map(),
    excluded: new Set(),
    passing: [],
    changes: { withoutCarriers: false },
  }
  const { tried } = progress
  const startedAt = performance.now()
  gateway.retryBudget.countRequest()

  for (let count = 0; count < route.retry.attempts; ) {
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
    count++
    const place = gateway.health.acquire(target.key, target.model, target.channel.maxConcurrentRequests)
    if (place === undefined) continue
    const outcome = await tryOnce(job, target, lane, place)
    if ('kind' in outcome) return outcome
    progress.last = outcome
    if (job.upload?.touched) break
    // Each change is made once, and costs no attempt: the first was none of the channel's failures.
    if (goesOtherwise(job, progress, target, lane, outcome)) {
      count--
      continue
    }
    rule(job, progress, target, outcome)
    if (!route.retry.on.includes(outcome.class) && !mayBeOurFault(job, progress, lane, outcome)) break
  }
  throw clientError(job, progress)
}

/** Takes out the targets that would fail in the same way again. */
function rule(
  { targets }: AttemptJob,
  { excluded, passing }: Progress,
  target: PlannedTarget,
  failure: UpstreamFailure,
): void {
  const again = REFUSES_AGAIN[failure.class]
  if (again === undefined) passing.push(failure)
  else
    for (const other of targets)
      if (other.key === target.key && (again === 'channel' || other.model === target.model))
        excluded.add(other)
  // The same model would say the same again.
  if (failure.blameless) excluded.add(target)
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
  progress: Progress,
): PlannedTarget | undefined {
  const { tried, excluded, again } = progress
  progress.again = undefined
  if (again !== undefined && !excluded.has(again)) return again
  const candidates = targets.flatMap((planned) =>
    excluded.has(planned)
      ? []
      : [
          {
            planned,
            target: planned.target,
            ejectedUntil: gateway.health.ejectedUntil(planned.key, planned.model),
            full: gateway.health.isFull(planned.key, planned.channel.maxConcurrentRequests),
            tried: tried.get(planned) ?? 0,
          },
        ],
  )
  for (const key of preferred) {
    const wanted = candidates.find(({ planned }) => planned.key === key)
    if (wanted !== undefined && wanted.tried === 0 && wanted.ejectedUntil === 0 && !wanted.full)
      return wanted.planned
  }
  const choice = choose(candidates, Math.random())
  return 'candidate' in choice ? choice.candidate.planned : undefined
}

/** Whether the same channel is asked in another way: without what it refused, or for what it can do. */
function goesOtherwise(
  { request }: AttemptJob,
  progress: Progress,
  target: PlannedTarget,
  lane: Lane,
  failure: UpstreamFailure,
): boolean {
  const change = refusedWay(request, lane, failure)
  const changes = { ...progress.changes, ...change }
  if (change === undefined || isDeepStrictEqual(changes, progress.changes)) return false
  progress.changes = changes
  progress.tried.delete(target)
  progress.again = target
  return true
}

/** What an upstream calls the caller's fault may be one of the conversion: then one of the client's dialect is asked. */
function mayBeOurFault(
  { lanes, targets }: AttemptJob,
  { tried, excluded }: Progress,
  lane: Lane,
  failure: UpstreamFailure,
): boolean {
  if (failure.class !== 'caller_fault' || lane.kind === 'byte') return false
  const native = (other: PlannedTarget) =>
    lanes.kindFor(other) === 'byte' && !tried.has(other) && !excluded.has(other)
  if (!targets.some(native)) return false
  for (const other of targets) if (!native(other)) excluded.add(other)
  return true
}

/** What the client is told when attempts are over. */
function clientError(
  { targets }: AttemptJob,
  { last, refusal, changes, passing, excluded }: Progress,
): GatewayError {
  // The upstream does not know the conversation, and nobody can tell it.
  if (changes.withoutState === true && refusal !== undefined) return refusal
  if (last?.forCaller !== undefined) return last.forCaller
  if (last === undefined) return refusal ?? busy(1)
  const waits = passing.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
  const retryAfter = waits.length === 0 ? undefined : Math.min(...waits)
  if (passing.length > 0 && passing.every((failure) => failure.class === 'rate_limit'))
    return busy(retryAfter)
  return new GatewayError('upstream_error', 'The upstream could not serve the request.', {
    retryAfterSeconds: retryAfter,
    // Each channel that could have served has refused, and will refuse again.
    final: passing.length === 0 && targets.every((one) => excluded.has(one) || one.target.weight === 0),
  })
}

function busy(retryAfterSeconds: number | undefined): GatewayError {
  return new GatewayError('upstream_error', 'The upstream is busy.', { retryAfterSeconds })
}
