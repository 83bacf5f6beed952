/** Classifies upstream errors, and writes the client's error when the client is at fault. */
import type { FailureClass } from '../../../../contract/failures.ts'
import { present } from '../../../../kit/present.ts'
import { type ErrorCode, GatewayError, Unshown, type UpstreamFailure } from '../../../errors.ts'
import { tryParse } from '../json/value.ts'
import type { ParsedRequest } from '../request.ts'
import { carrierRefusal } from './carriers.ts'
import { contextLength } from './context-length.ts'
import { paramOf } from './param.ts'
import { knownRefusal, outputLimit, unknownEffort } from './refusals.ts'
import { retryAfterSeconds, retryAfterText } from './retry-after.ts'
import { type UpstreamError, upstreamError } from './upstream-error.ts'
import { allWordings, describes, hasMeaning, statusOf } from './wordings.ts'

/** A longer body is a web page, not an error. */
const MAX_ERROR_BYTES = 1024 * 1024

type Verdict = Pick<UpstreamFailure, 'class' | 'forCaller' | 'words' | 'carrierRefused' | 'stateRefused'>

/** Reads an error status with its body, which may be anything. `request` is the client's, in its dialect. */
export function readError(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  body: Buffer,
  request: ParsedRequest,
): UpstreamFailure {
  const error = upstreamError(body.length > MAX_ERROR_BYTES ? undefined : tryParse(body.toString('utf8')))
  return {
    ...classify(status, error, request),
    status,
    ...present({ retryAfterSeconds: retryAfterSeconds(headers) ?? retryAfterText(error.text) }),
    detail: `http_${status}`,
  }
}

/**
 * Reads an error inside an answer with status 200, or in an event of its stream. `body` is the JSON that carries it: an
 * error body, an `error` event, wrapped or flat, or a failed response, alone or in its event.
 */
export function readFailure(body: unknown, request: ParsedRequest, detail: string): UpstreamFailure {
  const error = upstreamError(body)
  return {
    ...classify(statusInside(error), error, request),
    ...present({ retryAfterSeconds: retryAfterText(error.text) }),
    detail,
  }
}

/** The failure of a whole answer with status 200 that is an error body. */
export function errorInAnswer(body: unknown, request: ParsedRequest): UpstreamFailure {
  return { ...readFailure(body, request, 'error_in_answer'), status: 200 }
}

/** The status that the error names, or that its codes imply. */
function statusInside(error: UpstreamError): number | undefined {
  const { status_code, status, code } = error.fields
  for (const number of [status_code, status, code]) {
    if (typeof number === 'number' && number >= 400 && number < 600) return number
  }
  for (const word of error.words) {
    const known = statusOf(word)
    if (known !== undefined) return known
  }
  return contextLength(error) === undefined ? undefined : 400
}

function classify(status: number | undefined, error: UpstreamError, request: ParsedRequest): Verdict {
  if (status === undefined) return { class: 'unknown' }
  const carrier = status === 400 || status === 404 ? carrierRefusal(error) : undefined
  if (carrier !== undefined) {
    return {
      class: 'caller_fault',
      carrierRefused: true,
      forCaller: new GatewayError('invalid_request', carrier, { param: paramOf(error, request) }),
      ...wordsOf(status, error),
    }
  }
  const failureClass = classOf(status, error)
  const state = describes(error, 'previousResponse')
  return {
    class: failureClass,
    ...(state && { stateRefused: true }),
    ...(failureClass === 'caller_fault' && callerFault(status, error, request)),
  }
}

/** Statuses for an invalid request. */
const REFUSALS = [400, 413, 422]

function wordsOf(status: number, { message }: UpstreamError): Pick<UpstreamFailure, 'words'> {
  return message !== undefined && REFUSALS.includes(status) ? { words: new Unshown(message) } : {}
}

function classOf(status: number, error: UpstreamError): FailureClass {
  // Always the client's mistake, whatever the status.
  if (status < 500 && (hasMeaning(error, 'previousResponse') || hasMeaning(error, 'conversation')))
    return 'caller_fault'
  switch (status) {
    case 400:
    case 413:
    case 422:
      return classOfRefusal(status, error)
    case 401:
      return 'credential'
    case 402:
      return 'quota'
    case 403:
      if (hasMeaning(error, 'region')) return 'region_blocked'
      return hasMeaning(error, 'quota') ? 'quota' : 'model_access'
    case 404:
      return 'model_gone'
    case 408:
    case 409:
      return 'transient'
    case 429:
      return hasMeaning(error, 'quota') ? 'quota' : 'rate_limit'
    default:
      return status >= 500 ? 'transient' : 'unknown'
  }
}

/** The class of a 400, 413 or 422: some upstreams send it when their account or their model list is at fault. */
function classOfRefusal(status: number, error: UpstreamError): FailureClass {
  if (describes(error, 'credential')) return 'credential'
  if (describes(error, 'quota')) return 'quota'
  if (hasMeaning(error, 'region')) return 'region_blocked'
  if (hasMeaning(error, 'modelGone')) return 'model_gone'
  // The account exceeds its tokens per minute, but another account may not.
  return status === 413 && hasMeaning(error, 'rate') ? 'rate_limit' : 'caller_fault'
}

/**
 * The error for a client at fault: a fixed sentence with numbers and with field names of the client's request. The
 * upstream's own words are added where they say more; the other sentences have the words that agents and SDKs act on.
 */
function callerFault(
  status: number,
  error: UpstreamError,
  request: ParsedRequest,
): Pick<UpstreamFailure, 'forCaller' | 'words'> {
  const tooLong = contextLength(error)
  if (tooLong !== undefined) {
    const { message, tokens } = tooLong
    const forCaller = new GatewayError('context_length_exceeded', message, { status, tokens })
    return { forCaller, ...(tokens === undefined && wordsOf(status, error)) }
  }
  if (hasMeaning(error, 'filter')) {
    const message = "The upstream's content filter stopped the request."
    return { forCaller: new GatewayError('content_filter', message, { status }), ...wordsOf(status, error) }
  }
  const param = paramOf(error, request)
  if (hasMeaning(error, 'previousResponse')) {
    const message = 'The upstream does not know the previous response.'
    return { forCaller: new GatewayError('previous_response_not_found', message, { param }) }
  }
  for (const { explain } of allWordings()) {
    const forCaller = explain?.(error, param, status)
    if (forCaller !== undefined) return { forCaller }
  }
  const invalid = (message: string) => new GatewayError('invalid_request', message, { status, param })
  const alike = outputLimit(error.text, param ?? 'max_tokens') ?? unknownEffort(error.text)
  if (alike !== undefined) return { forCaller: invalid(alike) }
  const known = knownRefusal(error.text, param)
  const forCaller = known === undefined ? refusal(status, error, param) : invalid(known)
  return { forCaller, ...wordsOf(status, error) }
}

function refusal(status: number, error: UpstreamError, param: string | undefined): GatewayError {
  const fault = (code: ErrorCode, message: string) => new GatewayError(code, message, { status, param })
  if (status === 413 || hasMeaning(error, 'tooLarge')) {
    return fault('request_too_large', 'The upstream refused the request as too large.')
  }
  if (param === undefined) return fault('invalid_request', 'The upstream refused the request as invalid.')
  if (hasMeaning(error, 'unsupported') || isUnsupported(error.text, param)) {
    const what = error.words.includes('unsupported_value') ? `The value of ${param}` : param
    return fault('unsupported_parameter', `${what} is not supported for this model.`)
  }
  return fault('invalid_request', `The upstream refused the request as invalid: see ${param}.`)
}

const BEFORE = /\b(?:not support|unsupported)\W?\w{0,12}[^.]{0,40}$/i
const BEHIND = /^[\w.[\]]{0,64}\W{0,3}(?:is|are) (?:not supported|unsupported|deprecated)\b/i

/** True when the field itself is not supported, rather than its value, such as a file type. */
function isUnsupported(text: string, param: string): boolean {
  const at = text.indexOf(param)
  if (at === -1) return false
  return (
    BEFORE.test(text.slice(Math.max(0, at - 80), at)) || BEHIND.test(text.slice(at + param.length, at + 80))
  )
}
