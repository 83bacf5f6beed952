/** Relays a stream from upstream to client, with back-pressure from end to end. */

import type { Delivered } from '../../contract/sizes.ts'
import type { Usage } from '../../contract/usage.ts'
import { GatewayError, type UpstreamFailure } from '../errors.ts'
import type { EventStream } from './event-stream.ts'
import type { StreamMeter } from './meter.ts'
import type { UpstreamStream } from './upstream-stream.ts'

/** How a relayed stream ended, and what is known of its cost. */
export interface StreamResult {
  outcome:
    | 'finished'
    | 'client_gone'
    | 'client_stalled'
    | 'upstream_failed'
    | 'balance_exhausted'
    | 'shutdown'
    | 'key_revoked'
  /** Why the upstream failed, for health and log. */
  failure?: UpstreamFailure
  /** The error that the client was told by an event. */
  error?: GatewayError
  usage: Usage | undefined
  tier: string | undefined
  delivered: Delivered
}

/**
 * Resolves when the stream is over. A broken stream ends in the dialect's error event, never like a finished one.
 * `meterFor` gets what ends the stream when the funds are used up.
 */
export function relayStream(
  upstream: UpstreamStream,
  client: EventStream,
  requestId: string,
  cancel: AbortSignal,
  meterFor: (exhausted: () => void) => StreamMeter | undefined,
): Promise<StreamResult> {
  return new Promise((resolve) => {
    const { observer } = upstream
    let over = false
    const finish = (result: Omit<StreamResult, 'usage' | 'tier' | 'delivered'>) => {
      if (over) return
      over = true
      cancel.removeEventListener('abort', onCancel)
      resolve({ ...result, usage: observer.usage, tier: observer.tier, delivered: observer.delivered })
    }
    const endWith = (error: GatewayError) => client.end(observer.errorEvent(error, requestId))

    const onCancel = () => {
      upstream.abort()
      if (cancel.reason instanceof GatewayError) {
        const outcome = cancel.reason.code === 'unauthorized' ? 'key_revoked' : 'shutdown'
        finish({ outcome, error: cancel.reason })
        endWith(cancel.reason)
        return
      }
      // A client that leaves after the last event has got its answer.
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
        const flowing = client.write(bytes)
        meter?.progress(observer.delivered)
        return flowing
      },
      finished(last) {
        if (over) return
        finish({ outcome: 'finished' })
        client.end(last)
      },
      broke(failure) {
        // What was cancelled broke because we broke it.
        if (over || cancel.aborted) return
        const error =
          failure.forCaller ?? new GatewayError('upstream_error', 'The upstream broke off its answer.')
        finish({ outcome: 'upstream_failed', failure, error })
        endWith(error)
      },
    })
  })
}
