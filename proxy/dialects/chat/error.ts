import type { GatewayError } from '../../errors.ts'
import { openaiErrorBody } from '../errors/openai.ts'

/** A stream ends with it in place of `[DONE]`. */
export function errorEvent(error: GatewayError): Buffer {
  return Buffer.from(`data: ${JSON.stringify(openaiErrorBody(error))}\n\n`)
}
