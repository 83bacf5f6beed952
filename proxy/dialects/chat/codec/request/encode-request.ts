/** Writes a request for an upstream that speaks chat. */
import { GatewayError } from '../../../../errors.ts'
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import { isClosedSchema } from '../../../core/neutral/closed-schema.ts'
import type { ModelRequest, OutputFormat } from '../../../core/neutral/types.ts'
import { shortUser } from '../../../openai/fields.ts'
import { present } from '../present.ts'
import { effortFor } from './effort.ts'
import { lose, unsupported, type Writing } from './encode-content.ts'
import { encodeMessages } from './encode-messages.ts'
import { encodeTools } from './tools.ts'

const MAX_STOPS = 4

export function encodeRequest(request: ModelRequest, target: EncodeTarget): EncodedRequest {
  const writing: Writing = { ...target, source: request.source, request }
  if (request.choices !== undefined) {
    const message = 'n must be 1: this model gives one answer at a time.'
    throw new GatewayError('unsupported_parameter', message, { param: 'n' })
  }
  const messages = encodeMessages(request, writing)
  const body: Fields = {
    model: target.model,
    messages,
    ...encodeLimits(request, writing),
    ...encodeSampling(request, writing),
    ...encodeTools(request, writing),
    ...encodeFormat(request.format, messages, writing),
    ...encodeLabels(request, writing),
  }
  if (request.reasoning !== undefined) {
    const { summary } = request.reasoning
    const level = effortFor(request.reasoning, writing)
    if (level !== undefined) body.reasoning_effort = level
    // Chat has no field to request or hide thoughts.
    const hides = summary === 'none' && level !== 'none' && target.features.reasoning !== 'None'
    if (hides || summary === 'concise' || summary === 'detailed') lose(writing, 'summary')
  }
  if (!target.features.prefill && request.turns.at(-1)?.role === 'assistant') lose(writing, 'prefill')
  return { body }
}

function encodeLimits(request: ModelRequest, writing: Writing): Fields {
  const { stop, maxOutputTokens, stream, wantsStreamUsage } = request
  const { features } = writing
  if (stop !== undefined && stop.length > MAX_STOPS) {
    throw unsupported(writing, 'stop', `must have at most ${MAX_STOPS} entries for this model`)
  }
  const limit = features.maxCompletionTokens ? 'max_completion_tokens' : 'max_tokens'
  // Clients of the messages API may send 0, for no answer.
  if (maxOutputTokens === 0) lose(writing, 'maxOutputTokens')
  return {
    ...(stream && { stream }),
    ...(stream &&
      (features.streamUsage || wantsStreamUsage) && {
        stream_options: { include_usage: true },
      }),
    ...(maxOutputTokens !== undefined && { [limit]: Math.max(maxOutputTokens, 1) }),
    ...(stop !== undefined && { stop }),
  }
}

function encodeSampling(request: ModelRequest, writing: Writing): Fields {
  const { temperature, topP, topK, logprobs } = request
  if (topK !== undefined) lose(writing, 'topK')
  const fields: Fields = present({
    temperature,
    top_p: topP,
    seed: request.seed,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
  })
  if (logprobs !== undefined) {
    fields.logprobs = true
    if (logprobs.top > 0) fields.top_logprobs = logprobs.top
  }
  if (writing.features.sampling) return fields
  // The default, 1, is not lost with models that accept neither.
  if (temperature !== undefined && temperature !== 1) {
    lose(writing, 'temperature')
    delete fields.temperature
  }
  if (topP !== undefined && topP !== 1) {
    lose(writing, 'topP')
    delete fields.top_p
  }
  return fields
}

function encodeFormat(format: OutputFormat | undefined, messages: Fields[], writing: Writing): Fields {
  if (format === undefined) return {}
  if (format.type === 'json') return { response_format: { type: 'json_object' } }
  const { name = 'response', description, schema, strict } = format
  if (!writing.features.structuredOutput) {
    lose(writing, 'format')
    instruct(messages, `Answer with one JSON object that fits this JSON Schema: ${JSON.stringify(schema)}`)
    return { response_format: { type: 'json_object' } }
  }
  // The messages API enforces every schema that it accepts.
  const enforced = strict ?? (writing.source === 'messages' ? isClosedSchema(schema) : undefined)
  const json_schema = present({ name, description, schema, strict: enforced })
  return { response_format: { type: 'json_schema', json_schema } }
}

/** Adds an instruction where the other instructions are. */
function instruct(messages: Fields[], text: string): void {
  const [first] = messages
  const isSystem = first?.role === 'system' || first?.role === 'developer'
  if (isSystem && typeof first.content === 'string') first.content = `${first.content}\n\n${text}`
  else messages.unshift({ role: 'system', content: text })
}

function encodeLabels(request: ModelRequest, writing: Writing): Fields {
  const { source, features } = writing
  const { verbosity, metadata, store } = request
  // Upstreams other than OpenAI may refuse a key that the client did not send.
  const cacheKey = request.cacheKey ?? (features.maxCompletionTokens ? request.session : undefined)
  // OpenAI's newer name for the user, which other upstreams do not know.
  const userField = features.maxCompletionTokens ? 'safety_identifier' : 'user'
  const user = request.user === undefined ? undefined : shortUser(request.user)
  if (user !== request.user) lose(writing, 'user')
  let { tier } = request
  if (source === 'messages' && tier === 'fast' && !features.speed) {
    lose(writing, 'tier')
    tier = undefined
  }
  if (tier === 'ultrafast') {
    lose(writing, 'tier')
    tier = 'fast'
  }
  return {
    ...present({ verbosity, metadata, prompt_cache_key: cacheKey, service_tier: tier }),
    // False is the default here.
    ...(store === true && { store }),
    ...(user !== undefined && { [userField]: user }),
  }
}
