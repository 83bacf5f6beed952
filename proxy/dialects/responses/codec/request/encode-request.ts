/** Writes the neutral form as a responses request. */
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import { shortUser } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'
import { writeInput } from './encode-input.ts'
import { writeReasoning } from './reasoning.ts'
import { type Target, targetOf, unsupported } from './target.ts'
import { formatInstruction, writeText } from './text-settings.ts'
import { writeToolChoice, writeTools } from './tools.ts'

/** OpenAI refuses a lower limit. */
const MIN_OUTPUT_TOKENS = 16
const EMPTY: wire.Message = { type: 'message', role: 'user', content: '' }
const LOGPROBS = 'message.output_text.logprobs' as const
const ENCRYPTED = 'reasoning.encrypted_content' as const

/** Leaves out stop sequences, which responses lacks: the hub cuts the answer. Throws unsupported_parameter. */
export function encodeRequest(request: ModelRequest, encodeTarget: EncodeTarget): EncodedRequest {
  return { body: writeBody(request, targetOf(request, encodeTarget), encodeTarget.model) }
}

function writeBody(request: ModelRequest, target: Target, model: string): wire.Request {
  const { maxOutputTokens, user, logprobs, metadata, store, stream, parallelToolCalls } = request
  refuseAndLose(request, target)
  if (maxOutputTokens !== undefined && maxOutputTokens < MIN_OUTPUT_TOKENS) target.lose('maxOutputTokens')
  if (user !== undefined && shortUser(user) !== user) target.lose('user')
  const { items, instructions } = writeInput(request.turns, target)
  const instruction = formatInstruction(request, target)
  const wholeInstructions = [instructions, instruction].filter((text) => text !== undefined).join('\n\n')
  const thinks = target.features.reasoning !== 'None'
  const include = [...(thinks ? [ENCRYPTED] : []), ...(logprobs === undefined ? [] : [LOGPROBS])]
  const tier = tierOf(request, target)
  const tools = writeTools(request.tools, target)
  const hasTools = tools.length > 0
  return {
    model,
    instructions: wholeInstructions || undefined,
    // The input must not be empty, even if all messages are.
    input: items.length > 0 ? items : [EMPTY],
    stream: stream || undefined,
    top_logprobs: logprobs?.top || undefined,
    reasoning: writeReasoning(request, target),
    text: writeText(request, target),
    tools: hasTools ? tools : undefined,
    tool_choice: hasTools && request.toolChoice ? writeToolChoice(request.toolChoice, target) : undefined,
    parallel_tool_calls: hasTools ? parallelToolCalls : undefined,
    metadata,
    prompt_cache_key: request.cacheKey ?? request.session,
    service_tier: tier,
    max_output_tokens:
      maxOutputTokens === undefined ? undefined : Math.max(maxOutputTokens, MIN_OUTPUT_TOKENS),
    temperature: sampled('temperature', request, target),
    top_p: sampled('topP', request, target),
    safety_identifier: user === undefined ? undefined : shortUser(user),
    include: include.length > 0 ? include : undefined,
    store: store ?? false,
  }
}

function tierOf({ tier, speed }: ModelRequest, { features, lose }: Target): string | undefined {
  if (!speed || features.speed) return tier
  lose('tier')
  return undefined
}

/** Fields that responses lacks. */
const UNSUPPORTED: TypedField[] = ['topK', 'seed', 'frequencyPenalty', 'presencePenalty']

function refuseAndLose(request: ModelRequest, target: Target): void {
  if (request.choices !== undefined && request.choices > 1) {
    throw unsupported(target, 'choices', 'must be 1 with this model')
  }
  const given = new Set(Object.keys(request))
  for (const field of UNSUPPORTED) if (given.has(field)) target.lose(field)
}

/** Reasoning models refuse every value but 1. */
function sampled(field: 'temperature' | 'topP', request: ModelRequest, target: Target): number | undefined {
  const value = request[field]
  if (target.features.sampling !== false) return value
  if (value !== undefined && value !== 1) target.lose(field)
  return undefined
}
