import { expect, test } from 'vitest'
import { GatewayError, type UpstreamFailure } from '../errors.ts'
import type { ClientStream } from './call.ts'
import { relayStream } from './relay.ts'
import type { UpstreamStream } from './upstream-stream.ts'

/** Relays a stream that breaks at once; gives the error of its last event. */
async function told(failure: UpstreamFailure): Promise<GatewayError | undefined> {
  const errors: GatewayError[] = []
  const observer = {
    usage: undefined,
    tier: undefined,
    delivered: { deltas: 0, bytes: 0 },
    errorEvent(error: GatewayError) {
      errors.push(error)
      return Buffer.from('error')
    },
  }
  const upstream = {
    observer,
    deliverTo: (to: { broke(failure: UpstreamFailure): void }) => to.broke(failure),
  } as unknown as UpstreamStream
  const client = { onDrain: () => undefined, end: () => undefined } as unknown as ClientStream
  const { signal } = new AbortController()
  const result = await relayStream(upstream, client, {
    requestId: 'req_1',
    cancel: signal,
    meterFor: () => undefined,
    watch: { push: () => undefined, due: false, keep: async () => undefined },
  })
  expect(result).toMatchObject({ outcome: 'upstream_failed', failure, error: errors[0] })
  return errors[0]
}

test('the caller’s own fault is told also behind the first event: agents act on it', async () => {
  const forCaller = new GatewayError('context_length_exceeded', 'Too long.')
  expect(await told({ class: 'caller_fault', forCaller, detail: 'error_event' })).toBe(forCaller)
})

test('of any other failure no more than that there was one', async () => {
  expect(await told({ class: 'rate_limit', detail: 'error_event' })).toMatchObject({ code: 'upstream_error' })
})
