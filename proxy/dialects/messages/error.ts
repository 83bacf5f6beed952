/** Errors as the messages API writes them (https://docs.anthropic.com/en/api/errors), plus our own code. */
import type { GatewayError } from '../../errors.ts'

export function errorBody(error: GatewayError, requestId: string): object {
  return {
    type: 'error',
    error: {
      type: error.entry.anthropicType,
      message: error.message,
      code: error.code,
      ...(error.param === undefined ? {} : { param: error.param }),
    },
    request_id: requestId,
  }
}
