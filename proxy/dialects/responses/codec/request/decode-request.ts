/** Reads a responses request as the neutral form. */
import type { z } from 'zod'
import { present } from '../../../../../kit/present.ts'
import { bodyOf } from '../../../core/json/body-value.ts'
import { isOutputLimit, OUTPUT_RULE, readOptional } from '../../../core/json/fields.ts'
import { isRecord } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type { Envelopes, ModelRequest, Names, Reasoning, Tool, Turn } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { type DecodedInput, readInput } from './decode-input.ts'
import { readReasoning } from './reasoning.ts'
import * as schema from './schema.ts'
import { readText } from './text-settings.ts'
import { readToolChoice, readTools } from './tools.ts'

const LOGPROBS = 'message.output_text.logprobs'
/** Values of `include` that upstreams of other dialects support. */
const PLAIN_INCLUDES = [LOGPROBS, 'reasoning.encrypted_content']
/** Fields that the neutral form contains, or that may be dropped without a loss. */
const TYPED = [
  'model',
  'input',
  'instructions',
  'stream',
  'background',
  'client_metadata',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'include',
  'reasoning',
  'text',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'safety_identifier',
  'metadata',
  'prompt_cache_key',
  'service_tier',
  'store',
]

/** Fields that shape an answer, and so have no effect on a compaction. */
const ANSWER_ONLY = [
  'context_management',
  'include',
  'input',
  'max_tool_calls',
  'parallel_tool_calls',
  'store',
  'text',
  'tool_choice',
  'top_logprobs',
]

/** Throws GatewayError invalid_request naming the field. */
export function decodeRequest(parsed: ParsedRequest, envelopes: Envelopes): ModelRequest {
  const { head, compacts: compact } = parsed
  const value = bodyOf(parsed)
  const scalars = schema.check(schema.scalars, value, '')
  const { turns, tools: more } = readConversation(value.input, scalars.instructions, envelopes)
  const tools = readTools(value.tools, 'tools')
  const text = readText(value.text)
  const chosen = readToolChoice(value.tool_choice)
  const reasoning = readReasoning(value.reasoning)
  const maxOutputTokens = readOptional(value, 'max_output_tokens', isOutputLimit, OUTPUT_RULE)
  const user = scalars.safety_identifier ?? scalars.user
  const tier = value.service_tier
  const includes = scalars.include ?? []
  const top = scalars.top_logprobs ?? 0

  const request: ModelRequest = {
    model: head.model,
    stream: head.stream,
    turns,
    tools: [...tools, ...newTools(more, tools)],
    ...present({
      toolChoice: chosen.choice,
      parallelToolCalls: scalars.parallel_tool_calls ?? undefined,
      maxOutputTokens,
      temperature: scalars.temperature ?? undefined,
      topP: scalars.top_p ?? undefined,
      logprobs: top > 0 || includes.includes(LOGPROBS) ? { top } : undefined,
      format: text.format,
      verbosity: text.verbosity,
      reasoning,
      user: user ?? undefined,
      metadata: scalars.metadata ?? undefined,
      cacheKey: scalars.prompt_cache_key ?? undefined,
      tier: typeof tier === 'string' && tier !== '' ? tier : undefined,
      store: scalars.store ?? undefined,
      compact,
    }),
    ...namesOf(scalars, reasoning),
  }
  const typed = [
    ...TYPED,
    ...(scalars.user === user ? ['user'] : []),
    ...(value.truncation === 'disabled' ? ['truncation'] : []),
    ...(isUnpadded(value.stream_options) ? ['stream_options'] : []),
    ...(compact ? ANSWER_ONLY : []),
  ]
  const partlyTyped = {
    ...(text.more && { text: value.text }),
    ...(chosen.more && { tool_choice: value.tool_choice }),
    ...(includes.every((name) => PLAIN_INCLUDES.includes(name)) ? {} : { include: includes }),
  }
  return { ...request, ...keep({ dialect: 'responses', at: '' }, value, typed, compact ? {} : partlyTyped) }
}

/** True if the client turned padding off. No other dialect pads, so this is not a loss. */
function isUnpadded(options: unknown): boolean {
  return (
    isRecord(options) &&
    Object.entries(options).every(([key, on]) => key === 'include_obfuscation' && on !== true)
  )
}

/** Names of fields for losses, where this body uses another name than usual. */
function namesOf(
  scalars: z.infer<typeof schema.scalars>,
  reasoning: Reasoning | undefined,
): { names?: Names } {
  const { safety_identifier: id, user, include, top_logprobs: top } = scalars
  const names: Names = {
    ...(!id && user && { user: 'user' }),
    ...(include && !top && { logprobs: 'include' }),
    ...reasoning?.names,
  }
  return Object.keys(names).length > 0 ? { names } : {}
}

function readConversation(
  input: unknown,
  instructions: string | null | undefined,
  envelopes: Envelopes,
): DecodedInput {
  const top: Turn[] = instructions
    ? [{ role: 'system', placement: 'top', parts: [{ type: 'text', text: instructions }] }]
    : []
  if (typeof input === 'string') {
    const user: Turn = { role: 'user', parts: [{ type: 'text', text: input }] }
    return { turns: [...top, user], tools: [] }
  }
  if (!Array.isArray(input)) return { turns: top, tools: [] }
  const { turns, tools } = readInput(input, envelopes)
  return { turns: [...top, ...turns], tools }
}

/** The tools of `more` that are not in `tools`. */
function newTools(more: Tool[], tools: Tool[]): Tool[] {
  const known = new Set(tools.map(fullName))
  return more.filter((tool) => !known.has(fullName(tool)))
}

function fullName(tool: Tool): string {
  if (tool.type === 'web-search') return tool.type
  if (tool.type === 'hosted') return JSON.stringify(tool.tool)
  return JSON.stringify([tool.namespace, tool.name, tool.type === 'function' && tool.search])
}
