/** From a planned route to an answer at the client: attempts until one commits, then the relay. */
import type { ServerResponse } from 'node:http'
import type { Delivered } from '../../contract/sizes.ts'
import type { Answer } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { attempt } from './attempt.ts'
import { sendWhole } from './client.ts'
import { EventStream } from './event-stream.ts'
import type { StreamMeter } from './meter.ts'
import { AbandonedAttempt, type AttemptJob, type Committed } from './one-attempt.ts'
import { relayStream, type StreamResult } from './relay.ts'
import type { PlannedTarget } from './route.ts'

export interface DeliverJob extends AttemptJob {
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
  error?: GatewayError
  /** What the conversion dropped, by the client's names; `...` stands for those beyond the first KiB. */
  dropped?: string[]
  /** performance.now() when the first byte of the answer was sent. */
  firstByteAt?: number
}

const NOTHING: Delivered = { deltas: 0, bytes: 0 }

/** Throws GatewayError as long as the client can still be answered by a status, ClientGone when it left early. */
export async function deliver(job: DeliverJob, res: ServerResponse): Promise<Delivery> {
  const { gateway, dialect, request, requestId } = job
  const { streamKeepAliveMs, clientStallMs } = gateway.limits
  const client = request.head.stream
    ? new EventStream(res, {
        keepAlive: dialect.keepAlive,
        keepAliveMs: streamKeepAliveMs,
        stallMs: clientStallMs,
      })
    : undefined
  let committed: Committed
  try {
    committed = await attempt(job)
  } catch (error) {
    if (error instanceof AbandonedAttempt && error.accepted) {
      const charged = { target: error.target, usage: undefined, tier: undefined, delivered: NOTHING }
      return { outcome: 'client_gone', charged }
    }
    if (error instanceof GatewayError && client?.opened) {
      client.end(dialect.errorEvent(error, requestId))
      return { outcome: 'upstream_failed', error }
    }
    client?.abandon()
    throw error
  }
  try {
    const firstByteAt = performance.now()
    const { losses } = committed.lane
    tellLosses(res, losses.header())
    return {
      ...(await (client === undefined ? whole(job, committed, res) : streamed(job, committed, client))),
      ...dropped(losses.header()),
      firstByteAt,
    }
  } finally {
    committed.release()
  }
}

/** Unless a keep-alive has sent the headers already. */
function tellLosses(res: ServerResponse, names: string | undefined): void {
  if (names !== undefined && !res.headersSent) res.setHeader('x-sluice-dropped', names)
}

/** As the header has them: names are the client's text, and may be many. */
function dropped(names: string | undefined): Pick<Delivery, 'dropped'> {
  return names === undefined ? {} : { dropped: names.split(', ') }
}

function whole(job: DeliverJob, committed: Committed, res: ServerResponse): Delivery {
  if (committed.kind === 'stream') throw new Error('a stream was committed for a request that asked for none')
  sendWhole(res, 200, 'application/json', committed.answer.body, job.gateway.limits.clientStallMs)
  return finished(committed.target, committed.answer)
}

async function streamed(job: DeliverJob, committed: Committed, client: EventStream): Promise<Delivery> {
  const { target } = committed
  if (committed.kind === 'answer') {
    client.end(committed.answer.body)
    return finished(target, committed.answer)
  }
  const result = await relayStream(committed.stream, client, job.requestId, job.cancel, job.meterFor)
  if (result.failure !== undefined) {
    job.gateway.health.failed(target.key, target.model, result.failure, target.channel.ejection)
    job.attempts.push({
      channel: target.key,
      class: result.failure.class,
      detail: result.failure.detail,
      ms: 0,
    })
  }
  if (result.outcome === 'finished') job.gateway.health.succeeded(target.key, target.model)
  const { outcome, error, usage, tier, delivered } = result
  return { outcome, error, charged: { target, usage, tier, delivered } }
}

function finished(target: PlannedTarget, { usage, tier, delivered }: Answer): Delivery {
  return { outcome: 'finished', charged: { target, usage, tier, delivered } }
}
