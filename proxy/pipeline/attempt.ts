/**
 * Attempts, before the commit point: nothing of an upstream's answer has reached the client yet, so a failure may be
 * retried on the same or another channel.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { RouteRecord } from '../../contract/table/records.ts'
import type { Answer, Dialect, ParsedRequest } from '../dialects/dialect.ts'
import { GatewayError, type UpstreamFailure } from '../errors.ts'
import type { AttemptRecord } from '../telemetry/request-log.ts'
import { retryDelay } from '../upstream/backoff.ts'
import { choose } from '../upstream/choose.ts'
import { send, type UpstreamResponse } from '../upstream/exchange.ts'
import { AttemptFailed } from '../upstream/failure.ts'
import { upstreamRequest } from '../upstream/request.ts'
import { ClientGone } from './client.ts'
import type { Gateway } from './gateway.ts'
import type { PlannedTarget } from './route.ts'
import { secretsOf } from './secrets.ts'
import { UpstreamStream } from './upstream-stream.ts'

/** Larger error bodies are not read at all; the log keeps the beginning of smaller ones. */
const MAX_ERROR_BYTES = 1_048_576
/** How long the body of an error answer may take. */
const ERROR_BODY_MS = 3_000

export interface AttemptJob {
  gateway: Gateway
  dialect: Dialect
  request: ParsedRequest
  route: RouteRecord
  targets: PlannedTarget[]
  cancel: AbortSignal
  /** Filled as attempts end. */
  attempts: AttemptRecord[]
}

/** An answer that is good so far; whoever gets it must call `release` when it is over. */
export type Committed = { target: PlannedTarget; release: () => void } & (
  | { kind: 'answer'; answer: Answer }
  | { kind: 'stream'; stream: UpstreamStream }
)

/** The client left while an upstream was at work; `accepted`: the upstream had already said 2xx. */
export class AbandonedAttempt extends ClientGone {
  readonly target: PlannedTarget
  readonly accepted: boolean
  constructor(target: PlannedTarget, accepted: boolean) {
    super()
    this.target = target
    this.accepted = accepted
  }
}

/** Throws GatewayError when no channel could serve, ClientGone when nobody waits any more. */
export async function attempt(job: AttemptJob): Promise<Committed> {
  const { gateway, route, cancel } = job
  const tried = new Map<PlannedTarget, number>()
  const startedAt = performance.now()
  let last: UpstreamFailure | undefined
  gateway.retryBudget.countRequest()

  for (let count = 0; count < route.retry.attempts; count++) {
    const next = nextTarget(job, tried)
    if (next === undefined) break
    const before = tried.get(next) ?? 0
    if (last !== undefined) {
      if (performance.now() - startedAt > next.channel.timeoutsMs.total) break
      // Another channel is asked whatever the budget says: it has no part in the trouble of the first.
      if (before > 0 && !gateway.retryBudget.takeRetry()) break
      const waitMs = before === 0 ? 0 : retryDelay(before, last.retryAfterSeconds, Math.random())
      if (waitMs === undefined) break
      if (waitMs > 0) await delay(waitMs, undefined, { signal: cancel }).catch(() => undefined)
      if (cancel.aborted) throw cancel.reason
    }
    tried.set(next, before + 1)
    if (!gateway.health.acquire(next.key, next.model, next.channel.maxConcurrentRequests)) continue
    const outcome = await tryOnce(job, next)
    if ('kind' in outcome) return outcome
    last = outcome
    if (!route.retry.on.includes(outcome.class)) break
  }
  throw clientError(last)
}

/** What the client is told when attempts are over. */
function clientError(failure: UpstreamFailure | undefined): GatewayError {
  if (failure?.forCaller !== undefined) return failure.forCaller
  const busy = failure === undefined || failure.class === 'rate_limit'
  return new GatewayError(
    'upstream_error',
    busy ? 'The upstream is busy.' : 'The upstream could not serve the request.',
    {
      retryAfterSeconds: failure === undefined ? 1 : failure.retryAfterSeconds,
    },
  )
}

function nextTarget(
  { gateway, targets }: AttemptJob,
  tried: Map<PlannedTarget, number>,
): PlannedTarget | undefined {
  const candidates = targets.map((planned) => ({
    planned,
    target: planned.target,
    restingUntil: gateway.health.restingUntil(planned.key, planned.model),
    full: gateway.health.isFull(planned.key, planned.channel.maxConcurrentRequests),
    tried: tried.get(planned) ?? 0,
  }))
  const choice = choose(candidates, Math.random())
  return 'candidate' in choice ? choice.candidate.planned : undefined
}

/** One attempt on an acquired channel: released here when it fails, by the caller of attempt() when it succeeds. */
async function tryOnce(job: AttemptJob, target: PlannedTarget): Promise<Committed | UpstreamFailure> {
  const { gateway, cancel } = job
  const startedAt = performance.now()
  const progress = { status: undefined as number | undefined }
  const release = () => gateway.health.release(target.key)
  const record = (outcome: string, extra: Partial<AttemptRecord> = {}) => {
    const ms = Math.round(performance.now() - startedAt)
    job.attempts.push({ channel: target.key, status: progress.status, class: outcome, ...extra, ms })
    gateway.metrics.attempt(target.key, outcome)
  }
  let failure: UpstreamFailure
  let quote: Partial<AttemptRecord> = {}
  try {
    const response = await dispatch(job, target)
    progress.status = response.status
    const result =
      response.status === 200
        ? await readSuccess(job, target, response)
        : await readRefusal(job, target, response)
    if ('answer' in result || 'stream' in result) {
      // A stream has succeeded when it is over: many break after a good beginning.
      if ('answer' in result) gateway.health.succeeded(target.key, target.model)
      record('ok')
      return { ...result, target, release }
    }
    failure = result.failure
    quote = result.quote ?? {}
  } catch (error) {
    if (!(error instanceof AttemptFailed)) {
      release()
      throw error
    }
    failure = error.failure
  }
  release()
  if (cancel.aborted) {
    record('cancelled')
    throw cancel.reason instanceof ClientGone
      ? new AbandonedAttempt(target, progress.status === 200)
      : cancel.reason
  }
  gateway.health.failed(target.key, target.model, failure, target.channel.ejection)
  record(failure.class, { detail: failure.detail, ...quote })
  return failure
}

function dispatch(
  { gateway, dialect, request, route, cancel }: AttemptJob,
  target: PlannedTarget,
): Promise<UpstreamResponse> {
  const { channel, key, model } = target
  const { stream } = request.head
  const body = dialect.splice(request, { model, askStreamUsage: stream && channel.features.streamUsage })
  const accept = stream ? 'text/event-stream' : 'application/json'
  const timeouts = {
    ...channel.timeoutsMs,
    firstByte: route.retry.perTryTimeoutMs ?? channel.timeoutsMs.firstByte,
  }
  return send(
    gateway.dispatchers.get(key, channel),
    upstreamRequest(channel, dialect.upstreamPath, body, accept),
    timeouts,
    cancel,
  )
}

type Read =
  | { kind: 'answer'; answer: Answer }
  | { kind: 'stream'; stream: UpstreamStream }
  | { failure: UpstreamFailure; quote?: Partial<AttemptRecord> }

async function readSuccess(
  { gateway, dialect, request }: AttemptJob,
  target: PlannedTarget,
  response: UpstreamResponse,
): Promise<Read> {
  const { maxAnswerBytes, maxEventBytes } = gateway.limits
  if (!request.head.stream) {
    return answerOf(dialect, await response.readAll(maxAnswerBytes), request, false)
  }
  const observer = dialect.observe(request, maxEventBytes, target.channel.features.streamUsage)
  const stream = new UpstreamStream(response, observer, maxAnswerBytes)
  const opening = await stream.opening()
  switch (opening.kind) {
    case 'stream':
      return { kind: 'stream', stream }
    case 'json':
      return answerOf(dialect, opening.body, request, true)
    case 'failed':
      return { failure: opening.failure }
  }
}

function answerOf(dialect: Dialect, body: Buffer, request: ParsedRequest, asStream: boolean): Read {
  const read = dialect.readAnswer(body, request, asStream)
  return 'body' in read ? { kind: 'answer', answer: read } : { failure: read }
}

/** Reads an error answer. A body that cannot be read leaves what the status says. */
async function readRefusal(
  job: AttemptJob,
  target: PlannedTarget,
  response: UpstreamResponse,
): Promise<Read> {
  const { gateway, dialect, request } = job
  // The status is enough to go on: nobody waits long for the rest.
  const slow = setTimeout(() => response.abort(), ERROR_BODY_MS)
  const body = await response.readAll(MAX_ERROR_BYTES).catch(() => Buffer.alloc(0))
  clearTimeout(slow)
  const failure = dialect.readError(response.status, response.headers, body, request)
  return { failure, quote: gateway.log.errorAnswer(response.headers, body, secretsOf(target.channel)) }
}
