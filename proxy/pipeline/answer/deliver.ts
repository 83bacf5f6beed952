/** From a planned route to an answer at the client: attempts until one commits, then its answer or its stream. */
import { formatDollars } from '../../../contract/money.ts'
import type { Delivered } from '../../../contract/sizes.ts'
import { after, isLater, type Soon } from '../../../kit/soon.ts'
import type { ClientApi } from '../../dialects/core/dialect.ts'
import { sizeOf } from '../../dialects/core/json/splice.ts'
import { GatewayError } from '../../errors.ts'
import { detailOf } from '../../telemetry/request-log.ts'
import { callerError } from '../attempt/caller-error.ts'
import type { AttemptJob, Upstreams } from '../attempt/job.ts'
import { AbandonedAttempt, type Committed } from '../attempt/try-once.ts'
import { tryTargets } from '../attempt/try-targets.ts'
import type { Bill, Charged } from '../billing/charge.ts'
import type { ClientSide, ClientStream } from '../call.ts'
import type { AnswerWatch } from '../conversation/watch.ts'
import type { RequestContext } from '../request/context.ts'
import { COST_HEADER, wantsCost, withCost } from './cost.ts'
import { HttpClient } from './http-client.ts'
import { streamAnswer } from './stream-answer.ts'

interface DeliverJob extends AttemptJob {
  api: ClientApi
  watch: AnswerWatch
  /** Absent for an endpoint that costs nothing. */
  bill: Bill | undefined
}

type Answered = Extract<Committed, { kind: 'answer' }>
type Streaming = Extract<Committed, { kind: 'stream' }>

const NOTHING: Delivered = { deltas: 0, bytes: 0 }

/** Notes in the context how the request ended. Returns the cost; undefined when no upstream worked on the request.
 * Throws GatewayError as long as the client can still be answered by a status, ClientGone when it left early.
 */
export async function deliver(
  upstreams: Upstreams,
  ctx: RequestContext,
  job: DeliverJob,
  to: ClientSide,
): Promise<Charged | undefined> {
  const { api, request } = job
  const client = request.head.stream ? to.stream(api.keepAlive) : undefined
  let committed: Committed
  try {
    committed = await tryTargets(upstreams, ctx, job)
  } catch (error) {
    if (error instanceof AbandonedAttempt && error.working) {
      ctx.record.outcome = 'client_gone'
      return { target: error.target, usage: undefined, tier: undefined, delivered: NOTHING, ended: false }
    }
    if (error instanceof GatewayError && client?.opened) {
      client.end(api.errorEvent(error, ctx.id))
      ctx.record.outcome = 'upstream_failed'
      ctx.error = error
      return undefined
    }
    client?.abandon()
    throw error
  }
  try {
    const { losses, kind } = committed.lane
    ctx.firstByte()
    const names = losses.header()
    if (names !== undefined) to.setHeader('x-sluice-dropped', names)
    job.watch.answeredBy({ channel: committed.target.key, native: kind === 'byte' })
    const answered =
      committed.kind === 'answer'
        ? whole(ctx, job, committed, { to, client })
        : streamed(upstreams, ctx, job, { committed, client })
    const charged = isLater(answered) ? await answered : answered
    // Names are cut to the length that the header allows: they are the client's text, and may be many.
    ctx.record.dropped = losses.header()?.split(', ')
    if (to instanceof HttpClient) keep(upstreams, { ctx, job, to, client, committed, charged })
    return charged
  } finally {
    committed.release()
  }
}

/** The objects of a request whose answer was delivered. */
interface Delivery {
  ctx: RequestContext
  job: DeliverJob
  /** Not of a socket, which would keep the conversations of its connection. */
  to: HttpClient
  client: ClientStream | undefined
  committed: Committed
  charged: Charged
}

function keep({ keepsake }: Upstreams, delivery: Delivery): void {
  const { job, committed, charged } = delivery
  const { lane, kind, target } = committed
  const answer = kind === 'answer' ? committed.answer.body.length : charged.delivered.bytes
  const bytes = job.request.body.length + sizeOf(lane.body) + answer
  keepsake.keep(`${job.api.name} ${target.api} ${kind}`, bytes, delivery)
}

function whole(
  { record, cancel, req }: RequestContext,
  job: DeliverJob,
  { target, lane, answer }: Answered,
  { to, client }: { to: ClientSide; client: ClientStream | undefined },
): Soon<Charged> {
  const { body, usage, tier, delivered } = answer
  if (client === undefined) job.watch.whole(body)
  else job.watch.push(body)
  return after(job.watch.due ? job.watch.keep(usage) : undefined, () => {
    const charged = { target, usage, tier, delivered, ended: true, outputLimit: lane.outputLimit }
    const cost = job.bill?.quote(charged)
    if (client !== undefined) client.end(withCost(body, wantsCost(req) ? cost : undefined))
    else {
      if (cost !== undefined) to.setHeader(COST_HEADER, formatDollars(cost))
      to.whole(body)
    }
    record.outcome = cancel.aborted ? 'client_gone' : 'finished'
    return charged
  })
}

async function streamed(
  { health }: Upstreams,
  ctx: RequestContext,
  job: DeliverJob,
  { committed, client }: { committed: Streaming; client: ClientStream | undefined },
): Promise<Charged> {
  if (client === undefined) throw new Error('a stream was committed for a request without a stream')
  const { target, lane, place } = committed
  const { watch, bill } = job
  const { failure, outcome, error, ...made } = await streamAnswer(committed.stream, client, {
    requestId: ctx.id,
    cancel: ctx.cancel,
    call: committed.call,
    watch,
    meterFor: (exhausted) => bill?.meter(target.key, exhausted),
    callerError: (broken) => callerError(broken, target, job.request.head.model),
    withCost: (last, made) => {
      if (!wantsCost(ctx.req)) return last
      return withCost(last, bill?.quote({ target, ...made, outputLimit: lane.outputLimit }))
    },
  })
  if (failure !== undefined) {
    health.failed(place, failure, target.channel.ejection)
    // Not counted, because the metrics already count this attempt as a success.
    ctx.record.attempts.push({ channel: target.key, class: failure.class, ...detailOf(failure), ms: 0 })
  }
  if (outcome === 'finished') health.succeeded(place)
  ctx.record.outcome = outcome
  ctx.error = error
  return { target, ...made, outputLimit: lane.outputLimit }
}
