/** Reads messages requests: checks the fields that the gateway acts on, and leaves the rest to the upstream. */
import type { IncomingHttpHeaders } from 'node:http'
import { present } from '../../../kit/present.ts'
import { parseJsonObject } from '../core/json/body.ts'
import { BodyValue } from '../core/json/body-value.ts'
import {
  checkRecords,
  isBoolean,
  isString,
  MAX_OUTPUT_TOKENS,
  readModel,
  readOptional,
  refusal,
} from '../core/json/fields.ts'
import { type ModelSpan, modelSpan } from '../core/json/model-splice.ts'
import { type Fields, isRecord, listOf } from '../core/json/value.ts'
import { weighInput } from '../core/json/weigh.ts'
import { count } from '../core/neutral/token-count.ts'
import type { JsonLimits, ParsedRequest, RequestHead } from '../core/request.ts'
import { INPUT_FIELDS } from './input.ts'

/** Top-level keys that the gateway acts on. */
const READ_KEYS: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'tools',
  'service_tier',
  'speed',
])
export const ROLES = ['user', 'assistant', 'system']
/** Service tiers that do not cost more. */
const PLAIN_TIERS = ['', 'auto', 'standard_only']
/** Client headers that change the behaviour of the API. */
const HEADERS = ['anthropic-version', 'anthropic-beta']

/** Accepts any value of `anthropic-version`, also none. Throws GatewayError naming the field. */
export function parseRequest(
  body: Buffer,
  limits: JsonLimits,
  headers: IncomingHttpHeaders,
): ParsedRequest<ModelSpan> {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  const maxOutputTokens = readMaxTokens(value.max_tokens)
  checkPrompt(value)
  const stream = readOptional(value, 'stream', isBoolean, 'true or false') ?? false
  const tier = readOptional(value, 'service_tier', isString, 'a string')
  const speed = readOptional(value, 'speed', isString, 'a string')

  const head: RequestHead = {
    model,
    stream,
    maxOutputTokens,
    choices: 1,
    ...(tier !== undefined && !PLAIN_TIERS.includes(tier) && { tier }),
    ...(speed === 'fast' && { tier: 'fast' }),
    ...present({ hostedTools: searches(value.tools) }),
    wantsStreamUsage: false,
    input: weighInput(parsed, INPUT_FIELDS),
  }
  const own = modelSpan(parsed.members)
  return { head, body, value: new BodyValue(body, value), headers: keptHeaders(headers), own }
}

/** Types end in a version, such as web_search_20250305. */
function searches(tools: unknown): RequestHead['hostedTools'] | undefined {
  const found = listOf(tools)
    .filter(isRecord)
    .find(({ type }) => String(type).startsWith('web_search_'))
  if (found === undefined) return undefined
  return [{ tool: 'webSearch', field: 'tools', ...present({ mostCalls: count(found.max_uses) }) }]
}

/** Zero requests no output: it fills the prompt cache. */
function readMaxTokens(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_OUTPUT_TOKENS) {
    throw refusal('max_tokens', `is required and must be an integer from 0 to ${MAX_OUTPUT_TOKENS}`)
  }
  return value
}

/** Checks the fields that a model reads: messages, system and tools. Throws GatewayError naming the field. */
export function checkPrompt(value: Fields): void {
  checkMessages(value.messages)
  readOptional(value, 'system', isSystem, 'a string or an array of text blocks')
  checkRecords(value, 'tools')
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw refusal('messages', 'must be a non-empty array')
  }
  messages.forEach((message: unknown, i) => {
    const path = `messages[${i}]`
    if (!isRecord(message)) throw refusal(path, 'must be an object')
    if (typeof message.role !== 'string' || !ROLES.includes(message.role)) {
      throw refusal(`${path}.role`, `must be one of ${ROLES.join(', ')}`)
    }
    checkContent(message.content, `${path}.content`)
  })
}

function checkContent(content: unknown, path: string): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) throw refusal(path, 'must be a string or an array of blocks')
  content.forEach((block: unknown, i) => {
    if (!isRecord(block)) throw refusal(`${path}[${i}]`, 'must be an object')
    if (typeof block.type !== 'string') throw refusal(`${path}[${i}].type`, 'must be a string')
  })
}

function isSystem(value: unknown): value is string | Record<string, unknown>[] {
  return typeof value === 'string' || (Array.isArray(value) && value.every(isRecord))
}

/** The client headers that are sent with its request. */
export function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of HEADERS) {
    const value = headers[name]
    if (value !== undefined) kept[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return kept
}
