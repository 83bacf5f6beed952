/** Streams an answer from upstream to client, with back-pressure from end to end. */

import type { Delivered } from '../../../contract/sizes.ts'
import type { Usage } from '../../../contract/usage.ts'
import { type ErrorCode, GatewayError, type UpstreamFailure } from '../../errors.ts'
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
  delivered: Delivered
}

interface StreamJob {
  requestId: string
  cancel: AbortSignal
  /** `exhausted` ends the stream when the funds are used up. */
  meterFor: (exhausted: () => void) => StreamMeter | undefined
  /** The error for a failure that is the fault of the client. */
  callerError(failure: UpstreamFailure): GatewayError | undefined
  /** Observes everything that the client gets, and stores the answer before the client gets its end. */
  watch: Pick<AnswerWatch, 'push' | 'due' | 'keep'>
}

/** Outcomes by the error that cancelled the answer; any other error is a fault in a body that was still arriving. */
const OUTCOMES: Partial<Record<ErrorCode, StreamResult['outcome']>> = {
  unauthorized: 'key_revoked',
  overloaded: 'shutdown',
}

/** Resolves when the stream is over. A broken stream ends in the dialect's error event, never like a finished one. */
export function streamAnswer(
  upstream: UpstreamStream,
  client: ClientStream,
  { requestId, cancel, meterFor, callerError, watch }: StreamJob,
): Promise<StreamResult> {
  return new Promise((resolve) => {
    const { observer } = upstream
    let over = false
    /** Set while the answer is being kept: its end waits for that. */
    let keeping: Promise<void> | undefined
    const finish = (result: Omit<StreamResult, 'usage' | 'tier' | 'delivered'>) => {
      if (over) return
      over = true
      cancel.removeEventListener('abort', onCancel)
      resolve({ ...result, usage: observer.usage, tier: observer.tier, delivered: observer.delivered })
    }
    const endWith = (error: GatewayError) => client.end(upstream.errorEvent(error, requestId))

    const onCancel = () => {
      upstream.abort()
      if (cancel.reason instanceof GatewayError) {
        finish({ outcome: OUTCOMES[cancel.reason.code] ?? 'bad_upload', error: cancel.reason })
        endWith(cancel.reason)
        return
      }
      // A client that leaves after the last event has its whole answer.
      finish({ outcome: observer.finished ? 'finished' : client.stalled ? 'client_stalled' : 'client_gone' })
    }
    const meter = meterFor(() => {
      if (over) return
      const error = new GatewayError(
        'insufficient_balance',
        'The balance of this account does not cover the rest of the answer.',
      )
      finish({ outcome: 'balance_exhausted', error })
      upstream.abort()
      endWith(error)
    })

    if (cancel.aborted) return onCancel()
    cancel.addEventListener('abort', onCancel)
    client.onDrain(() => upstream.resume())
    upstream.deliverTo({
      take(bytes) {
        if (over) return true
        watch.push(bytes)
        if (watch.due) keeping = watch.keep(observer.usage)
        if (keeping !== undefined) {
          keeping = keeping.then(() => {
            if (!over) client.write(bytes)
          })
          return true
        }
        const flowing = client.write(bytes)
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
        client.end(last)
      },
      broke(failure) {
        // The gateway itself broke a cancelled stream.
        if (over || cancel.aborted) return
        const error =
          callerError(failure) ?? new GatewayError('upstream_error', 'The upstream ended its answer early.')
        finish({ outcome: 'upstream_failed', failure, error })
        endWith(error)
      },
    })
  })
}
