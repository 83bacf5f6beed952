/** The fields of a response that repeat the request. Clients with a strict schema require all of them. */

import { isRecord, tryParse } from '../../../core/json/value.ts'
import type { ParsedRequest } from '../../../core/request.ts'

/** Values of fields that the request lacks or has as null. */
const DEFAULTS: Record<string, unknown> = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  previous_response_id: null,
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

const ECHOES = new WeakMap<ParsedRequest, Record<string, unknown>>()
/** The client's requests, by the rewritten requests. */
const ORIGINALS = new WeakMap<ParsedRequest, ParsedRequest>()

/** Makes answers to `request`, a rewritten `original`, repeat the original, which is what the client sent. */
export function echoOriginal(request: ParsedRequest, original: ParsedRequest): void {
  ORIGINALS.set(request, ORIGINALS.get(original) ?? original)
}

/** A response without id, time, model, output, error and usage. */
export function echoOf(request: ParsedRequest): Record<string, unknown> {
  const parsed = ORIGINALS.get(request) ?? request
  let echo = ECHOES.get(parsed)
  if (echo === undefined) {
    const body = tryParse(parsed.body.toString('utf8'))
    echo = makeEcho(isRecord(body) ? body : {})
    ECHOES.set(parsed, echo)
  }
  return echo
}

function makeEcho(body: Record<string, unknown>): Record<string, unknown> {
  const echo: Record<string, unknown> = {
    object: 'response',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
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
