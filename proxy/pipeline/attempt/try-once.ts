/** One attempt on one channel: the call, and the verdict on its answer. */

import { after, isLater, rescued, type Soon } from '../../../kit/soon.ts'
import type { Answer } from '../../dialects/core/byte-lane.ts'
import { readError } from '../../dialects/core/errors/read.ts'
import { inOnePiece } from '../../dialects/core/json/splice.ts'
import type { Lane } from '../../dialects/core/lanes/lane.ts'
import { GatewayError, type UpstreamFailure } from '../../errors.ts'
import { send, type UpstreamResponse } from '../../outbound/exchange.ts'
import { AttemptFailed } from '../../outbound/failure.ts'
import { type AttemptRecord, detailOf } from '../../telemetry/request-log.ts'
import type { Place } from '../../upstream/health.ts'
import { upstreamRequest } from '../../upstream/request.ts'
import { ClientGone } from '../request/client.ts'
import type { RequestContext } from '../request/context.ts'
import type { PlannedTarget } from '../route.ts'
import { adaptAfterRefusal } from './adapt-after-refusal.ts'
import { callerError } from './caller-error.ts'
import { UpstreamCall } from './drain.ts'
import type { AttemptJob, Choice, Upstreams } from './job.ts'
import { type Mask, maskOf } from './mask.ts'
import { secretsOf } from './secrets.ts'
import { shownPath } from './shown-path.ts'
import { UpstreamStream } from './upstream-stream.ts'

/** Larger error bodies are not read at all; the log keeps the beginning of smaller ones. */
const MAX_ERROR_BYTES = 1_048_576
/** How long the body of an error answer may take. */
const ERROR_BODY_MS = 3_000
/** A time-out while the upstream still waits for the request is not its fault. */
const SLOW = ['first_byte_timeout', 'total_timeout']
/** Statuses of an endpoint that an upstream does not have. */
const ABSENT = [404, 405, 501]

/** A place at the chosen target: it must be released when the attempt, or the answer, is over. */
interface Attempt extends Choice {
  place: Place
}

/** An attempt with its call to the upstream. */
interface Calling extends Attempt {
  call: UpstreamCall
}

/** An answer without a failure so far; the receiver must call `release` when it is over. */
export type Committed = Calling & { response: UpstreamResponse; release: () => void } & Success

type Success = { kind: 'answer'; answer: Answer } | { kind: 'stream'; stream: UpstreamStream }

/** The client left during the attempt; `working`: the upstream had the whole request and had not refused it. */
export class AbandonedAttempt extends ClientGone {
  readonly target: PlannedTarget
  readonly working: boolean
  constructor(target: PlannedTarget, working: boolean) {
    super()
    this.target = target
    this.working = working
  }
}

/** Releases the place of the attempt when it fails; the receiver of a committed answer releases it otherwise. */
export async function tryOnce(
  upstreams: Upstreams,
  ctx: RequestContext,
  job: AttemptJob,
  attempt: Attempt,
): Promise<Committed | UpstreamFailure> {
  const { health, drains } = upstreams
  const { cancel } = ctx
  const { target, lane, place } = attempt
  const startedAt = performance.now()
  let status: number | undefined
  let sent = false
  const call = new UpstreamCall(cancel, drains, target.channel)
  const calling = { target, lane, place, call }
  const release = () => {
    call.close()
    health.release(place)
  }
  const note = (outcome: string, extra?: Partial<AttemptRecord>) => {
    const ms = Math.round(performance.now() - startedAt)
    const path = shownPath(target.channel, lane.path)
    const made = { channel: target.key, lane: lane.kind, path, status, class: outcome, ms }
    ctx.attempted(extra === undefined ? made : { ...made, ...extra })
  }
  let failure: UpstreamFailure
  let quote: Partial<AttemptRecord> = {}
  try {
    const response = await dispatch(upstreams, job, calling)
    status = response.status
    const read =
      response.status === 200
        ? readSuccess(upstreams, job, attempt, response)
        : readRefusal(ctx, job, target, response)
    const result = isLater(read) ? await read : read
    if ('kind' in result) {
      // A stream has succeeded only when it is over: many break after a good beginning.
      if ('answer' in result) health.succeeded(place)
      note('ok')
      return result.kind === 'answer'
        ? { kind: result.kind, answer: result.answer, response, target, lane, place, call, release }
        : { kind: result.kind, stream: result.stream, response, target, lane, place, call, release }
    }
    failure = result.failure
    quote = result.quote ?? {}
  } catch (error) {
    if (!(error instanceof AttemptFailed)) {
      release()
      throw error
    }
    failure = error.failure
    sent = error.sent
  }
  const cancelled = cancel.aborted
  const mayHaveWorked = status === undefined ? sent : status === 200
  const waited = job.upload?.waitsForClient === true && SLOW.includes(failure.detail)
  if (!cancelled && !waited && countsAgainstChannel(job, attempt, failure))
    health.failed(place, failure, target.channel.ejection)
  release()
  if (cancelled) {
    note('cancelled')
    throw cancel.reason instanceof ClientGone ? new AbandonedAttempt(target, mayHaveWorked) : cancel.reason
  }
  if (waited) {
    note('cancelled')
    throw new GatewayError('request_timeout', 'The request was not sent in time.')
  }
  note(failure.class, { ...detailOf(failure), ...quote })
  if (mayHaveWorked) {
    failure = { ...failure, mayHaveWorked }
    ctx.reports.metrics.unpaid(target.key)
  }
  const forCaller = callerError(failure, target, job.request.head.model)
  return forCaller === undefined ? failure : { ...failure, forCaller }
}

/** False for a failure that is unrelated to the health of the channel. */
function countsAgainstChannel(
  { request }: AttemptJob,
  { target, lane }: Attempt,
  failure: UpstreamFailure,
): boolean {
  if (failure.channelNotAtFault === true || adaptAfterRefusal(request, lane, failure) !== undefined)
    return false
  return !(target.isOptionalEndpoint && failure.status !== undefined && ABSENT.includes(failure.status))
}

function dispatch(
  { dispatchers }: Upstreams,
  { request, upload, route }: AttemptJob,
  { target: { channel, key }, lane, call }: Calling,
): Promise<UpstreamResponse> {
  const accept = request.head.stream ? 'text/event-stream' : 'application/json'
  const { firstByte, idle, total } = channel.timeoutsMs
  const timeouts = { firstByte: route.retry.perTryTimeoutMs ?? firstByte, idle, total }
  return send(
    dispatchers.get(key, channel),
    upstreamRequest(
      channel,
      upload === undefined ? lane : { ...lane, body: upload.open(inOnePiece(lane.body)) },
      accept,
    ),
    timeouts,
    call.signal,
  )
}

type Read = Success | { failure: UpstreamFailure; quote?: Partial<AttemptRecord> }

function readSuccess(
  { limits: { maxAnswerBytes, maxEventBytes } }: Upstreams,
  { request }: AttemptJob,
  { target: { channel }, lane }: Attempt,
  response: UpstreamResponse,
): Soon<Read> {
  const mask = maskOf(channel)
  if (!request.head.stream)
    return after(response.readAll(maxAnswerBytes), (body) => answerOf(lane, body, false, mask))
  const stream = new UpstreamStream(response, lane.observe(maxEventBytes), maxAnswerBytes, mask)
  return stream.opening().then((opening): Read => {
    switch (opening.kind) {
      case 'stream':
        return { kind: 'stream', stream }
      case 'whole':
        return answerOf(lane, opening.body, true, mask)
      case 'failed':
        return { failure: opening.failure }
    }
  })
}

function answerOf(lane: Lane, body: Buffer, asStream: boolean, mask: Mask): Read {
  const read = lane.readAnswer(body, asStream)
  return 'body' in read ? { kind: 'answer', answer: { ...read, body: mask(read.body) } } : { failure: read }
}

/** Reads an error answer. If its body cannot be read, the status alone decides. */
async function readRefusal(
  { reports: { log } }: RequestContext,
  { request }: AttemptJob,
  { channel }: PlannedTarget,
  response: UpstreamResponse,
): Promise<Read> {
  // The status is enough to act on: the client must not wait long for the rest.
  const slow = setTimeout(() => response.abort(), ERROR_BODY_MS)
  const body = await rescued(
    () => response.readAll(MAX_ERROR_BYTES),
    () => Buffer.alloc(0),
  )
  clearTimeout(slow)
  const failure = readError(response.status, response.headers, body, request)
  return { failure, quote: log.errorAnswer(response.headers, body, secretsOf(channel)) }
}
