/**
 * What a conversion drops. A loss is named by the family of the client's field: dotted, without indexes, such as
 * `messages.content.image_url.detail`.
 */
import type { TypedField } from './typed-field.ts'
import type { ApiName, Ext, Extended, ModelRequest } from './types.ts'

export type { TypedField }

/** Room in the header that tells them. */
const MAX_BYTES = 1024

export class Losses {
  readonly #names = new Set<string>()

  add(name: string): void {
    this.#names.add(name)
  }

  get names(): string[] {
    return [...this.#names]
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  get size(): number {
    return this.#names.size
  }

  /** For the header: names joined by a comma, whole names up to 1 KiB, `...` for the rest; undefined without losses. */
  header(): string | undefined {
    if (this.#names.size === 0) return undefined
    let text = ''
    for (const name of this.#names) {
      const plain = name.replace(/[^\x21-\x2b\x2d-\x7e]/g, '_')
      const comma = text === '' ? '' : ', '
      if (text.length + plain.length + 7 > MAX_BYTES) return `${text}${comma}...`
      text += comma + plain
    }
    return text
  }
}

/** The client's own name for each of them. A field that a dialect does not have cannot be lost from it. */
const NAMES: Record<ApiName, Partial<Record<TypedField, string>>> = {
  chat: {
    maxOutputTokens: 'max_completion_tokens',
    temperature: 'temperature',
    topP: 'top_p',
    stop: 'stop',
    seed: 'seed',
    frequencyPenalty: 'frequency_penalty',
    presencePenalty: 'presence_penalty',
    choices: 'n',
    logprobs: 'logprobs',
    format: 'response_format',
    'format.name': 'response_format.json_schema.name',
    'format.description': 'response_format.json_schema.description',
    'format.strict': 'response_format.json_schema.strict',
    'format.schema': 'response_format.json_schema.schema',
    verbosity: 'verbosity',
    effort: 'reasoning_effort',
    user: 'safety_identifier',
    metadata: 'metadata',
    cacheKey: 'prompt_cache_key',
    cacheMark: 'messages.content.prompt_cache_breakpoint',
    tier: 'service_tier',
    store: 'store',
    parallelToolCalls: 'parallel_tool_calls',
    toolChoice: 'tool_choice',
    tools: 'tools',
    'tools.strict': 'tools.function.strict',
    'tools.parameters': 'tools.function.parameters',
    'tools.description': 'tools.function.description',
    'tools.format': 'tools.custom.format',
    turns: 'messages',
    system: 'messages',
    prefill: 'messages',
    reasoning: 'messages.reasoning_content',
    'reasoning.state': 'messages.reasoning_details',
    callState: 'messages.tool_calls.extra_content',
    image: 'messages.content.image_url',
    'image.detail': 'messages.content.image_url.detail',
    file: 'messages.content.file',
    'file.name': 'messages.content.file.filename',
    audio: 'messages.content.input_audio',
    refusal: 'messages.refusal',
    annotations: 'messages.annotations',
    results: 'messages.content',
  },
  responses: {
    maxOutputTokens: 'max_output_tokens',
    temperature: 'temperature',
    topP: 'top_p',
    logprobs: 'top_logprobs',
    format: 'text.format',
    'format.name': 'text.format.name',
    'format.description': 'text.format.description',
    'format.strict': 'text.format.strict',
    'format.schema': 'text.format.schema',
    verbosity: 'text.verbosity',
    effort: 'reasoning.effort',
    summary: 'reasoning.summary',
    user: 'safety_identifier',
    metadata: 'metadata',
    cacheKey: 'prompt_cache_key',
    cacheMark: 'input.content.prompt_cache_breakpoint',
    tier: 'service_tier',
    store: 'store',
    parallelToolCalls: 'parallel_tool_calls',
    toolChoice: 'tool_choice',
    tools: 'tools',
    'tools.strict': 'tools.strict',
    'tools.parameters': 'tools.parameters',
    'tools.description': 'tools.description',
    'tools.format': 'tools.format',
    turns: 'input',
    system: 'input',
    prefill: 'input',
    reasoning: 'input.summary',
    'reasoning.state': 'input.encrypted_content',
    image: 'input.content.image_url',
    'image.detail': 'input.content.detail',
    file: 'input.content.file_data',
    'file.name': 'input.content.filename',
    audio: 'input.content.input_audio',
    refusal: 'input.content.refusal',
    annotations: 'input.content.annotations',
    'text.logprobs': 'input.content.logprobs',
    hosted: 'input',
    results: 'input.output',
  },
  messages: {
    maxOutputTokens: 'max_tokens',
    temperature: 'temperature',
    topP: 'top_p',
    topK: 'top_k',
    stop: 'stop_sequences',
    format: 'output_config.format',
    'format.schema': 'output_config.format.schema',
    effort: 'output_config.effort',
    budgetTokens: 'thinking.budget_tokens',
    thinking: 'thinking',
    summary: 'thinking.display',
    user: 'metadata.user_id',
    cacheMark: 'messages.content.cache_control',
    tier: 'speed',
    parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
    toolChoice: 'tool_choice',
    tools: 'tools',
    'tools.strict': 'tools.strict',
    'tools.parameters': 'tools.input_schema',
    'tools.description': 'tools.description',
    turns: 'messages',
    system: 'messages',
    prefill: 'messages',
    reasoning: 'messages.content.thinking',
    'reasoning.state': 'messages.content.signature',
    image: 'messages.content.source',
    file: 'messages.content.source',
    'file.name': 'messages.content.title',
    annotations: 'messages.content.citations',
    hosted: 'messages.content',
    results: 'messages.content.content',
    'results.isError': 'messages.content.is_error',
  },
  images: { turns: 'prompt', user: 'user' },
}

/**
 * How the client calls a typed field: by the name that one of its owners knows it by, the part before the request, or
 * by the usual one.
 */
export function lossName(
  source: ApiName,
  field: TypedField,
  ...owners: (Pick<Extended, 'names'> | undefined)[]
): string {
  for (const owner of owners) {
    const name = owner?.names?.[field]
    if (name !== undefined) return name
  }
  return NAMES[source][field] ?? field
}

/** Adds every field that only dialects other than `target` know, wherever in the request it stands. */
export function addExtLosses(request: ModelRequest, target: ApiName, losses: Losses): void {
  walk(request, (ext) => {
    if (ext.dialect === target) return
    for (const field of Object.keys(ext.fields)) losses.add(ext.at === '' ? field : `${ext.at}.${field}`)
  })
}

/** Calls `seen` with every ext below `node`; schemas, items and fields of clients are not entered. */
function walk(node: unknown, seen: (ext: Ext) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, seen)
    return
  }
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) {
    if (key === 'ext') seen(value as Ext)
    else if (!OPAQUE.has(key)) walk(value, seen)
  }
}

const OPAQUE = new Set(['parameters', 'schema', 'item', 'tool', 'choice', 'metadata', 'carrier', 'logprobs'])
