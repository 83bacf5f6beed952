/**
 * Attempts, before the commit point: nothing of an upstream's answer has reached the client yet, so a failure may be
 * retried on the same or another channel.
 */
import { setTimeout as delay } from 'node:timers/promises'
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
  withoutCarriers: boolean
}

/** Throws GatewayError when no channel could serve, ClientGone when nobody waits any more. */
export async function attempt(job: AttemptJob): Promise<Committed> {
  const { gateway, route, cancel } = job
  const progress: Progress = { tried: new Map(), excluded: new Set(), withoutCarriers: false }
  const { tried } = progress
  const startedAt = performance.now()
  gateway.retryBudget.countRequest()

  for (let count = 0; count < route.retry.attempts; count++) {
    const next = nextWay(job, progress)
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
    if (!route.retry.on.includes(outcome.class) && !mayBeOurFault(job, progress, target, lane, outcome)) break
  }
  throw clientError(progress)
}

/** The next target that the request can be said to, and the way there. */
function nextWay(job: AttemptJob, progress: Progress): { target: PlannedTarget; lane: Lane } | undefined {
  for (;;) {
    const target = nextTarget(job, progress)
    if (target === undefined) return undefined
    const { dialect, model, features } = target
    try {
      const { withoutCarriers } = progress
      return { target, lane: job.lanes.open({ dialect, model, features, withoutCarriers }) }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      progress.refusal ??= error
      progress.excluded.add(target)
    }
  }
}

function nextTarget(
  { gateway, targets }: AttemptJob,
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
  const choice = choose(candidates, Math.random())
  return 'candidate' in choice ? choice.candidate.planned : undefined
}

/**
 * What an upstream calls the caller's fault may be one of the conversion. Then the request is sent once more: to the
 * same channel without the vendor state that it refused, or to one that speaks the client's dialect.
 */
function mayBeOurFault(
  { lanes, targets }: AttemptJob,
  progress: Progress,
  target: PlannedTarget,
  lane: Lane,
  failure: UpstreamFailure,
): boolean {
  if (failure.class !== 'caller_fault' || lane.kind === 'byte') return false
  const others = (keep: (other: PlannedTarget) => boolean) => {
    for (const other of targets) if (!keep(other)) progress.excluded.add(other)
  }
  if (failure.carrierRefused === true && !progress.withoutCarriers) {
    progress.withoutCarriers = true
    progress.tried.delete(target)
    others((other) => other === target)
    return true
  }
  const native = (other: PlannedTarget) =>
    lanes.kindFor(other.dialect) === 'byte' && !progress.tried.has(other) && !progress.excluded.has(other)
  if (!targets.some(native)) return false
  others(native)
  return true
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
