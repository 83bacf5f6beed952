/** One attempt on one channel: the call, and what its answer turns out to be. */
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { Answer, ParsedRequest } from '../../dialects/core/dialect.ts'
import { readError } from '../../dialects/core/errors/read.ts'
import type { Lanes } from '../../dialects/core/lanes/index.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import { GatewayError, type UpstreamFailure } from '../../errors.ts'
import { send, type UpstreamResponse } from '../../outbound/exchange.ts'
import { AttemptFailed } from '../../outbound/failure.ts'
import { type AttemptRecord, detailOf, mask } from '../../telemetry/request-log.ts'
import type { Place } from '../../upstream/health.ts'
import { pathOf, upstreamRequest } from '../../upstream/request.ts'
import type { Upload } from '../body/upload.ts'
import type { Gateway } from '../gateway.ts'
import { ClientGone } from '../request/client.ts'
import type { PlannedTarget } from '../route.ts'
import { refusedWay } from './adapt-after-refusal.ts'
import { callerError } from './caller-error.ts'
import { type Mask, maskOf } from './mask.ts'
import { secretsOf } from './secrets.ts'
import { UpstreamStream } from './upstream-stream.ts'

/** Larger error bodies are not read at all; the log keeps the beginning of smaller ones. */
const MAX_ERROR_BYTES = 1_048_576
/** How long the body of an error answer may take. */
const ERROR_BODY_MS = 3_000
/** No fault of an upstream that still waits for the request. */
const SLOW = ['first_byte_timeout', 'total_timeout']

export interface AttemptJob {
  gateway: Gateway
  request: ParsedRequest
  /** What of the request comes behind the body of a lane. */
  upload?: Upload
  lanes: Lanes
  route: RouteRecord
  targets: PlannedTarget[]
  /** Channels that should serve, the best first: namespace/name. */
  preferred: readonly string[]
  cancel: AbortSignal
  /** Filled as attempts end. */
  attempts: AttemptRecord[]
}

/** An answer that is good so far; whoever gets it must call `release` when it is over. */
export type Committed = { target: PlannedTarget; lane: Lane; place: Place; release: () => void } & (
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

/** `place` is released here when the attempt fails, by the caller of attempt() when it succeeds. */
export async function tryOnce(
  job: AttemptJob,
  target: PlannedTarget,
  lane: Lane,
  place: Place,
): Promise<Committed | UpstreamFailure> {
  const { gateway, cancel } = job
  const startedAt = performance.now()
  const progress = { status: undefined as number | undefined }
  const release = () => gateway.health.release(place)
  const record = (outcome: string, extra: Partial<AttemptRecord> = {}) => {
    const ms = Math.round(performance.now() - startedAt)
    const { status } = progress
    const path = mask(pathOf(target.channel, lane.path), [])
    job.attempts.push({ channel: target.key, lane: lane.kind, path, status, class: outcome, ...extra, ms })
    gateway.metrics.attempt(target.key, outcome)
  }
  let failure: UpstreamFailure
  let quote: Partial<AttemptRecord> = {}
  try {
    const response = await dispatch(job, target, lane)
    progress.status = response.status
    const result =
      response.status === 200
        ? await readSuccess(job, target, lane, response)
        : await readRefusal(job, target, response)
    if ('answer' in result || 'stream' in result) {
      // A stream has succeeded when it is over: many break after a good beginning.
      if ('answer' in result) gateway.health.succeeded(place)
      record('ok')
      return { ...result, target, lane, place, release }
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
  const cancelled = cancel.aborted
  const waited = job.upload?.waitsForClient === true && SLOW.includes(failure.detail)
  if (!cancelled && !waited && blames(job, target, lane, failure))
    gateway.health.failed(place, failure, target.channel.ejection)
  release()
  if (cancelled) {
    record('cancelled')
    throw cancel.reason instanceof ClientGone
      ? new AbandonedAttempt(target, progress.status === 200)
      : cancel.reason
  }
  if (waited) {
    record('cancelled')
    throw new GatewayError('request_timeout', 'The request was not sent in time.')
  }
  record(failure.class, { ...detailOf(failure), ...quote })
  const forCaller = callerError(failure, target, job.request.head.model)
  return forCaller === undefined ? failure : { ...failure, forCaller }
}

/** Endpoints that are not there answer so. */
const ABSENT = [404, 405, 501]

/** Whether a failure says something of the channel, so that others may have to do without it. */
function blames(
  { request }: AttemptJob,
  target: PlannedTarget,
  lane: Lane,
  failure: UpstreamFailure,
): boolean {
  if (failure.blameless === true || refusedWay(request, lane, failure) !== undefined) return false
  return !(target.aside && failure.status !== undefined && ABSENT.includes(failure.status))
}

function dispatch(
  { gateway, request, upload, route, cancel }: AttemptJob,
  { channel, key }: PlannedTarget,
  lane: Lane,
): Promise<UpstreamResponse> {
  const accept = request.head.stream ? 'text/event-stream' : 'application/json'
  const timeouts = {
    ...channel.timeoutsMs,
    firstByte: route.retry.perTryTimeoutMs ?? channel.timeoutsMs.firstByte,
  }
  return send(
    gateway.dispatchers.get(key, channel),
    upstreamRequest(channel, upload === undefined ? lane : { ...lane, body: upload.open(lane.body) }, accept),
    timeouts,
    cancel,
  )
}

type Read =
  | { kind: 'answer'; answer: Answer }
  | { kind: 'stream'; stream: UpstreamStream }
  | { failure: UpstreamFailure; quote?: Partial<AttemptRecord> }

async function readSuccess(
  { gateway, request }: AttemptJob,
  { channel }: PlannedTarget,
  lane: Lane,
  response: UpstreamResponse,
): Promise<Read> {
  const { maxAnswerBytes, maxEventBytes } = gateway.limits
  const mask = maskOf(channel)
  if (!request.head.stream) return answerOf(lane, await response.readAll(maxAnswerBytes), false, mask)
  const stream = new UpstreamStream(response, lane.observe(maxEventBytes), maxAnswerBytes, mask)
  const opening = await stream.opening()
  switch (opening.kind) {
    case 'stream':
      return { kind: 'stream', stream }
    case 'whole':
      return answerOf(lane, opening.body, true, mask)
    case 'failed':
      return { failure: opening.failure }
  }
}

function answerOf(lane: Lane, body: Buffer, asStream: boolean, mask: Mask): Read {
  const read = lane.readAnswer(body, asStream)
  return 'body' in read ? { kind: 'answer', answer: { ...read, body: mask(read.body) } } : { failure: read }
}

/** Reads an error answer. A body that cannot be read leaves what the status says. */
async function readRefusal(
  job: AttemptJob,
  target: PlannedTarget,
  response: UpstreamResponse,
): Promise<Read> {
  const { gateway, request } = job
  // The status is enough to go on: nobody waits long for the rest.
  const slow = setTimeout(() => response.abort(), ERROR_BODY_MS)
  const body = await response.readAll(MAX_ERROR_BYTES).catch(() => Buffer.alloc(0))
  clearTimeout(slow)
  const failure = readError(response.status, response.headers, body, request)
  return { failure, quote: gateway.log.errorAnswer(response.headers, body, secretsOf(target.channel)) }
}
