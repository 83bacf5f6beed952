import type { GatewayError } from '../../errors.ts'
import { openaiErrorBody } from '../openai/error.ts'

/** The event that ends a stream with an error, instead of `[DONE]`. */
export function errorText(error: GatewayError): string {
  return `data: ${JSON.stringify(openaiErrorBody(error))}\n\n`
}

export function errorEvent(error: GatewayError): Buffer {
  return Buffer.from(errorText(error))
}
