/** Streams an answer from upstream to client, with back-pressure from end to end. */

import type { Delivered } from '../../../contract/sizes.ts'
import type { Usage } from '../../../contract/usage.ts'
import type { Cancellation } from '../../../kit/cancel.ts'
import { present } from '../../../kit/present.ts'
import { type ErrorCode, GatewayError, type UpstreamFailure } from '../../errors.ts'
import type { UpstreamCall } from '../attempt/drain.ts'
import type { UpstreamStream } from '../attempt/upstream-stream.ts'
import type { StreamMeter } from '../billing/meter.ts'
import type { ClientStream } from '../call.ts'
import type { AnswerWatch } from '../conversation/watch.ts'

/** How a stream ended, and its cost as far as it is known. */
export interface StreamResult {
  outcome:
    | 'finished'
    | 'client_gone'
    | 'client_stalled'
    | 'upstream_failed'
    | 'balance_exhausted'
    | 'shutdown'
    | 'key_revoked'
    | 'bad_upload'
  /** Why the upstream failed, for health and log. */
  failure?: UpstreamFailure
  /** The error that the client got in an event. */
  error?: GatewayError
  usage: Usage | undefined
  tier: string | undefined
  /** What the upstream made, the part included that a client which left did not get. */
  delivered: Delivered
  /** The answer was made to its end. */
  ended: boolean
  /** From the call to the upstream to the first output, or to the end of a stream without output. */
  thinkingMs: number
}

interface StreamJob {
  requestId: string
  cancel: Cancellation
  call: Pick<UpstreamCall, 'draining' | 'watchEnd' | 'startedAt'>
  /** `exhausted` ends the stream when the funds are used up. */
  meterFor: (exhausted: () => void) => StreamMeter | undefined
  /** The error for a failure that is the fault of the client. */
  callerError(failure: UpstreamFailure): GatewayError | undefined
  /** Observes everything that the client gets, and stores the answer before the client gets its end. */
  watch: Pick<AnswerWatch, 'push' | 'due' | 'keep'>
  /** The last events of a finished answer, with its cost if the client requested that. */
  withCost?(last: Buffer, made: Made): Buffer
}

/** What is known of a stream when it is over. */
type Made = Pick<StreamResult, 'usage' | 'tier' | 'delivered' | 'ended' | 'thinkingMs'>

/** Outcomes by the error that cancelled the answer; any other error is a fault in a body that was still arriving. */
const OUTCOMES: Partial<Record<ErrorCode, StreamResult['outcome']>> = {
  unauthorized: 'key_revoked',
  overloaded: 'shutdown',
}

/** Resolves when the stream is over. A broken stream ends in the dialect's error event, never like a finished one. */
export function streamAnswer(
  upstream: UpstreamStream,
  client: ClientStream,
  { requestId, cancel, call, meterFor, callerError, watch, withCost = (last) => last }: StreamJob,
): Promise<StreamResult> {
  return new Promise((resolve) => {
    const { observer } = upstream
    let over = false
    /** Set while the answer is being kept: its end waits for that. */
    let keeping: Promise<void> | undefined
    /** Set once the client has left: what it got of the answer. */
    let left: StreamResult['outcome'] | undefined
    let firstOutputAt: number | undefined
    const soFar = (): Made => {
      const { usage, tier, delivered, finished: ended } = observer
      const thinkingMs = (firstOutputAt ?? performance.now()) - call.startedAt
      return { usage, tier, delivered, ended, thinkingMs }
    }
    const finish = ({ outcome, failure, error }: Pick<StreamResult, 'outcome' | 'failure' | 'error'>) => {
      if (over) return
      over = true
      cancel.removeEventListener('abort', onCancel)
      const made = soFar()
      // An upstream that fails when its client has left has failed no client.
      resolve(
        left === undefined
          ? { outcome, ...present({ failure, error }), ...made }
          : { outcome: left, ...made },
      )
    }
    let costTold = false
    const withLast = (bytes: Buffer) => {
      if (costTold) return bytes
      costTold = true
      return withCost(bytes, soFar())
    }
    const endWith = (error: GatewayError) => client.end(upstream.errorEvent(error, requestId))

    const onCancel = () => {
      if (cancel.reason instanceof GatewayError) {
        upstream.abort()
        finish({ outcome: OUTCOMES[cancel.reason.code] ?? 'bad_upload', error: cancel.reason })
        endWith(cancel.reason)
        return
      }
      // A client that leaves after the last event has its whole answer.
      left = observer.finished ? 'finished' : client.stalled ? 'client_stalled' : 'client_gone'
      if (call.draining) return upstream.resume()
      upstream.abort()
      finish({ outcome: left })
    }
    const meter = meterFor(() => {
      if (over) return
      const error = new GatewayError(
        'insufficient_balance',
        'The balance of this account does not cover the rest of the answer.',
      )
      finish({ outcome: 'balance_exhausted', error })
      upstream.abort()
      if (left === undefined) endWith(error)
    })

    call.watchEnd(() => observer.finished && !observer.done)
    if (cancel.aborted) onCancel()
    else cancel.addEventListener('abort', onCancel)
    if (over) return
    client.onDrain(() => upstream.resume())
    upstream.deliverTo({
      take(bytes) {
        if (over) return true
        watch.push(bytes)
        if (observer.delivered.deltas > 0) firstOutputAt ??= performance.now()
        const sent = observer.done ? withLast(bytes) : bytes
        if (watch.due) keeping = watch.keep(observer.usage)
        if (keeping !== undefined) {
          keeping = keeping.then(() => {
            if (!over && left === undefined) client.write(sent)
          })
          return true
        }
        const flowing = left !== undefined || client.write(sent)
        meter?.progress(observer.delivered)
        return flowing
      },
      async finished(last) {
        if (over) return
        if (last !== undefined) watch.push(last)
        if (watch.due) keeping = watch.keep(observer.usage)
        if (keeping !== undefined) await keeping
        if (over) return
        finish({ outcome: 'finished' })
        if (left === undefined) client.end(last && withLast(last))
      },
      broke(failure) {
        // The gateway itself broke a cancelled stream.
        if (over || (cancel.aborted && left === undefined)) return
        const error =
          callerError(failure) ?? new GatewayError('upstream_error', 'The upstream ended its answer early.')
        finish({ outcome: 'upstream_failed', failure, error })
        if (left === undefined) endWith(error)
      },
    })
  })
}
