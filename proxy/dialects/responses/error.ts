/** Errors in a responses stream. Outside of streams, errors are those of openai/error.ts. */
import type { GatewayError } from '../../errors.ts'
import type { Fields } from '../core/json/value.ts'
import { eventText } from './codec/answer/answer-events.ts'
import type * as wire from './wire.ts'

/** The flat error event, for a stream that has not begun. */
export function errorEvent({ code, message, param }: GatewayError, sequence = 0): Buffer {
  return event({ type: 'error', code, message, param: param ?? null, sequence_number: sequence })
}

/** Ends a stream that has begun. `response`: the object in its last lifecycle event. */
export function failedEvent(response: Fields, { code, message }: GatewayError, sequence: number): Buffer {
  const failed = { status: 'failed', error: { code, message } } satisfies Partial<wire.Response>
  return event({
    type: 'response.failed',
    sequence_number: sequence,
    response: { ...response, ...failed },
  })
}

function event(fields: wire.ForeignEvent): Buffer {
  return Buffer.from(eventText(fields))
}
