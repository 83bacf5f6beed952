/** /v1/messages: answering a conversation, and counting the tokens of a prompt. */
import { z } from 'zod'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { MAX_OUTPUT_TOKENS } from '../../../proxy/dialects/core/json/fields.ts'
import { ROLES } from '../../../proxy/dialects/messages/request.ts'
import { MODEL_CALL } from './errors.ts'
import { EVENTS_TYPE, JSON_TYPE, type Operation, type Parameter } from './operation.ts'
import { anyObject, events, model, named, nullable, stream, typed } from './schemas.ts'

const message = z
  .looseObject({ role: z.enum(ROLES), content: z.union([z.string(), z.array(typed)]) })
  .register(named, { id: 'Message' })

const prompt = {
  model,
  messages: z.array(message).min(1),
  system: nullable(z.union([z.string(), z.array(anyObject)])),
  tools: nullable(z.array(anyObject)),
}
const example = { model: 'example', messages: [{ role: 'user', content: 'Hello there' }] }

const request = z
  .looseObject({
    ...prompt,
    max_tokens: z.int().min(0).max(MAX_OUTPUT_TOKENS),
    stream,
    service_tier: nullable(z.string()),
    speed: nullable(z.string()),
  })
  .meta({ examples: [{ max_tokens: 200, ...example }] })
  .register(named, { id: 'MessagesRequest' })

const countRequest = z
  .looseObject(prompt)
  .meta({ examples: [example] })
  .register(named, { id: 'CountRequest' })

const answer = z.looseObject({ content: z.array(anyObject) }).register(named, { id: 'MessagesAnswer' })
const count = z.looseObject({ input_tokens: z.int().min(0) }).register(named, { id: 'TokenCount' })

const parameters: Parameter[] = ['anthropic-version', 'anthropic-beta'].map((name) => ({
  name,
  in: 'header',
  description: 'Passed to an upstream of the same API.',
  schema: z.string(),
}))

const shared = { method: 'post', tag: 'Messages', parameters, family: 'anthropic' } as const

export const messages: Operation[] = [
  {
    ...shared,
    path: ENDPOINTS.messages.path,
    id: 'createMessage',
    summary: 'Answer a conversation',
    request: { [JSON_TYPE]: request },
    answers: {
      200: {
        description: 'The message, or its events as a stream.',
        content: { [JSON_TYPE]: answer, [EVENTS_TYPE]: events },
        headers: ['x-sluice-dropped'],
      },
    },
    codes: MODEL_CALL,
  },
  {
    ...shared,
    path: ENDPOINTS.count_tokens.path,
    id: 'countTokens',
    summary: 'Count the tokens of a prompt',
    request: { [JSON_TYPE]: countRequest },
    answers: {
      200: {
        description: 'The count, or an estimate where the upstream cannot count.',
        content: { [JSON_TYPE]: count },
        headers: ['x-sluice-estimated'],
      },
    },
    codes: MODEL_CALL,
  },
]
