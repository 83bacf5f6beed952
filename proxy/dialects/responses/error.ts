/** Errors in a responses stream; outside of one they are those of the OpenAI family. */
import type { GatewayError } from '../../errors.ts'

/** The flat error event: the only one before `response.created`. */
export function errorEvent(error: GatewayError, sequence = 0): Buffer {
  return event('error', {
    type: 'error',
    code: error.code,
    message: error.message,
    param: error.param ?? null,
    sequence_number: sequence,
  })
}

/** Ends a stream that has begun. `response` is the object of its last lifecycle event. */
export function failedEvent(
  response: Record<string, unknown>,
  error: GatewayError,
  sequence: number,
): Buffer {
  return event('response.failed', {
    type: 'response.failed',
    sequence_number: sequence,
    response: { ...response, status: 'failed', error: { code: error.code, message: error.message } },
  })
}

function event(name: string, data: object): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
}
