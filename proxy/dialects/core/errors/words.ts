/** The codes and types by which upstreams name their errors, in lower case. */
import { THREAD_WORDS } from './threads.ts'

const QUOTA = [
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
  'usage_not_included',
]
const CREDENTIAL = ['invalid_api_key', 'api_key_invalid', 'authentication_error']
const REGION = ['unsupported_country_region_territory', 'data_residency_mismatch']
const MODEL_GONE = ['model_not_found']
const RATE = ['rate_limit_exceeded', 'rate_limit_error', 'slow_down']
const FILTER = [
  'content_filter',
  'content_policy_violation',
  'moderation_blocked',
  'image_content_policy_violation',
  'bio_policy',
  'cyber_policy_violation',
  'misalignment_policy_violation',
]
const CONTEXT_LENGTH = ['context_length_exceeded', 'exceed_context_size_error']
const CARRIER = ['invalid_encrypted_content']
const UNSUPPORTED = ['unsupported_parameter', 'unsupported_value', 'unknown_parameter']

/** Words that are read alike. `carrier`: what only the upstream itself could have read. */
export const WORDS = {
  quota: QUOTA,
  credential: CREDENTIAL,
  region: REGION,
  modelGone: MODEL_GONE,
  rate: RATE,
  filter: FILTER,
  contextLength: CONTEXT_LENGTH,
  carrier: CARRIER,
  unsupported: UNSUPPORTED,
  previousResponse: ['previous_response_not_found'],
  thread: THREAD_WORDS,
  tooLarge: ['request_too_large'],
} as const

/** Other refusals: in a stream of the responses API they come without a status. */
const INVALID = [
  'invalid_request_error',
  'invalid_prompt',
  'invalid_value',
  'invalid_type',
  'invalid_image',
  'invalid_image_format',
  'invalid_image_mode',
  'invalid_image_url',
  'invalid_base64_image',
  'image_too_large',
  'image_too_small',
  'image_parse_error',
  'image_file_too_large',
  'image_file_not_found',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
]

const STATUSES: readonly (readonly [status: number, words: readonly string[]])[] = [
  [401, CREDENTIAL],
  [402, QUOTA],
  [403, REGION],
  [403, ['permission_error']],
  [404, MODEL_GONE],
  [404, ['not_found_error']],
  [408, ['timeout']],
  [409, ['conflict_error']],
  [413, WORDS.tooLarge],
  [429, RATE],
  [500, ['server_error', 'internal_server_error', 'api_error']],
  [501, ['not_supported']],
  [503, ['server_is_overloaded', 'service_unavailable_error']],
  [504, ['timeout_error', 'vector_store_timeout']],
  [529, ['overloaded_error']],
  [400, FILTER],
  [400, CONTEXT_LENGTH],
  [400, CARRIER],
  [400, UNSUPPORTED],
  [400, WORDS.previousResponse],
  [400, INVALID],
]

/** The HTTP status that an error inside a 200 would have had. */
export const STATUS_OF_WORD: ReadonlyMap<string, number> = new Map(
  STATUSES.flatMap(([status, words]) => words.map((word) => [word, status] as const)),
)

/** One word, such as upstreams give for a reason; never a sentence, a number or a key. */
export function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z][A-Za-z_-]{0,39}$/.test(value)
}
