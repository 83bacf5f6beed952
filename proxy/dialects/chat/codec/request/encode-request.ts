/** Writes a request for an upstream that speaks chat. */

import { present } from '../../../../../kit/present.ts'
import { GatewayError } from '../../../../errors.ts'
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import { isClosedSchema } from '../../../core/neutral/closed-schema.ts'
import type { ModelRequest, OutputFormat } from '../../../core/neutral/types.ts'
import { type Writer, writerFor } from '../../../core/writer.ts'
import { shortUser } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'
import { effortFor } from './effort.ts'
import { encodeMessages } from './encode-messages.ts'
import { encodeTools } from './tools.ts'

const MAX_STOPS = 4

export function encodeRequest(request: ModelRequest, target: EncodeTarget): EncodedRequest {
  const writer = writerFor(request, target)
  if (request.choices !== undefined) {
    const message = 'n must be 1: this model gives one answer at a time.'
    throw new GatewayError('unsupported_parameter', message, { param: 'n' })
  }
  const messages = encodeMessages(request, writer)
  const body: wire.Request = {
    model: target.model,
    messages,
    ...encodeLimits(request, target.outputLimit, writer),
    ...encodeSampling(request, writer),
    ...encodeTools(request, writer),
    ...encodeFormat(request.format, messages, writer),
    ...encodeLabels(request, writer),
  }
  if (request.reasoning !== undefined) {
    const { summary } = request.reasoning
    const level = effortFor(request.reasoning, writer)
    if (level !== undefined) body.reasoning_effort = level
    // Chat has no field to request or hide thoughts.
    const hides = summary === 'none' && level !== 'none' && target.features.reasoning !== 'None'
    if (hides || summary === 'concise' || summary === 'detailed') writer.lose('summary')
  }
  if (!target.features.prefill && request.turns.at(-1)?.role === 'assistant') writer.lose('prefill')
  return { body: present(body) }
}

function encodeLimits(
  request: ModelRequest,
  outputLimit: number | undefined,
  writer: Writer,
): Partial<wire.Request> {
  const { stop, maxOutputTokens, stream, wantsStreamUsage } = request
  const { features } = writer
  if (stop !== undefined && stop.length > MAX_STOPS) {
    throw writer.refuse('stop', `must have at most ${MAX_STOPS} entries for this model`)
  }
  const limit = maxOutputTokens === undefined ? outputLimit : Math.max(maxOutputTokens, 1)
  // Clients of the messages API may send 0, for no answer.
  if (maxOutputTokens === 0) writer.lose('maxOutputTokens')
  const byNewName = features.maxCompletionTokens
  const hasUsage = stream && (features.streamUsage || wantsStreamUsage)
  return {
    stream: stream || undefined,
    stream_options: hasUsage ? { include_usage: true } : undefined,
    max_completion_tokens: byNewName ? limit : undefined,
    max_tokens: byNewName ? undefined : limit,
    stop,
  }
}

function encodeSampling(request: ModelRequest, writer: Writer): Partial<wire.Request> {
  const { seed, logprobs } = request
  if (request.topK !== undefined) writer.lose('topK')
  /** The default, 1, is not lost with models that accept neither. */
  const accepted = (field: 'temperature' | 'topP') => {
    const value = request[field]
    if (writer.features.sampling || value === undefined || value === 1) return value
    writer.lose(field)
    return undefined
  }
  return {
    temperature: accepted('temperature'),
    top_p: accepted('topP'),
    seed,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    logprobs: logprobs && true,
    top_logprobs: logprobs?.top || undefined,
  }
}

function encodeFormat(
  format: OutputFormat | undefined,
  messages: wire.Message[],
  writer: Writer,
): Partial<wire.Request> {
  if (format === undefined) return {}
  if (format.type === 'json') return { response_format: { type: 'json_object' } }
  const { name = 'response', description, schema } = format
  if (!writer.features.structuredOutput) {
    writer.lose('format')
    instruct(messages, `Answer with one JSON object that fits this JSON Schema: ${JSON.stringify(schema)}`)
    return { response_format: { type: 'json_object' } }
  }
  const strict = format.strict ?? (format.enforced && isClosedSchema(schema))
  const json_schema = { name, description, schema, strict } satisfies wire.JsonSchema
  return { response_format: { type: 'json_schema', json_schema } }
}

/** Adds an instruction where the other instructions are. */
function instruct(messages: wire.Message[], text: string): void {
  const [first] = messages
  const isSystem = first?.role === 'system' || first?.role === 'developer'
  if (isSystem && typeof first.content === 'string') first.content = `${first.content}\n\n${text}`
  else messages.unshift({ role: 'system', content: text })
}

function encodeLabels(request: ModelRequest, writer: Writer): Partial<wire.Request> {
  const { features } = writer
  const { verbosity, metadata } = request
  // Upstreams other than OpenAI may refuse a key that the client did not send.
  const cacheKey = request.cacheKey ?? (features.maxCompletionTokens ? request.session : undefined)
  const user = request.user === undefined ? undefined : shortUser(request.user)
  if (user !== request.user) writer.lose('user')
  let { tier } = request
  if (request.speed && !features.speed) {
    writer.lose('tier')
    tier = undefined
  }
  if (tier === 'ultrafast') {
    writer.lose('tier')
    tier = 'fast'
  }
  return {
    verbosity,
    metadata,
    prompt_cache_key: cacheKey,
    service_tier: tier,
    // False is the default here.
    store: request.store || undefined,
    // OpenAI's newer name for the user, which other upstreams do not know.
    safety_identifier: features.maxCompletionTokens ? user : undefined,
    user: features.maxCompletionTokens ? undefined : user,
  }
}
