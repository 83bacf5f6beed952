/** Schemas of the fields that the neutral form contains; other fields pass unchecked. */
import { z } from 'zod'
import { EFFORTS } from '../../../../../contract/features.ts'
import { refusal } from '../../../core/json/fields.ts'

const text = z.string().nullish()
const flag = z.boolean().nullish()
const record = z.record(z.string(), z.unknown())

export const scalars = z.looseObject({
  instructions: text,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).nullish(),
  include: z.array(z.string()).nullish(),
  parallel_tool_calls: flag,
  user: text,
  safety_identifier: text,
  metadata: z.record(z.string(), z.string()).nullish(),
  prompt_cache_key: text,
  store: flag,
  truncation: text,
})

const summary = z.enum(['auto', 'concise', 'detailed']).nullish()
export const reasoning = z.looseObject({
  effort: z.enum(EFFORTS).nullish(),
  summary,
  generate_summary: summary,
})

export const textSettings = z.looseObject({
  format: z.looseObject({ type: z.string() }).nullish(),
  verbosity: text,
})
export const jsonSchema = z.looseObject({
  name: text,
  description: text,
  schema: record,
  strict: flag,
})

// --- Items ------------------------------------------------------------------------------------------------------------

/** Fields of items that were output before. */
const output = { id: text, status: text }

export const message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  phase: text,
  ...output,
})

export const functionCall = z.looseObject({
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  namespace: text,
  ...output,
})
export const customCall = z.looseObject({
  call_id: z.string(),
  name: z.string(),
  input: z.string(),
  namespace: text,
  ...output,
})
export const callOutput = z.looseObject({ call_id: z.string(), name: text, ...output })

const paragraph = z.looseObject({ type: text, text: z.string() })
export const reasoningItem = z.looseObject({
  ...output,
  summary: z.array(paragraph).nullish(),
  content: z.array(paragraph).nullish(),
  encrypted_content: text,
})

// --- Parts ------------------------------------------------------------------------------------------------------------

export const part = z.looseObject({
  type: z.string(),
  prompt_cache_breakpoint: z.looseObject({ mode: z.string(), ttl: text }).nullish(),
})
export const textPart = z.looseObject({
  text: z.string(),
  annotations: z.array(z.unknown()).nullish(),
  logprobs: z.array(z.unknown()).nullish(),
})
export const refusalPart = z.looseObject({ refusal: z.string() })
export const imagePart = z.looseObject({ image_url: text, file_id: text, detail: text })
export const filePart = z.looseObject({ file_data: text, file_url: text, file_id: text, filename: text })
export const audioPart = z.looseObject({
  input_audio: z.looseObject({ data: z.string(), format: z.string() }),
})

// --- Tools ------------------------------------------------------------------------------------------------------------

export const tool = z.looseObject({ type: z.string() })
export const functionTool = z.looseObject({
  name: z.string(),
  description: text,
  parameters: record.nullish(),
  strict: flag,
})
export const searchTool = z.looseObject({ description: text, parameters: record.nullish() })
export const customTool = z.looseObject({
  name: z.string(),
  description: text,
  format: z.looseObject({ type: z.string() }).nullish(),
})
export const grammar = z.looseObject({ syntax: z.string(), definition: z.string() })
export const namespaceTool = z.looseObject({ name: z.string(), description: text, tools: z.array(tool) })
export const webSearchTool = z.looseObject({
  filters: z.looseObject({ allowed_domains: z.array(z.string()).nullish() }).nullish(),
  user_location: z.looseObject({ city: text, country: text, region: text, timezone: text }).nullish(),
})
export const namedChoice = z.looseObject({ name: z.string() })
export const allowedTools = z.looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(tool) })

// --- Checking ---------------------------------------------------------------------------------------------------------

const RULES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

/** Returns `value` if the schema accepts it. Throws GatewayError invalid_request naming the field under `path`. */
export function check<T>(schema: z.ZodType<T>, value: unknown, path: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  if (issue === undefined) throw refusal(path, 'is not valid')
  throw refusal(fieldAt(path, issue.path), ruleOf(issue))
}

function fieldAt(path: string, inner: readonly PropertyKey[]): string {
  return inner.reduce<string>((at, step) => {
    if (typeof step === 'number') return `${at}[${step}]`
    return at === '' ? String(step) : `${at}.${String(step)}`
  }, path)
}

function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be ${RULES[issue.expected] ?? 'of another type'}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`
  return 'is not valid'
}
