/**
 * Refusals of `thread`, a conversation that an upstream of the messages API stores. Its SDKs act on the codes: they send
 * the whole conversation again, as a new thread or without one.
 */
import { GatewayError } from '../../errors.ts'
import type { UpstreamError } from '../core/errors/upstream-error.ts'

const SENTENCES: Record<string, string> = {
  thread_not_found: 'The upstream does not have this thread. Send the whole conversation.',
  thread_already_continued: 'The thread has already continued. Send the whole conversation.',
  thread_continue_in_flight: 'Another request is using this thread.',
  thread_fingerprint_mismatch: 'The thread was started with other settings. Send the whole conversation.',
  thread_unsupported_request: 'thread is not supported for this request. Send the whole conversation.',
}

export const THREAD_WORDS = Object.keys(SENTENCES)

/** Undefined for any other error. `param` is the field that the error names. */
export function threadRefusal(
  { words }: Pick<UpstreamError, 'words'>,
  param: string | undefined,
  status: number,
): GatewayError | undefined {
  const code = words.find((word) => THREAD_WORDS.includes(word))
  if (code !== undefined) return refusalOf(code, status)
  return param === 'thread' ? threadUnsupported(status) : undefined
}

/** The error for an upstream without threads. */
export const threadUnsupported = (status?: number): GatewayError =>
  refusalOf('thread_unsupported_request', status)

function refusalOf(code: string, status: number | undefined): GatewayError {
  return new GatewayError('unsupported_parameter', SENTENCES[code] ?? '', {
    param: 'thread',
    details: { error_code: code },
    ...(status !== undefined && { status }),
  })
}
