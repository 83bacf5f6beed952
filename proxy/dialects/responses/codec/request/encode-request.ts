/** Writes the neutral form as a responses request. */
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import type { TypedField } from '../../../core/neutral/typed-field.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import { type Writer, writerFor } from '../../../core/writer.ts'
import { shortUser } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'
import { writeInput } from './encode-input.ts'
import { writeReasoning } from './reasoning.ts'
import { formatInstruction, writeText } from './text-settings.ts'
import { writeToolChoice, writeTools } from './tools.ts'

/** OpenAI refuses a lower limit. */
const MIN_OUTPUT_TOKENS = 16
const EMPTY: wire.Message = { type: 'message', role: 'user', content: '' }
const LOGPROBS = 'message.output_text.logprobs' as const
const ENCRYPTED = 'reasoning.encrypted_content' as const

/** Leaves out stop sequences, which responses lacks: the hub cuts the answer. Throws unsupported_parameter. */
export function encodeRequest(request: ModelRequest, target: EncodeTarget): EncodedRequest {
  return { body: writeBody(request, writerFor(request, target), target) }
}

function writeBody(
  request: ModelRequest,
  writer: Writer,
  { model, outputLimit }: Pick<EncodeTarget, 'model' | 'outputLimit'>,
): wire.Request {
  const { maxOutputTokens, user, logprobs, metadata, store, stream, parallelToolCalls } = request
  refuseAndLose(request, writer)
  if (maxOutputTokens !== undefined && maxOutputTokens < MIN_OUTPUT_TOKENS) writer.lose('maxOutputTokens')
  const limit = maxOutputTokens ?? outputLimit
  if (user !== undefined && shortUser(user) !== user) writer.lose('user')
  const { items, instructions } = writeInput(request.turns, writer)
  const instruction = formatInstruction(request, writer)
  const wholeInstructions = [instructions, instruction].filter((text) => text !== undefined).join('\n\n')
  const thinks = writer.features.reasoning !== 'None'
  const include = [...(thinks ? [ENCRYPTED] : []), ...(logprobs === undefined ? [] : [LOGPROBS])]
  const tier = tierOf(request, writer)
  const tools = writeTools(request.tools, writer)
  const hasTools = tools.length > 0
  return {
    model,
    instructions: wholeInstructions || undefined,
    // The input must not be empty, even if all messages are.
    input: items.length > 0 ? items : [EMPTY],
    stream: stream || undefined,
    top_logprobs: logprobs?.top || undefined,
    reasoning: writeReasoning(request, writer),
    text: writeText(request, writer),
    tools: hasTools ? tools : undefined,
    tool_choice: hasTools && request.toolChoice ? writeToolChoice(request.toolChoice, writer) : undefined,
    parallel_tool_calls: hasTools ? parallelToolCalls : undefined,
    metadata,
    prompt_cache_key: request.cacheKey ?? request.session,
    service_tier: tier,
    max_output_tokens: limit === undefined ? undefined : Math.max(limit, MIN_OUTPUT_TOKENS),
    temperature: sampled('temperature', request, writer),
    top_p: sampled('topP', request, writer),
    safety_identifier: user === undefined ? undefined : shortUser(user),
    include: include.length > 0 ? include : undefined,
    store: store ?? false,
  }
}

function tierOf({ tier, speed }: ModelRequest, { features, lose }: Writer): string | undefined {
  if (!speed || features.speed) return tier
  lose('tier')
  return undefined
}

/** Fields that responses lacks. */
const UNSUPPORTED: TypedField[] = ['topK', 'seed', 'frequencyPenalty', 'presencePenalty']

function refuseAndLose(request: ModelRequest, writer: Writer): void {
  if (request.choices !== undefined && request.choices > 1) {
    throw writer.refuse('choices', 'must be 1 with this model')
  }
  const given = new Set(Object.keys(request))
  for (const field of UNSUPPORTED) if (given.has(field)) writer.lose(field)
}

/** Reasoning models refuse every value but 1. */
function sampled(field: 'temperature' | 'topP', request: ModelRequest, writer: Writer): number | undefined {
  const value = request[field]
  if (writer.features.sampling !== false) return value
  if (value !== undefined && value !== 1) writer.lose(field)
  return undefined
}
