/** /v1/responses: answering and compacting a conversation, and opening a WebSocket. */
import { z } from 'zod'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { MAX_OUTPUT_TOKENS } from '../../../proxy/dialects/core/json/fields.ts'
import { MAX_ID_LENGTH } from '../../../proxy/dialects/responses/chains/position.ts'
import { INSTEAD_OF_INPUT } from '../../../proxy/dialects/responses/request.ts'
import { MODEL_CALL, SOCKET_CODES } from './errors.ts'
import { EVENTS_TYPE, JSON_TYPE, type Operation } from './operation.ts'
import { anyObject, events, model, named, nullable, stream } from './schemas.ts'

const fields = {
  model,
  input: nullable(z.union([z.string(), z.array(anyObject)])).describe(
    `May be absent, null or empty only beside ${INSTEAD_OF_INPUT.join(', ')}.`,
  ),
  instructions: nullable(z.string()),
  max_output_tokens: nullable(z.int().min(1).max(MAX_OUTPUT_TOKENS)),
  service_tier: nullable(z.string()),
  tools: nullable(z.array(anyObject)),
  background: nullable(z.literal(false)).describe('Answers in the background are not supported.'),
  previous_response_id: nullable(z.string().min(1).max(MAX_ID_LENGTH)).describe(
    'The response to continue; not beside `conversation`.',
  ),
  store: nullable(z.boolean()),
}
const examples = [{ model: 'example', input: 'Hello there' }]

const request = z
  .looseObject({ ...fields, stream })
  .meta({ examples })
  .register(named, { id: 'ResponseRequest' })
const compactRequest = z
  .looseObject({ ...fields, stream: nullable(z.literal(false)) })
  .meta({ examples })
  .register(named, { id: 'CompactRequest' })

export const response = z.looseObject({ output: z.array(anyObject) }).register(named, { id: 'Response' })
const compaction = z
  .looseObject({
    output: z.array(anyObject).describe('The user’s messages, and one item of type `compaction`.'),
  })
  .register(named, { id: 'Compaction' })

const shared = { tag: 'Responses', family: 'openai' } as const

export const responses: Operation[] = [
  {
    ...shared,
    method: 'post',
    path: ENDPOINTS.responses.path,
    id: 'createResponse',
    summary: 'Answer a conversation, and store it to be continued',
    request: { [JSON_TYPE]: request },
    answers: {
      200: {
        description: 'The response, or its events as a stream.',
        content: { [JSON_TYPE]: response, [EVENTS_TYPE]: events },
        headers: ['x-sluice-dropped'],
      },
    },
    codes: [...MODEL_CALL, 'previous_response_not_found'],
  },
  {
    ...shared,
    method: 'get',
    path: ENDPOINTS.responses.path,
    id: 'openResponsesSocket',
    summary: 'Open a WebSocket',
    description:
      'The handshake of RFC 6455, section 4. Each message is `{"type": "response.create", …}` with the fields of a ' +
      'ResponseRequest except `stream`; the answers are the events of a stream. Beside the codes of POST, an `error` ' +
      `event may have ${SOCKET_CODES.map((code) => `\`${code}\``).join(', ')}.`,
    answers: { 101: { description: 'The connection is a WebSocket.' } },
    codes: ['upgrade_required'],
  },
  {
    ...shared,
    method: 'post',
    path: ENDPOINTS.compact.path,
    id: 'compactConversation',
    summary: 'Shorten a conversation',
    request: { [JSON_TYPE]: compactRequest },
    answers: {
      200: {
        description: 'The shortened conversation.',
        content: { [JSON_TYPE]: compaction },
        headers: ['x-sluice-dropped'],
      },
    },
    codes: [...MODEL_CALL, 'previous_response_not_found'],
  },
]
