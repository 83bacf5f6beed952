/** Errors in the format of the OpenAI family: https://platform.openai.com/docs/guides/error-codes */
import type { GatewayError } from '../../errors.ts'
import type { ErrorBody } from './wire.ts'

export function openaiErrorBody(error: GatewayError): ErrorBody {
  const { message, code, entry, param } = error
  return { error: { message, type: entry.openaiType, param: param ?? null, code } }
}
