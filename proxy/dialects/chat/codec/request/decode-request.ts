/** Reads a client's request into the neutral form. */

import { present } from '../../../../../kit/present.ts'
import { GatewayError } from '../../../../errors.ts'
import { bodyOf } from '../../../core/json/body-value.ts'
import {
  booleanAt,
  integerAt,
  listAt,
  nameAt,
  numberFrom,
  oneOf,
  optional,
  recordAt,
  stringAt,
} from '../../../core/json/checks.ts'
import { isOutputLimit, OUTPUT_RULE, refusal } from '../../../core/json/fields.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
import type { Envelopes, ModelRequest, Names, OutputFormat } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { decodeMessages } from './decode-messages.ts'
import { decodeThinking } from './thinking.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'

const TYPED = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'n',
  'logprobs',
  'top_logprobs',
  'response_format',
  'verbosity',
  'reasoning_effort',
  'user',
  'safety_identifier',
  'metadata',
  'prompt_cache_key',
  'service_tier',
  'store',
  'parallel_tool_calls',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'web_search_options',
]
const FORMAT = ['name', 'description', 'schema', 'strict']
const MAX_TOP_LOGPROBS = 20

export function decodeRequest(request: ParsedRequest, envelopes: Envelopes): ModelRequest {
  const body = bodyOf(request)
  refuseAudio(body)
  // Only checked here: logit_bias becomes a loss in keep(), and safety_identifier takes precedence over user.
  optional(body.logit_bias, 'logit_bias', recordAt)
  const user = optional(body.user, 'user', stringAt)
  const tools = decodeTools(body)
  const thinking = decodeThinking(body)
  const onlyFunctions = tools.length > 0 && Array.isArray(body.functions) && !body.tools
  const parallel = optional(body.parallel_tool_calls, 'parallel_tool_calls', booleanAt)
  const includeUsage = optional(body.stream_options, 'stream_options', recordAt)?.include_usage === true
  const choices = optional(body.n, 'n', integerAt) ?? 1
  return {
    model: nameAt(body.model, 'model'),
    stream: body.stream === true,
    turns: decodeMessages(listAt(body.messages, 'messages'), envelopes),
    tools,
    ...present({
      toolChoice: decodeToolChoice(body),
      // A client with `functions` takes one call at a time.
      parallelToolCalls: onlyFunctions ? false : parallel,
      maxOutputTokens: limit(body, 'max_completion_tokens') ?? limit(body, 'max_tokens'),
      temperature: optional(body.temperature, 'temperature', numberFrom(0, 2)),
      topP: optional(body.top_p, 'top_p', numberFrom(0, 1)),
      stop: decodeStop(body.stop),
      seed: optional(body.seed, 'seed', integerAt),
      frequencyPenalty: optional(body.frequency_penalty, 'frequency_penalty', numberFrom(-2, 2)),
      presencePenalty: optional(body.presence_penalty, 'presence_penalty', numberFrom(-2, 2)),
      choices: choices > 1 ? choices : undefined,
      logprobs: decodeLogprobs(body),
      format: decodeFormat(body.response_format),
      verbosity: optional(body.verbosity, 'verbosity', stringAt),
      reasoning: thinking.reasoning,
      user: optional(body.safety_identifier, 'safety_identifier', stringAt) ?? user,
      metadata: decodeMetadata(body.metadata),
      cacheKey: optional(body.prompt_cache_key, 'prompt_cache_key', stringAt),
      tier: optional(body.service_tier, 'service_tier', stringAt),
      store: optional(body.store, 'store', booleanAt),
      wantsStreamUsage: includeUsage || undefined,
    }),
    ...namesOf(body, thinking.names),
    ...keep({ dialect: 'chat', at: '' }, body, typedOf(body), {
      ...thinking.lost,
      ...otherLimit(body),
      ...inside('response_format.json_schema', formatOf(body), FORMAT),
    }),
  }
}

/** Models of other dialects cannot answer with audio. */
function refuseAudio(body: Fields): void {
  const modalities = optional(body.modalities, 'modalities', listAt) ?? []
  if (!modalities.includes('audio')) return
  const message = 'modalities must not include audio: this model answers with text only.'
  throw new GatewayError('unsupported_parameter', message, { param: 'modalities' })
}

function typedOf(body: Fields): string[] {
  return [
    ...TYPED,
    // Every model answers with text, so this is not a loss.
    ...(isTextOnly(body.modalities) ? ['modalities'] : []),
    ...(isRecord(body.reasoning) ? ['reasoning'] : []),
  ]
}

/** The client's names for fields that have another name than usual in this body. */
function namesOf(body: Fields, ofThinking: Names | undefined): { names?: Names } {
  const names: Names = {
    ...ofThinking,
    ...(!isGiven(body.max_completion_tokens) &&
      isGiven(body.max_tokens) && { maxOutputTokens: 'max_tokens' }),
    ...(!isGiven(body.safety_identifier) && isGiven(body.user) && { user: 'user' }),
    ...(!isGiven(body.tool_choice) && isGiven(body.function_call) && { toolChoice: 'function_call' }),
  }
  return Object.keys(names).length > 0 ? { names } : {}
}

function isTextOnly(modalities: unknown): boolean {
  return Array.isArray(modalities) && modalities.length === 1 && modalities[0] === 'text'
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function limit(body: Fields, field: string): number | undefined {
  return optional(body[field], field, (value, path) => {
    if (!isOutputLimit(value)) throw refusal(path, `must be ${OUTPUT_RULE}`)
    return value
  })
}

/** The older limit, if it is lost because it differs from the one in force. */
function otherLimit({ max_tokens: older, max_completion_tokens: limit }: Fields): Fields {
  return isGiven(limit) && isGiven(older) && older !== limit ? { max_tokens: older } : {}
}

function formatOf({ response_format: format }: Fields): unknown {
  return isRecord(format) ? format.json_schema : undefined
}

function decodeStop(stop: unknown): string[] | undefined {
  if (stop === undefined || stop === null) return undefined
  if (typeof stop === 'string') return [stop]
  if (!Array.isArray(stop)) throw refusal('stop', 'must be a string or an array of strings')
  const list = stop.map((value, i) => stringAt(value, `stop[${i}]`))
  return list.length === 0 ? undefined : list
}

function decodeLogprobs(body: Fields): { top: number } | undefined {
  const wanted = optional(body.logprobs, 'logprobs', booleanAt)
  const top = optional(body.top_logprobs, 'top_logprobs', integerAt) ?? 0
  if (top < 0 || top > MAX_TOP_LOGPROBS) {
    throw refusal('top_logprobs', `must be an integer from 0 to ${MAX_TOP_LOGPROBS}`)
  }
  return wanted ? { top } : undefined
}

function decodeFormat(value: unknown): OutputFormat | undefined {
  const format = optional(value, 'response_format', recordAt)
  if (format === undefined) return undefined
  const type = oneOf(['text', 'json_object', 'json_schema'])(format.type, 'response_format.type')
  if (type === 'text') return undefined
  if (type === 'json_object') return { type: 'json' }
  const path = 'response_format.json_schema'
  const inner = recordAt(format.json_schema, path)
  return {
    type: 'schema',
    schema: optional(inner.schema, `${path}.schema`, recordAt) ?? {},
    ...present({
      name: optional(inner.name, `${path}.name`, stringAt),
      description: optional(inner.description, `${path}.description`, stringAt),
      strict: optional(inner.strict, `${path}.strict`, booleanAt),
    }),
  }
}

function decodeMetadata(value: unknown): Record<string, string> | undefined {
  const metadata = optional(value, 'metadata', recordAt)
  if (metadata === undefined) return undefined
  const pairs = Object.entries(metadata).map(([key, text]): [string, string] => {
    if (typeof text !== 'string') throw refusal('metadata', 'must have strings as values')
    return [key, text]
  })
  return Object.fromEntries(pairs)
}
