/** Writes the neutral form as a responses request. */
import type { EncodedRequest, EncodeTarget } from '../../../core/codec.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import type { ModelRequest } from '../../../core/neutral/types.ts'
import { shortUser } from '../../../openai/fields.ts'
import { writeInput } from './encode-input.ts'
import { writeReasoning } from './reasoning.ts'
import { type Target, targetOf, unsupported } from './target.ts'
import { formatInstruction, writeText } from './text-settings.ts'
import { writeToolChoice, writeTools } from './tools.ts'

/** OpenAI refuses a lower limit. */
const MIN_OUTPUT_TOKENS = 16
const LOGPROBS = 'message.output_text.logprobs'
const ENCRYPTED = 'reasoning.encrypted_content'

/** Leaves out stop sequences, which responses lacks: the hub cuts the answer. Throws unsupported_parameter. */
export function encodeRequest(request: ModelRequest, encodeTarget: EncodeTarget): EncodedRequest {
  const target = targetOf(request, encodeTarget)
  return { body: { ...writeBody(request, target), model: encodeTarget.model } }
}

/** All fields but the model. */
function writeBody(request: ModelRequest, target: Target): Fields {
  refuseAndLose(request, target)
  if (request.maxOutputTokens !== undefined && request.maxOutputTokens < MIN_OUTPUT_TOKENS)
    target.lose('maxOutputTokens')
  if (request.user !== undefined && shortUser(request.user) !== request.user) target.lose('user')
  const { items, instructions } = writeInput(request.turns, target)
  const instruction = formatInstruction(request, target)
  const wholeInstructions = [instructions, instruction].filter((text) => text !== undefined).join('\n\n')
  const { maxOutputTokens, user, temperature, topP, store, ...rest } = request
  const thinks = target.features.reasoning !== 'None'
  const include = [...(thinks ? [ENCRYPTED] : []), ...(request.logprobs === undefined ? [] : [LOGPROBS])]
  return {
    ...(wholeInstructions !== '' && { instructions: wholeInstructions }),
    // The input must not be empty, even if all messages are.
    input: items.length > 0 ? items : [{ type: 'message', role: 'user', content: '' }],
    ...plainFields({ ...rest, ...cacheKeyOf(request), ...tierOf(request, target) }, target),
    ...(maxOutputTokens !== undefined && { max_output_tokens: Math.max(maxOutputTokens, MIN_OUTPUT_TOKENS) }),
    ...sampling(request, target),
    ...(user !== undefined && { safety_identifier: shortUser(user) }),
    ...(include.length > 0 && { include }),
    store: store ?? false,
  }
}

function cacheKeyOf(request: ModelRequest): { cacheKey?: string } {
  const cacheKey = request.cacheKey ?? request.session
  return cacheKey === undefined ? {} : { cacheKey }
}

/** The fast tier costs more, so a client of messages gets it only if the channel allows it. */
function tierOf({ source, tier }: ModelRequest, { features, lose }: Target): Pick<ModelRequest, 'tier'> {
  if (source !== 'messages' || tier !== 'fast' || features.speed) return {}
  lose('tier')
  return { tier: undefined }
}

/** Fields that do not depend on the client's dialect. */
function plainFields(request: ModelRequest, target: Target): Fields {
  const { maxOutputTokens, temperature, topP, logprobs, user, metadata, cacheKey, tier, store } = request
  const tools = writeTools(request.tools, target)
  const reasoning = writeReasoning(request, target)
  const text = writeText(request, target)
  return {
    ...(request.stream && { stream: true }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(logprobs && logprobs.top > 0 && { top_logprobs: logprobs.top }),
    ...(reasoning && { reasoning }),
    ...(text && { text }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && choiceFields(request, target)),
    ...(user !== undefined && { safety_identifier: user }),
    ...(metadata && { metadata }),
    ...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
    ...(tier !== undefined && { service_tier: tier }),
    ...(store !== undefined && { store }),
  }
}

function choiceFields({ toolChoice, parallelToolCalls }: ModelRequest, target: Target): Fields {
  const choice = toolChoice && writeToolChoice(toolChoice, target)
  return {
    ...(choice !== undefined && { tool_choice: choice }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
  }
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

/** Reasoning models refuse every temperature but 1. */
function sampling({ temperature, topP }: ModelRequest, target: Target): Fields {
  if (target.features.sampling !== false) {
    return { ...(temperature !== undefined && { temperature }), ...(topP !== undefined && { top_p: topP }) }
  }
  if (temperature !== undefined && temperature !== 1) target.lose('temperature')
  if (topP !== undefined && topP !== 1) target.lose('topP')
  return {}
}
