/** From a planned route to an answer at the client: attempts until one commits, then the relay. */
import type { Delivered } from '../../../contract/sizes.ts'
import type { Answer, ClientApi } from '../../dialects/core/dialect.ts'
import { GatewayError } from '../../errors.ts'
import { detailOf } from '../../telemetry/request-log.ts'
import { callerError } from '../attempt/caller-error.ts'
import { AbandonedAttempt, type AttemptJob, type Committed } from '../attempt/try-once.ts'
import { attempt } from '../attempt/try-targets.ts'
import type { StreamMeter } from '../billing/meter.ts'
import type { ClientSide, ClientStream } from '../call.ts'
import type { AnswerWatch } from '../conversation/watch.ts'
import type { PlannedTarget } from '../route.ts'
import { relayStream, type StreamResult } from './stream-answer.ts'

export interface DeliverJob extends AttemptJob {
  /** The client's. */
  api: ClientApi
  watch: AnswerWatch
  requestId: string
  /** Watches the cost of a stream; `exhausted` ends it. */
  meterFor(exhausted: () => void): StreamMeter | undefined
}

/** What is known of the cost of an answer. */
interface Charged extends Pick<StreamResult, 'usage' | 'tier' | 'delivered'> {
  target: PlannedTarget
}

/** How a request ended, and what its bill is made of. */
export interface Delivery {
  /** Absent when no upstream had accepted the request: nothing is charged. */
  charged?: Charged
  outcome: StreamResult['outcome']
  /** What an event told the client after the stream had begun. */
  error?: GatewayError | undefined
  /** What the conversion dropped, by the client's names; `...` stands for those beyond the first KiB. */
  dropped?: string[]
  /** performance.now() when the first byte of the answer was sent. */
  firstByteAt?: number
}

const NOTHING: Delivered = { deltas: 0, bytes: 0 }

/** Throws GatewayError as long as the client can still be answered by a status, ClientGone when it left early. */
export async function deliver(job: DeliverJob, to: ClientSide): Promise<Delivery> {
  const { api, request, requestId, watch } = job
  const client = request.head.stream ? to.stream(api.keepAlive) : undefined
  let committed: Committed
  try {
    committed = await attempt(job)
  } catch (error) {
    if (error instanceof AbandonedAttempt && error.accepted) {
      const charged = { target: error.target, usage: undefined, tier: undefined, delivered: NOTHING }
      return { outcome: 'client_gone', charged }
    }
    if (error instanceof GatewayError && client?.opened) {
      client.end(api.errorEvent(error, requestId))
      return { outcome: 'upstream_failed', error }
    }
    client?.abandon()
    throw error
  }
  try {
    const firstByteAt = performance.now()
    const { losses, kind } = committed.lane
    const names = losses.header()
    if (names !== undefined) to.setHeader('x-sluice-dropped', names)
    watch.answeredBy({ channel: committed.target.key, native: kind === 'byte' })
    return {
      ...(await (client === undefined ? whole(job, committed, to) : streamed(job, committed, client))),
      ...dropped(losses.header()),
      firstByteAt,
    }
  } finally {
    committed.release()
  }
}

/** As the header has them: names are the client's text, and may be many. */
function dropped(names: string | undefined): Pick<Delivery, 'dropped'> {
  return names === undefined ? {} : { dropped: names.split(', ') }
}

async function whole(job: DeliverJob, committed: Committed, to: ClientSide): Promise<Delivery> {
  if (committed.kind === 'stream') throw new Error('a stream was committed for a request that asked for none')
  const { answer, target } = committed
  job.watch.whole(answer.body)
  if (job.watch.due) await job.watch.keep(answer.usage)
  to.whole(answer.body)
  return finished(target, answer)
}

async function streamed(job: DeliverJob, committed: Committed, client: ClientStream): Promise<Delivery> {
  const { target, place } = committed
  const { watch } = job
  if (committed.kind === 'answer') {
    const { answer } = committed
    watch.push(answer.body)
    if (watch.due) await watch.keep(answer.usage)
    client.end(answer.body)
    return finished(target, answer)
  }
  const result = await relayStream(committed.stream, client, {
    ...job,
    callerError: (failure) => callerError(failure, target, job.request.head.model),
  })
  if (result.failure !== undefined) {
    job.gateway.health.failed(place, result.failure, target.channel.ejection)
    job.attempts.push({
      channel: target.key,
      class: result.failure.class,
      ...detailOf(result.failure),
      ms: 0,
    })
  }
  if (result.outcome === 'finished') job.gateway.health.succeeded(place)
  const { outcome, error, usage, tier, delivered } = result
  return { outcome, error, charged: { target, usage, tier, delivered } }
}

function finished(target: PlannedTarget, { usage, tier, delivered }: Answer): Delivery {
  return { outcome: 'finished', charged: { target, usage, tier, delivered } }
}
