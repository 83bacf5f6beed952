/** Errors in a responses stream. Outside of streams, errors are those of openai/error.ts. */
import type { GatewayError } from '../../errors.ts'

/** The flat error event, for a stream that has not begun. */
export function errorEvent(error: GatewayError, sequence = 0): Buffer {
  return event('error', {
    type: 'error',
    code: error.code,
    message: error.message,
    param: error.param ?? null,
    sequence_number: sequence,
  })
}

/** Ends a stream that has begun. `response`: the object in its last lifecycle event. */
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
