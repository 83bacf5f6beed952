/**
 * Attempts, before the commit point: nothing of an upstream's answer has reached the client yet, so a failure may be
 * retried on the same or another channel.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FailureClass } from '../../../contract/failures.ts'
import { after, isLater, rescued, type Soon } from '../../../kit/soon.ts'
import { pause } from '../../../kit/time.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import { GatewayError, type UpstreamFailure } from '../../errors.ts'
import { retryDelay } from '../../upstream/backoff.ts'
import { choose } from '../../upstream/choose.ts'
import { ClientGone } from '../request/client.ts'
import type { RequestContext } from '../request/context.ts'
import type { PlannedTarget } from '../route.ts'
import { adaptAfterRefusal, type Changes } from './adapt-after-refusal.ts'
import type { AttemptJob, Choice, Upstreams } from './job.ts'
import { AbandonedAttempt, type Committed, tryOnce } from './try-once.ts'

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

/** The state of the attempts of one request. */
interface Progress {
  tried: Map<PlannedTarget, number>
  /** Targets that get no (further) attempt. */
  excluded: Set<PlannedTarget>
  /** The first reason why the request could not be converted for a target. */
  refusal?: GatewayError
  last?: UpstreamFailure
  /** The last target that may have worked on the request before its attempt failed. */
  worked?: PlannedTarget
  /** Failures after which the same channel may serve the request later. */
  passing: UpstreamFailure[]
  /** How later lanes differ. */
  changes: Changes
  /** Target to retry first, with a changed request. */
  again?: PlannedTarget | undefined
}

/** Throws GatewayError when no channel could serve, ClientGone when the client left. */
export async function tryTargets(
  upstreams: Upstreams,
  ctx: RequestContext,
  job: AttemptJob,
): Promise<Committed> {
  const { health, retryBudget } = upstreams
  const { route } = job
  const { cancel } = ctx
  const progress: Progress = {
    tried: new Map(),
    excluded: new Set(),
    passing: [],
    changes: { withoutCarriers: false },
  }
  const { tried } = progress
  const startedAt = performance.now()
  retryBudget.countRequest()

  for (let count = 0; count < route.retry.attempts; ) {
    const chosen = nextChoice(upstreams, job, progress)
    const next = isLater(chosen) ? await chosen : chosen
    if (next === undefined) break
    const { target } = next
    const before = tried.get(target) ?? 0
    if (progress.last !== undefined) {
      if (performance.now() - startedAt > target.channel.timeoutsMs.total) break
      // The budget bounds retries on the same channel only: another channel has no part in the trouble of the first.
      if (before > 0 && !retryBudget.takeRetry()) break
      const waitMs = before === 0 ? 0 : retryDelay(before, progress.last.retryAfterSeconds, Math.random())
      if (waitMs === undefined) break
      if (waitMs > 0) await pause(waitMs, cancel, 'resolve')
      if (cancel.aborted) throw leftWaiting(cancel.reason, progress)
    }
    tried.set(target, before + 1)
    count++
    const place = health.acquire(target.key, target.model, target.channel.maxConcurrentRequests)
    if (place === undefined) continue
    job.bill?.attempting(target.key)
    const outcome = await ctx.stage('attempt', () =>
      tryOnce(upstreams, ctx, job, { target, lane: next.lane, place }),
    )
    if ('kind' in outcome) return outcome
    progress.last = outcome
    if (outcome.mayHaveWorked) progress.worked = target
    if (job.upload?.touched) break
    // Each change is made once and costs no attempt: the channel did not fail.
    if (retryWithChanges(job, progress, next, outcome)) {
      count--
      continue
    }
    exclude(job, progress, target, outcome)
    if (!route.retry.on.includes(outcome.class) && !isConversionFault(job, progress, next.lane, outcome))
      break
  }
  throw clientError(job, progress)
}

/** A client that leaves while a retry waits pays for the prompt, if an upstream has worked on it. */
function leftWaiting(reason: unknown, { worked }: Progress): unknown {
  return reason instanceof ClientGone && worked !== undefined ? new AbandonedAttempt(worked, true) : reason
}

/** Excludes the targets that would fail in the same way again. */
function exclude(
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
  // The same model would refuse the request again.
  if (failure.channelNotAtFault) excluded.add(target)
}

/** The next target whose dialect can express the request, and the lane there. */
function nextChoice(upstreams: Upstreams, job: AttemptJob, progress: Progress): Soon<Choice | undefined> {
  const target = nextTarget(upstreams, job, progress)
  if (target === undefined) return undefined
  const { key: channel, lane, api, model, features } = target
  const { withoutLimit, withoutCarriers, withoutState, emulate } = progress.changes
  const outputLimit = withoutLimit === true ? undefined : job.bill?.outputLimit
  const to = { channel, lane, api, model, features, outputLimit, withoutCarriers, withoutState, emulate }
  return rescued<Choice | undefined>(
    () => after(job.lanes.open(to), (lane) => ({ target, lane })),
    (error) => {
      // If the store is down no channel can be tried, so this error takes precedence over any upstream's.
      if (!(error instanceof GatewayError) || error.code === 'store_unavailable') throw error
      progress.refusal ??= error
      progress.excluded.add(target)
      return nextChoice(upstreams, job, progress)
    },
  )
}

function nextTarget(
  { health }: Upstreams,
  { targets, preferred }: AttemptJob,
  progress: Progress,
): PlannedTarget | undefined {
  const { tried, excluded, again } = progress
  progress.again = undefined
  if (again !== undefined && !excluded.has(again)) return again
  const [only, second] = targets
  if (only !== undefined && second === undefined)
    return excluded.has(only) || health.isFull(only.key, only.channel.maxConcurrentRequests)
      ? undefined
      : only
  const candidates = targets
    .filter((planned) => !excluded.has(planned))
    .map((planned) => ({
      planned,
      target: planned.target,
      ejectedUntil: health.ejectedUntil(planned.key, planned.model),
      full: health.isFull(planned.key, planned.channel.maxConcurrentRequests),
      tried: tried.get(planned) ?? 0,
    }))
  for (const key of preferred) {
    const wanted = candidates.find(({ planned }) => planned.key === key)
    if (wanted !== undefined && wanted.tried === 0 && wanted.ejectedUntil === 0 && !wanted.full)
      return wanted.planned
  }
  const choice = choose(candidates, Math.random())
  return 'candidate' in choice ? choice.candidate.planned : undefined
}

/** Plans a retry on the same channel with a changed request, if one may succeed. False: there is no such change. */
function retryWithChanges(
  { request }: AttemptJob,
  progress: Progress,
  { target, lane }: Choice,
  failure: UpstreamFailure,
): boolean {
  const change = adaptAfterRefusal(request, lane, failure)
  const changes = { ...progress.changes, ...change }
  if (change === undefined || isDeepStrictEqual(changes, progress.changes)) return false
  progress.changes = changes
  progress.tried.delete(target)
  progress.again = target
  return true
}

/**
 * Whether the gateway's conversion may have caused a failure that an upstream calls the caller's fault. If so only
 * targets that need no conversion are left.
 */
function isConversionFault(
  { targets }: AttemptJob,
  { tried, excluded }: Progress,
  lane: Lane,
  failure: UpstreamFailure,
): boolean {
  if (failure.class !== 'caller_fault' || lane.kind === 'byte') return false
  const isUnconverted = (other: PlannedTarget) =>
    other.lane === 'byte' && !tried.has(other) && !excluded.has(other)
  if (!targets.some(isUnconverted)) return false
  for (const other of targets) if (!isUnconverted(other)) excluded.add(other)
  return true
}

/** The error for the client after the last attempt. */
function clientError(
  { targets }: AttemptJob,
  { last, refusal, changes, passing, excluded }: Progress,
): GatewayError {
  // The upstream does not know the conversation, and the gateway cannot replay it.
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
