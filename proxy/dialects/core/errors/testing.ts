/** Requests and upstream errors for the tests of this folder. */
import type { UpstreamFailure } from '../../../errors.ts'
import { BodyValue } from '../json/body-value.ts'
import type { ParsedRequest } from '../request.ts'
import '../../index.ts'
import { readError } from './read.ts'

export function requestOf(fields: object): ParsedRequest {
  const input = { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 }
  const head = { model: 'm', stream: false, choices: 1, wantsStreamUsage: false, input }
  const body = Buffer.from(JSON.stringify(fields))
  return { head, body, value: new BodyValue(body, { ...fields }), headers: {}, own: undefined }
}

/** The failure that an upstream's error is read as; a string body is sent unchanged. */
export function refused(
  status: number,
  body: unknown,
  request: ParsedRequest,
  headers: Record<string, string | string[]> = {},
): UpstreamFailure {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return readError(status, headers, bytes, request)
}

/** An error body of the OpenAI family. */
export function openai(
  code: unknown,
  message = 'x',
  type = 'invalid_request_error',
  param: unknown = null,
): object {
  return { error: { message, type, param, code } }
}

export function anthropic(type: string, message = 'x', errorCode?: string): object {
  const details = errorCode === undefined ? {} : { details: { error_code: errorCode } }
  return { type: 'error', error: { type, message, ...details }, request_id: 'req_011' }
}
