/** POST /v1/chat/completions. */
import { z } from 'zod'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { INSTEAD_OF_CONTENT, MAX_CHOICES } from '../../../proxy/dialects/chat/request.ts'
import { MAX_OUTPUT_TOKENS } from '../../../proxy/dialects/core/json/fields.ts'
import { MODEL_CALL } from './errors.ts'
import { EVENTS_TYPE, JSON_TYPE, type Operation } from './operation.ts'
import { anyObject, events, model, named, nullable, stream, typed } from './schemas.ts'

const outputLimit = nullable(z.int().min(1).max(MAX_OUTPUT_TOKENS))

const message = z
  .looseObject({
    role: z.string(),
    content: nullable(z.union([z.string(), z.array(typed)])).describe(
      `May be absent or null only beside ${INSTEAD_OF_CONTENT.join(', ')}.`,
    ),
  })
  .register(named, { id: 'ChatMessage' })

const request = z
  .looseObject({
    model,
    messages: z.array(message).min(1),
    stream,
    stream_options: nullable(z.looseObject({ include_usage: z.boolean().optional() })).describe(
      'Only beside `stream: true`.',
    ),
    max_tokens: outputLimit,
    max_completion_tokens: outputLimit,
    n: nullable(z.int().min(1).max(MAX_CHOICES)),
    service_tier: nullable(z.string()),
    tools: nullable(z.array(z.unknown())),
  })
  .meta({ examples: [{ model: 'example', messages: [{ role: 'user', content: 'Hello there' }] }] })
  .register(named, { id: 'ChatRequest' })

const completion = z.looseObject({ choices: z.array(anyObject) }).register(named, { id: 'ChatCompletion' })

export const chat: Operation = {
  method: 'post',
  path: ENDPOINTS.chat.path,
  id: 'createChatCompletion',
  tag: 'Chat',
  summary: 'Answer a conversation',
  request: { [JSON_TYPE]: request },
  answers: {
    200: {
      description: 'The completion, or its chunks as a stream.',
      content: { [JSON_TYPE]: completion, [EVENTS_TYPE]: events },
      headers: ['x-sluice-dropped'],
    },
  },
  codes: MODEL_CALL,
  family: 'openai',
}
