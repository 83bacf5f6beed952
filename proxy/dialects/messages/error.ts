/** Errors in the form of the messages API (https://docs.anthropic.com/en/api/errors), with the gateway's code. */
import type { GatewayError } from '../../errors.ts'
import { eventText } from './event.ts'
import type * as wire from './wire.ts'

export function errorBody(error: GatewayError, requestId: string): wire.ErrorBody {
  return {
    type: 'error',
    error: {
      type: error.entry.anthropicType,
      message: messageOf(error),
      code: error.code,
      param: error.param,
      details: error.details,
    },
    request_id: requestId,
  }
}

/** The event that ends a stream with an error, instead of `message_stop`. */
export function errorEvent(error: GatewayError, requestId: string): Buffer {
  return Buffer.from(eventText(errorBody(error, requestId)))
}

/** Agents act on these exact sentences: they shorten their history, or request less output if the prompt alone fits. */
function messageOf(error: GatewayError): string {
  const { code, tokens, message } = error
  if (code !== 'context_length_exceeded') return message
  if (tokens === undefined) return 'prompt is too long: it does not fit the context window of the model'
  const { used, limit, output } = tokens
  if (output !== undefined && used - output <= limit) {
    const sum = `${used - output} + ${output} > ${limit}`
    return `input length and \`max_tokens\` exceed context limit: ${sum}, decrease input length or \`max_tokens\` and try again`
  }
  return `prompt is too long: ${used} tokens > ${limit} maximum`
}
