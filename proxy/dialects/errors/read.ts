/** Reads the errors of upstreams of every dialect. Nothing that an upstream wrote reaches a client. */
import type { FailureClass } from '../../../contract/failures.ts'
import { GatewayError, type UpstreamFailure } from '../../errors.ts'
import type { ParsedRequest } from '../dialect.ts'
import { isRecord, tryParse } from '../json/value.ts'
import { contextLengthMessage } from './context-length.ts'
import { knownParam } from './param.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** Errors are short; what is longer is a page for people. */
const MAX_ERROR_BYTES = 1024 * 1024

const QUOTA_WORDS = [
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
  'enforced_spend_limit_reached',
  'contract_spend_limit_reached',
  'billing_hard_limit_reached',
  'billing_not_active',
  'billing_error',
  'insufficient_balance',
]
const CREDENTIAL_WORDS = ['invalid_api_key', 'api_key_invalid', 'authentication_error']
const REGION_WORDS = ['unsupported_country_region_territory']
const FILTER_WORDS = ['content_filter', 'content_policy_violation', 'moderation_blocked']

/** The HTTP status that an error inside a 200 would have had. */
const STATUS_OF_WORD = new Map<string, number>([
  ...CREDENTIAL_WORDS.map((word) => [word, 401] as const),
  ...QUOTA_WORDS.map((word) => [word, 402] as const),
  ...REGION_WORDS.map((word) => [word, 403] as const),
  ...FILTER_WORDS.map((word) => [word, 400] as const),
  ['permission_error', 403],
  ['model_not_found', 404],
  ['not_found_error', 404],
  ['timeout', 408],
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['slow_down', 429],
  ['server_error', 500],
  ['internal_server_error', 500],
  ['api_error', 500],
  ['server_is_overloaded', 503],
  ['service_unavailable_error', 503],
  ['overloaded_error', 529],
  ['context_length_exceeded', 400],
  ['exceed_context_size_error', 400],
  ['invalid_request_error', 400],
])

/** An error status with its body, which may be anything. */
export function readError(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  body: Buffer,
  request: ParsedRequest,
): UpstreamFailure {
  const value = body.length > MAX_ERROR_BYTES ? undefined : tryParse(body.toString('utf8'))
  const retryAfter = retryAfterSeconds(headers)
  return {
    ...classify(status, errorObject(value), request),
    status,
    ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter }),
    detail: `http_${status}`,
  }
}

/** An error inside an answer with status 200. `body` is the JSON that carries it. */
export function readFailure(body: unknown, request: ParsedRequest, detail: string): UpstreamFailure {
  const error = errorObject(body)
  return { ...classify(statusInside(error), error, request), detail }
}

/** The object that says what happened: `error` itself, or the whole body of upstreams that do not wrap it. */
function errorObject(body: unknown): Record<string, unknown> {
  const value: unknown = Array.isArray(body) ? body[0] : body
  if (!isRecord(value)) return {}
  if (isRecord(value.error)) return value.error
  return typeof value.error === 'string' ? { ...value, message: value.error } : value
}

function wordsOf(error: Record<string, unknown>): string[] {
  return [error.code, error.type, error.status]
    .filter((word) => typeof word === 'string')
    .map((word) => word.toLowerCase())
}

function statusInside(error: Record<string, unknown>): number | undefined {
  for (const number of [error.status_code, error.status, error.code]) {
    if (typeof number === 'number' && number >= 400 && number < 600) return number
  }
  for (const word of wordsOf(error)) {
    const status = STATUS_OF_WORD.get(word)
    if (status !== undefined) return status
  }
  return undefined
}

function classify(
  status: number | undefined,
  error: Record<string, unknown>,
  request: ParsedRequest,
): Pick<UpstreamFailure, 'class' | 'forCaller'> {
  const words = wordsOf(error)
  const failureClass = status === undefined ? 'unknown' : classOf(status, words)
  if (status === undefined || failureClass !== 'caller_fault') return { class: failureClass }
  return { class: failureClass, forCaller: callerFault(status, error, words, request) }
}

function classOf(status: number, words: string[]): FailureClass {
  const says = (list: string[]) => words.some((word) => list.includes(word))
  switch (status) {
    case 400:
    case 413:
    case 422:
      if (says(CREDENTIAL_WORDS)) return 'credential'
      return says(QUOTA_WORDS) ? 'quota' : 'caller_fault'
    case 401:
      return 'credential'
    case 402:
      return 'quota'
    case 403:
      if (says(REGION_WORDS)) return 'region_blocked'
      return says(QUOTA_WORDS) ? 'quota' : 'model_access'
    case 404:
      return 'model_gone'
    case 408:
      return 'transient'
    case 429:
      return says(QUOTA_WORDS) ? 'quota' : 'rate_limit'
    default:
      return status >= 500 ? 'transient' : 'unknown'
  }
}

/** What the caller is told of its own fault: sentences of ours, with numbers and field names that are the caller's. */
function callerFault(
  status: number,
  error: Record<string, unknown>,
  words: string[],
  request: ParsedRequest,
): GatewayError {
  const tooLong = contextLengthMessage(error, words)
  if (tooLong !== undefined) return new GatewayError('context_length_exceeded', tooLong, { status })
  if (words.some((word) => FILTER_WORDS.includes(word))) {
    const message = 'The request was stopped by the content filter of the upstream.'
    return new GatewayError('content_filter', message, { status })
  }
  const param = knownParam(error.param, request.body)
  if (param === undefined) {
    return new GatewayError('invalid_request', 'The upstream refused the request as invalid.', {
      status,
    })
  }
  const message = `The upstream refused the request as invalid: see ${param}.`
  return new GatewayError('invalid_request', message, { status, param })
}
