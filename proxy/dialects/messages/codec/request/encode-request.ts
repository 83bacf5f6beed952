/** Encodes a neutral request for the messages API. */
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import { API_VERSION, FAST_BETA } from '../../version.ts'
import type * as wire from '../../wire.ts'
import { limitMarks } from './cache.ts'
import { type Depth, encodeDepth } from './encode-thinking.ts'
import { encodeTools } from './encode-tools.ts'
import { encodeConversation } from './encode-turns.ts'
import { adaptSchema } from './json-schema.ts'
import { type Writer, writerFor } from './writer.ts'

const JSON_ONLY = 'Reply with JSON only, without any other text and without code fences.'

export function encodeRequest(request: ModelRequest, target: EncodeTarget): EncodedRequest {
  const writer = writerFor(request, target)
  refuseRequired(request, writer)
  loseUnsupported(request, writer)
  const { system, messages } = encodeConversation(request.turns, writer)
  const depth = limitedDepth(request, messages, target, writer)
  const { effort, thinking } = depth
  const { format, instructions } = encodeFormat(request, writer)
  const instructed = [...system, ...instructions]
  const body: wire.Request = {
    model: target.model,
    max_tokens: depth.maxTokens,
    system: instructed.length > 0 ? instructed : undefined,
    messages,
    ...encodeTools(request, thinking, writer),
    ...encodeSampling(request, thinking, writer),
    stop_sequences: encodeStop(request, writer),
    thinking,
    output_config: effort || format ? { effort, format } : undefined,
    metadata: request.user === undefined ? undefined : { user_id: request.user },
    ...encodeTier(request, writer),
    stream: request.stream || undefined,
  }
  limitMarks(body, writer)
  const headers: Record<string, string> = { 'anthropic-version': API_VERSION }
  if (body.speed !== undefined) headers['anthropic-beta'] = FAST_BETA
  return { body, headers }
}

/** This API requires a limit, so the gateway's own one counts only where it is the lower. */
function limitedDepth(
  request: ModelRequest,
  messages: wire.MessageParam[],
  { defaultMaxOutputTokens, outputLimit = Infinity }: EncodeTarget,
  writer: Writer,
): Depth {
  const depth = encodeDepth(request, messages, defaultMaxOutputTokens, writer)
  if (request.maxOutputTokens !== undefined || depth.maxTokens <= outputLimit) return depth
  return encodeDepth({ ...request, maxOutputTokens: outputLimit }, messages, outputLimit, writer)
}

/** Throws for fields that must not be dropped. */
function refuseRequired({ choices, logprobs }: ModelRequest, writer: Writer): void {
  if (choices !== undefined && choices > 1) throw writer.refuse('choices', 'must be 1 for this model')
  if (logprobs !== undefined) throw writer.refuse('logprobs', 'is not supported for this model')
}

/** Records typed fields that this dialect does not have. `store: false` is no loss, because the API stores nothing. */
function loseUnsupported(request: ModelRequest, writer: Writer): void {
  writer.loseIf('seed', request.seed)
  writer.loseIf('frequencyPenalty', request.frequencyPenalty)
  writer.loseIf('presencePenalty', request.presencePenalty)
  writer.loseIf('verbosity', request.verbosity)
  writer.loseIf('metadata', request.metadata)
  writer.loseIf('cacheKey', request.cacheKey)
  if (request.store === true) writer.lose('store')
}

/** A model with a thinking budget accepts only the temperature 1, and no top_k. */
function encodeSampling(
  request: ModelRequest,
  thinking: wire.Thinking | undefined,
  writer: Writer,
): wire.Sampling {
  const { temperature, topP, topK } = request
  const out: wire.Sampling = {}
  const free = writer.features.sampling && thinking?.type !== 'enabled'
  if (temperature !== undefined) {
    const taken = free || (writer.features.sampling && temperature >= 1)
    if (taken) out.temperature = Math.min(temperature, 1)
    if (!taken || temperature > 1) writer.lose('temperature')
  }
  if (free && topP !== undefined) out.top_p = topP
  else writer.loseIf('topP', topP)
  if (free && topK !== undefined) out.top_k = topK
  else writer.loseIf('topK', topK)
  return out
}

/** Drops stop sequences of white space only, which the API refuses. */
function encodeStop({ stop = [] }: ModelRequest, writer: Writer): string[] | undefined {
  const kept = stop.filter((sequence) => sequence.trim() !== '')
  if (kept.length < stop.length) writer.lose('stop')
  return kept.length === 0 ? undefined : kept
}

interface Format {
  format?: wire.OutputFormat
  /** Instructions for a format that the API does not enforce. */
  instructions: wire.TextParam[]
}

function encodeFormat({ format }: ModelRequest, writer: Writer): Format {
  if (format === undefined) return { instructions: [] }
  if (format.type === 'json') {
    writer.lose('format')
    return { instructions: [{ type: 'text', text: JSON_ONLY }] }
  }
  const { schema, name, description, strict } = format
  writer.loseIf('format.name', name)
  writer.loseIf('format.description', description)
  writer.loseIf('format.strict', strict)
  if (!writer.features.structuredOutput) {
    writer.lose('format')
    const text = `${JSON_ONLY} It must match this JSON Schema:\n${JSON.stringify(schema)}`
    return { instructions: [{ type: 'text', text }] }
  }
  const adapted = adaptSchema(schema)
  if (adapted.changed) writer.lose('format.schema')
  return { format: { type: 'json_schema', schema: adapted.schema }, instructions: [] }
}

/** A faster answer costs more, so it is requested only if the channel allows it. */
function encodeTier({ tier }: ModelRequest, writer: Writer): Pick<wire.Request, 'service_tier' | 'speed'> {
  if (tier === undefined) return {}
  if (tier === 'default' || tier === '') return { service_tier: 'standard_only' }
  if (tier === 'auto') return { service_tier: 'auto' }
  const fast = tier === 'fast' || tier === 'priority'
  if (fast && writer.features.speed) return { speed: 'fast' }
  writer.lose('tier')
  return {}
}
