/** The fields of a response that repeat the request. Clients with a strict schema require all of them. */

import { bodyOf } from '../../../core/json/body-value.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import type { ResponsesOwn } from '../../request.ts'

/** Values of fields that the request lacks or has as null. */
const DEFAULTS: Record<string, unknown> = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  prompt_cache_key: null,
  safety_identifier: null,
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
}

/** A response without id, time, model, output, error and usage. */
export function echoOf(request: ParsedRequest<ResponsesOwn>): Fields {
  const body = bodyOf(request)
  const echo: Fields = {
    object: 'response',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    previous_response_id: request.own.continues ?? null,
    usage: null,
    service_tier: 'default',
    reasoning: reasoningEcho(body.reasoning),
    text: textEcho(body.text),
    tools: Array.isArray(body.tools) ? body.tools.map(toolEcho) : [],
  }
  for (const [field, value] of Object.entries(DEFAULTS)) echo[field] = body[field] ?? value
  return echo
}

function reasoningEcho(reasoning: unknown): unknown {
  if (!isRecord(reasoning)) return null
  return { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null }
}

function textEcho(text: unknown): unknown {
  const given = isRecord(text) ? text : {}
  return { ...given, format: given.format ?? { type: 'text' } }
}

/** A function in a response has all fields. */
function toolEcho(tool: unknown): unknown {
  if (!isRecord(tool) || tool.type !== 'function') return tool
  return { description: null, parameters: null, strict: null, ...tool }
}
