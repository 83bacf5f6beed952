/**
 * The one catalogue of errors. `code` is what clients see in every dialect; the two type columns are each family's
 * word for it (OpenAI: https://platform.openai.com/docs/guides/error-codes; Anthropic:
 * https://docs.anthropic.com/en/api/errors). Rendering happens once, at the edge, in the caller's dialect.
 */
import type { FailureClass } from '../contract/failures.ts'

/** Whose fault an error is: the label of the error metric. */
export type FaultDomain = 'caller' | 'policy' | 'upstream' | 'gateway'

interface CatalogueEntry {
  status: number
  openaiType: string
  anthropicType: string
  domain: FaultDomain
  /** SDKs retry 408, 409, 429 and 5xx by themselves; false tells them that it would not help. */
  retry?: boolean
}

export const CATALOGUE = {
  invalid_request: {
    status: 400,
    openaiType: 'invalid_request_error',
    anthropicType: 'invalid_request_error',
    domain: 'caller',
  },
  unsupported_parameter: {
    status: 400,
    openaiType: 'invalid_request_error',
    anthropicType: 'invalid_request_error',
    domain: 'caller',
  },
  context_length_exceeded: {
    status: 400,
    openaiType: 'invalid_request_error',
    anthropicType: 'invalid_request_error',
    domain: 'caller',
  },
  content_filter: {
    status: 400,
    openaiType: 'invalid_request_error',
    anthropicType: 'invalid_request_error',
    domain: 'caller',
  },
  unauthorized: {
    status: 401,
    openaiType: 'invalid_request_error',
    anthropicType: 'authentication_error',
    domain: 'caller',
    retry: false,
  },
  insufficient_balance: {
    status: 402,
    openaiType: 'insufficient_quota',
    anthropicType: 'billing_error',
    domain: 'policy',
    retry: false,
  },
  account_disabled: {
    status: 403,
    openaiType: 'invalid_request_error',
    anthropicType: 'permission_error',
    domain: 'policy',
  },
  ip_not_allowed: {
    status: 403,
    openaiType: 'invalid_request_error',
    anthropicType: 'permission_error',
    domain: 'policy',
  },
  model_not_allowed: {
    status: 403,
    openaiType: 'invalid_request_error',
    anthropicType: 'permission_error',
    domain: 'policy',
  },
  not_found: {
    status: 404,
    openaiType: 'invalid_request_error',
    anthropicType: 'not_found_error',
    domain: 'caller',
  },
  method_not_allowed: {
    status: 405,
    openaiType: 'invalid_request_error',
    anthropicType: 'invalid_request_error',
    domain: 'caller',
  },
  request_timeout: { status: 408, openaiType: 'timeout', anthropicType: 'timeout_error', domain: 'caller' },
  request_too_large: {
    status: 413,
    openaiType: 'invalid_request_error',
    anthropicType: 'request_too_large',
    domain: 'caller',
  },
  unsupported_media_type: {
    status: 415,
    openaiType: 'invalid_request_error',
    anthropicType: 'invalid_request_error',
    domain: 'caller',
  },
  headers_too_large: {
    status: 431,
    openaiType: 'invalid_request_error',
    anthropicType: 'request_too_large',
    domain: 'caller',
  },
  internal_error: { status: 500, openaiType: 'server_error', anthropicType: 'api_error', domain: 'gateway' },
  upstream_error: {
    status: 502,
    openaiType: 'server_error',
    anthropicType: 'api_error',
    domain: 'upstream',
    retry: false,
  },
  store_unavailable: {
    status: 503,
    openaiType: 'service_unavailable_error',
    anthropicType: 'api_error',
    domain: 'gateway',
  },
  overloaded: {
    status: 503,
    openaiType: 'service_unavailable_error',
    anthropicType: 'overloaded_error',
    domain: 'gateway',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof CATALOGUE

export interface GatewayErrorOptions {
  /** Dotted path of the field at fault, such as `messages[2].content`. */
  param?: string
  /** Overrides the catalogue's status: an upstream's 413 or 422 keeps its own. */
  status?: number
  retryAfterSeconds?: number
  cause?: unknown
}

/** A refusal or failure that a client is told about. The message is all ours and safe to show. */
export class GatewayError extends Error {
  override name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, publicMessage: string, options: GatewayErrorOptions = {}) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? CATALOGUE[code].status
    this.param = options.param
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  /** The error itself, or internal_error with the unexpected one as its cause. */
  static from(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    return new GatewayError('internal_error', 'Something went wrong in the gateway.', { cause: error })
  }

  get entry(): CatalogueEntry {
    return CATALOGUE[this.code]
  }
}

/**
 * An attempt that an upstream failed. Never shown: `class` drives retry and ejection, `forCaller` is the sanitised
 * error for failures that are the caller's own.
 */
export interface UpstreamFailure {
  class: FailureClass
  /** HTTP status of the upstream; absent when there was none (reset, time-out) . */
  status?: number
  /** As the upstream asked, in seconds. */
  retryAfterSeconds?: number
  /** Set for caller_fault: what the client is told, built from templates. */
  forCaller?: GatewayError
  /** For the request log alone: what went wrong, in our words (`connect_timeout`, `cut_stream`, …). */
  detail: string
}
