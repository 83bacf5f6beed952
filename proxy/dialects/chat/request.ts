/** Reads chat completion requests: checks the required fields, and reads those for routing and holds. */

import { parseJsonObject } from '../core/json/body.ts'
import { BodyValue } from '../core/json/body-value.ts'
import {
  isBoolean,
  isOutputLimit,
  isPositiveInteger,
  isString,
  OUTPUT_RULE,
  readModel,
  readOptional,
  refusal,
} from '../core/json/fields.ts'
import { isRecord } from '../core/json/value.ts'
import { weighInput } from '../core/json/weigh.ts'
import type { JsonLimits, ParsedRequest, RequestHead } from '../core/request.ts'
import { type SplicePoints, splicePoints } from './byte-lane/splice.ts'
import { INPUT_FIELDS } from './input.ts'

/** Top-level keys that the gateway acts on. */
const READ_KEYS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'service_tier',
  'tools',
])
export const MAX_CHOICES = 128
/** Service tiers that are none. */
const NORMAL_TIERS: ReadonlySet<string> = new Set(['', 'auto', 'default'])
const WEB_SEARCH: RequestHead['hostedTools'] = [
  { tool: 'webSearch', field: 'web_search_options', unreportedCalls: 1 },
]
/** Fields that a message may have instead of content. */
export const INSTEAD_OF_CONTENT = [
  'tool_calls',
  'function_call',
  'audio',
  'refusal',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'thinking_blocks',
]

/** Checks the fields that the gateway reads, and leaves the rest to the upstream. Throws GatewayError naming the field. */
export function parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest<SplicePoints> {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  checkMessages(value.messages)
  const stream = readOptional(value, 'stream', isBoolean, 'true or false') ?? false
  const streamOptions = readOptional(value, 'stream_options', isRecord, 'an object')
  if (streamOptions !== undefined && !stream) {
    throw refusal('stream_options', 'is only allowed when stream is true')
  }
  const includeUsage = streamOptions?.include_usage ?? false
  if (!isBoolean(includeUsage)) throw refusal('stream_options.include_usage', 'must be true or false')
  // Some upstreams know only one of the two, so only the larger limit is certain.
  const limit = readOptional(value, 'max_tokens', isOutputLimit, OUTPUT_RULE)
  const newerLimit = readOptional(value, 'max_completion_tokens', isOutputLimit, OUTPUT_RULE)
  const choices = readOptional(value, 'n', isChoiceCount, `an integer from 1 to ${MAX_CHOICES}`) ?? 1
  const tier = readOptional(value, 'service_tier', isString, 'a string')
  readOptional(value, 'tools', Array.isArray, 'an array')

  const head: RequestHead = {
    model,
    stream,
    maxOutputTokens: larger(limit, newerLimit),
    choices,
    tier: tier === undefined || NORMAL_TIERS.has(tier) ? undefined : tier,
    cacheKey: isString(value.prompt_cache_key) ? value.prompt_cache_key : undefined,
    hostedTools: isRecord(value.web_search_options) ? WEB_SEARCH : undefined,
    wantsStreamUsage: includeUsage,
    input: weighInput(parsed, INPUT_FIELDS),
  }
  return { head, body, value: new BodyValue(body, value), headers: {}, own: splicePoints(parsed.members) }
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0)
    throw refusal('messages', 'must be a non-empty array')
  messages.forEach((message: unknown, i) => {
    if (!isRecord(message)) throw refusal(`messages[${i}]`, 'must be an object')
    if (typeof message.role !== 'string') throw refusal(`messages[${i}].role`, 'must be a string')
    if (typeof message.content !== 'string') checkContent(message, `messages[${i}].content`)
  })
}

function checkContent(message: Record<string, unknown>, path: string): void {
  const { content } = message
  if (content === null && message.role === 'function') return
  if (content === undefined || content === null) {
    if (INSTEAD_OF_CONTENT.some((field) => isFilled(message[field]))) return
    throw refusal(path, `may be absent or null only beside ${INSTEAD_OF_CONTENT.join(', ')}`)
  }
  if (!Array.isArray(content)) throw refusal(path, 'must be a string or an array of parts')
  content.forEach((part: unknown, i) => {
    if (!isRecord(part)) throw refusal(`${path}[${i}]`, 'must be an object')
    if (typeof part.type !== 'string') throw refusal(`${path}[${i}].type`, 'must be a string')
  })
}

function larger(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other !== undefined && other > one) ? other : one
}

function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

function isChoiceCount(value: unknown): value is number {
  return isPositiveInteger(value) && value <= MAX_CHOICES
}
