/**
 * The promises of Open Responses (https://www.openresponses.org/specification) on responses, their events and
 * compactions, as schemas. Unknown fields are accepted; missing required ones are not.
 */
import { z } from 'zod'

const whole = z.number().int()
const text = z.string()
const filled = text.min(1)

const logprobs = z.array(z.looseObject({ token: text, logprob: z.number() }))
const annotations = z.array(z.looseObject({ type: filled }))
const outputText = z.looseObject({ type: z.literal('output_text'), text, annotations, logprobs })
const refusal = z.looseObject({ type: z.literal('refusal'), refusal: text })
const reasoningText = z.looseObject({ type: z.literal('reasoning_text'), text })
const summaryText = z.looseObject({ type: z.literal('summary_text'), text })
const inputText = z.looseObject({ type: z.literal('input_text'), text })
const inputImage = z.looseObject({ type: z.literal('input_image') })
const part = z.discriminatedUnion('type', [
  outputText,
  refusal,
  reasoningText,
  summaryText,
  inputText,
  inputImage,
])

const status = z.enum(['in_progress', 'completed', 'incomplete'])
const item = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('message'),
    id: filled,
    status,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.array(part),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
  }),
  z.looseObject({
    type: z.literal('function_call'),
    id: filled,
    call_id: filled,
    name: filled,
    arguments: text,
    status,
  }),
  z.looseObject({
    type: z.literal('reasoning'),
    id: filled,
    summary: z.array(summaryText),
    content: z.array(reasoningText).nullish(),
    encrypted_content: text.nullish(),
  }),
  z.looseObject({ type: z.literal('compaction'), id: filled, encrypted_content: filled }),
])

const usage = z
  .looseObject({
    input_tokens: whole,
    output_tokens: whole,
    total_tokens: whole,
    input_tokens_details: z.looseObject({ cached_tokens: whole }),
    output_tokens_details: z.looseObject({ reasoning_tokens: whole }),
  })
  .refine((counts) => counts.input_tokens + counts.output_tokens === counts.total_tokens, 'total_tokens')

const functionTool = z.looseObject({
  type: z.literal('function'),
  name: filled,
  description: text.nullable(),
  parameters: z.record(text, z.unknown()).nullable(),
  strict: z.boolean().nullable(),
})

export const responseSchema = z.looseObject({
  id: filled,
  object: z.literal('response'),
  created_at: whole,
  completed_at: whole.nullable(),
  status: filled,
  incomplete_details: z.looseObject({ reason: filled }).nullable(),
  model: filled,
  previous_response_id: filled.nullable(),
  instructions: text.nullable(),
  output: z.array(item),
  error: z.looseObject({ code: filled, message: text }).nullable(),
  tools: z.array(functionTool),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: filled })]),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: z.looseObject({ type: filled }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: whole,
  temperature: z.number(),
  reasoning: z.looseObject({ effort: text.nullable(), summary: text.nullable() }).nullable(),
  user: text.nullable(),
  usage: usage.nullable(),
  max_output_tokens: whole.nullable(),
  max_tool_calls: whole.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: filled,
  metadata: z.record(text, text),
  safety_identifier: text.nullable(),
  prompt_cache_key: text.nullable(),
})
export type OpenResponse = z.infer<typeof responseSchema>

export const compactionSchema = z.looseObject({
  id: filled,
  object: z.literal('response.compaction'),
  created_at: whole,
  output: z.array(item),
  usage,
})

const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.looseObject({ type: z.literal(type), sequence_number: whole.min(0), ...shape })
const lifecycle = <T extends string>(name: T) => event(`response.${name}`, { response: responseSchema })
const ofItem = { output_index: whole.min(0), item }
const inItem = { item_id: filled, output_index: whole.min(0) }
const inContent = { ...inItem, content_index: whole.min(0) }
const inSummary = { ...inItem, summary_index: whole.min(0) }

export const eventSchema = z.discriminatedUnion('type', [
  lifecycle('created'),
  lifecycle('queued'),
  lifecycle('in_progress'),
  lifecycle('completed'),
  lifecycle('incomplete'),
  lifecycle('failed'),
  event('response.output_item.added', ofItem),
  event('response.output_item.done', ofItem),
  event('response.content_part.added', { ...inContent, part }),
  event('response.content_part.done', { ...inContent, part }),
  event('response.output_text.delta', { ...inContent, delta: text, logprobs }),
  event('response.output_text.done', { ...inContent, text, logprobs }),
  event('response.output_text.annotation.added', {
    ...inContent,
    annotation_index: whole,
    annotation: z.unknown(),
  }),
  event('response.refusal.delta', { ...inContent, delta: text }),
  event('response.refusal.done', { ...inContent, refusal: text }),
  event('response.function_call_arguments.delta', { ...inItem, delta: text }),
  event('response.function_call_arguments.done', { ...inItem, arguments: text }),
  event('response.reasoning_summary_part.added', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_part.done', { ...inSummary, part: summaryText }),
  event('response.reasoning_summary_text.delta', { ...inSummary, delta: text }),
  event('response.reasoning_summary_text.done', { ...inSummary, text }),
])

/** An error on a WebSocket: nested, with its status as a number. */
export const socketErrorSchema = z.strictObject({
  type: z.literal('error'),
  status: whole.min(400).max(599),
  stream_id: filled.optional(),
  error: z.strictObject({
    type: filled,
    code: filled,
    message: filled,
    param: text.nullable(),
    headers: z.record(text, text).optional(),
  }),
})
export type SocketError = z.infer<typeof socketErrorSchema>
