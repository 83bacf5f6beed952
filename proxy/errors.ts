/**
 * The one catalogue of errors. Clients see `code` in every dialect; the two type columns are the type that each family
 * gives it (OpenAI: https://platform.openai.com/docs/guides/error-codes; Anthropic:
 * https://docs.anthropic.com/en/api/errors). Rendering happens once, at the edge, in the caller's dialect.
 */
import type { FailureClass } from '../contract/failures.ts'

/** The side at fault: a label of the error metric. */
export type FaultDomain = 'caller' | 'policy' | 'upstream' | 'gateway'

interface CatalogueEntry {
  /** When clients get it; for the documentation. */
  meaning: string
  status: number
  openaiType: string
  anthropicType: string
  domain: FaultDomain
  /** A retry never helps. Where only some errors of a code are final, see `final` of the error. */
  retry?: false
}

/** The type of both families for a faulty request. */
const INVALID = { openaiType: 'invalid_request_error', anthropicType: 'invalid_request_error' }
const FORBIDDEN = { openaiType: 'invalid_request_error', anthropicType: 'permission_error' }

export const CATALOGUE = {
  invalid_request: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The request is malformed; `param` names the field.',
  },
  unsupported_parameter: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'A field requests something that this model does not offer.',
  },
  context_length_exceeded: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The prompt does not fit the model; the message has the numbers.',
  },
  content_filter: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The upstream’s content filter refused the prompt.',
  },
  previous_response_not_found: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The response to continue is unknown, no longer kept, or belongs to another account.',
  },
  websocket_connection_limit_reached: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The WebSocket has reached its maximum age; open a new one.',
  },
  websocket_stream_limit_reached: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The WebSocket already has the maximum number of stream names.',
  },
  invalid_stream_id: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The name of a stream on a WebSocket is malformed.',
  },
  steering_not_supported: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'A running response cannot be steered.',
  },
  address_refused: {
    ...INVALID,
    status: 400,
    domain: 'caller',
    meaning: 'The relay may not call this address, or its name does not resolve.',
  },
  unauthorized: {
    status: 401,
    openaiType: 'invalid_request_error',
    anthropicType: 'authentication_error',
    domain: 'caller',
    retry: false,
    meaning: 'The request has no key, two different keys, or one that is unknown, disabled or expired.',
  },
  insufficient_balance: {
    status: 402,
    openaiType: 'insufficient_quota',
    anthropicType: 'billing_error',
    domain: 'policy',
    retry: false,
    meaning: 'The balance is used up, or does not cover the maximum cost of the request.',
  },
  account_disabled: {
    ...FORBIDDEN,
    status: 403,
    domain: 'policy',
    meaning: 'The account of the key is disabled.',
  },
  ip_not_allowed: {
    ...FORBIDDEN,
    status: 403,
    domain: 'policy',
    meaning: 'The key may not be used from this address.',
  },
  model_not_allowed: {
    ...FORBIDDEN,
    status: 403,
    domain: 'policy',
    meaning: 'The key may not use this model.',
  },
  relay_disabled: {
    ...FORBIDDEN,
    status: 403,
    domain: 'policy',
    meaning: 'The relay is switched off.',
  },
  not_found: {
    status: 404,
    openaiType: 'invalid_request_error',
    anthropicType: 'not_found_error',
    domain: 'caller',
    meaning: 'The path does not exist, or the key cannot see the object.',
  },
  method_not_allowed: {
    ...INVALID,
    status: 405,
    domain: 'caller',
    meaning: 'The path does not support this method; see the Allow header.',
  },
  request_timeout: {
    status: 408,
    openaiType: 'timeout',
    anthropicType: 'timeout_error',
    domain: 'caller',
    meaning: 'The request was not sent in time.',
  },
  request_too_large: {
    status: 413,
    openaiType: 'invalid_request_error',
    anthropicType: 'request_too_large',
    domain: 'caller',
    meaning: 'The body is larger than the limit.',
  },
  unsupported_media_type: {
    ...INVALID,
    status: 415,
    domain: 'caller',
    meaning: 'The content type or encoding is not supported here.',
  },
  upgrade_required: {
    ...INVALID,
    status: 426,
    domain: 'caller',
    retry: false,
    meaning: 'This path accepts a POST or a WebSocket upgrade.',
  },
  headers_too_large: {
    status: 431,
    openaiType: 'invalid_request_error',
    anthropicType: 'request_too_large',
    domain: 'caller',
    meaning: 'The request has too many headers, or too large ones.',
  },
  rate_limit_exceeded: {
    status: 429,
    openaiType: 'rate_limit_error',
    anthropicType: 'rate_limit_error',
    domain: 'policy',
    meaning: 'The client sends too many requests, or too many at the same time.',
  },
  internal_error: {
    status: 500,
    openaiType: 'server_error',
    anthropicType: 'api_error',
    domain: 'gateway',
    meaning: 'A fault of the gateway; its log has the request id.',
  },
  upstream_error: {
    status: 502,
    openaiType: 'server_error',
    anthropicType: 'api_error',
    domain: 'upstream',
    meaning: 'No upstream serves the model, or all of them failed.',
  },
  store_unavailable: {
    status: 503,
    openaiType: 'service_unavailable_error',
    anthropicType: 'api_error',
    domain: 'gateway',
    meaning: 'Keys or balances cannot be read at the moment.',
  },
  overloaded: {
    status: 503,
    openaiType: 'service_unavailable_error',
    anthropicType: 'overloaded_error',
    domain: 'gateway',
    meaning: 'The gateway has more work than it can do, or is shutting down.',
  },
  upstream_timeout: {
    status: 504,
    openaiType: 'timeout',
    anthropicType: 'timeout_error',
    domain: 'upstream',
    meaning: 'The upstream of the relay did not answer in time.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof CATALOGUE

interface GatewayErrorOptions {
  /** Dotted path of the field at fault, such as `messages[2].content`. */
  param?: string | undefined
  /** Overrides the catalogue's status: an upstream's 413 or 422 keeps its own. */
  status?: number
  retryAfterSeconds?: number | undefined
  /** SDKs retry 408, 409, 429 and 5xx by themselves; true makes them give up, because a retry does not help. */
  final?: boolean
  tokens?: TokenNumbers | undefined
  /** `error.details` of the messages API, which its SDKs act on. Other dialects leave it out. */
  details?: Record<string, unknown> | undefined
  cause?: unknown
}

/** The numbers of context_length_exceeded, for dialects whose clients parse them from the message. */
export interface TokenNumbers {
  /** Input tokens and, where they count, the output tokens that the request reserves. */
  used: number
  /** The context window. */
  limit: number
  /** The part of `used` that is reserved output, if the upstream reports it. */
  output?: number
}

/** An error for a client. The message is the gateway's own, or sanitised, so it is safe to show. */
export class GatewayError extends Error {
  override name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly param: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly final: boolean
  readonly tokens: TokenNumbers | undefined
  readonly details: Record<string, unknown> | undefined

  constructor(code: ErrorCode, publicMessage: string, options: GatewayErrorOptions = {}) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? CATALOGUE[code].status
    this.param = options.param
    this.retryAfterSeconds = options.retryAfterSeconds
    this.final = options.final ?? this.entry.retry === false
    this.tokens = options.tokens
    this.details = options.details
  }

  /** The error itself, or internal_error with the unexpected one as its cause. */
  static from(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error
    return new GatewayError('internal_error', 'The gateway failed unexpectedly.', { cause: error })
  }

  /** The same error with another message. */
  saying(message: string): GatewayError {
    return new GatewayError(this.code, message, this)
  }

  get entry(): CatalogueEntry {
    return CATALOGUE[this.code]
  }
}

/** A text that must not be shown unsanitised; JSON never includes it. */
export class Unshown {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  read(): string {
    return this.#text
  }
  toJSON(): undefined {
    return undefined
  }
}

/**
 * A failed attempt. Clients never see it: `class` drives retry and ejection; `forCaller` is the sanitised error for
 * failures that are the fault of the caller.
 */
export interface UpstreamFailure {
  class: FailureClass
  /** HTTP status of the upstream; absent when there was none (reset, time-out). */
  status?: number
  /** Requested by the upstream, in seconds. */
  retryAfterSeconds?: number
  /** Set for caller_fault: the error for the client, built from templates. */
  forCaller?: GatewayError
  /** The upstream's own message. It replaces that of `forCaller`, sanitised, if the channel allows it. */
  words?: Unshown
  /**
   * The upstream refuses a carrier of an earlier answer: a signature, encrypted reasoning, the id of an item. The request
   * may succeed without it.
   */
  carrierRefused?: true
  /** Does not count against the channel: the model answered, but not with what was requested. */
  channelNotAtFault?: true
  /** The upstream does not know the response to continue. */
  stateRefused?: true
  /** The upstream had the whole request and did not refuse it: it may have worked, and bill for it. */
  mayHaveWorked?: true
  /** For the request log alone: the failure, in words of the gateway (`connect_timeout`, `cut_stream`, …). */
  detail: string
}
