/** An upstream with minimal answers for every endpoint. */
import type { ServerResponse } from 'node:http'
import { json, type Script, type UpstreamCall } from '../harness/upstream.ts'
import { answerBody, answerEvents, stream } from './dialects/scripted-upstream.ts'

/** Id of all its responses, the one in the document's examples. */
export const RESPONSE_ID = 'resp_0123'

const ANSWER = { text: 'Hello there' }
const ITEM = { id: 'msg_1', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
const COMPACTED = {
  id: RESPONSE_ID,
  object: 'response.compaction',
  created_at: 1,
  output: [ITEM, { id: 'cmp_1', type: 'compaction', encrypted_content: 'sealed' }],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}
const PAGE = { object: 'list', data: [ITEM], first_id: ITEM.id, last_id: ITEM.id, has_more: false }
const IMAGES = { created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }] }

export const everyEndpoint: Script = (call, res) => {
  const path = call.path.split('?')[0]?.replace(/^.*\/v1\//, '') ?? ''
  switch (path) {
    case 'chat/completions':
      return answer(call, res, 'chat')
    case 'messages':
      return answer(call, res, 'messages')
    case 'responses':
      return answer(call, res, 'responses')
    case 'responses/compact':
      return json(res, 200, COMPACTED)
    case 'messages/count_tokens':
      return json(res, 200, { input_tokens: 3 })
    case 'embeddings':
      return json(res, 200, vectors(bodyOf(call)))
    case 'images/generations':
    case 'images/edits':
      return json(res, 200, IMAGES)
    case `responses/${RESPONSE_ID}/input_items`:
      return json(res, 200, PAGE)
    case `responses/${RESPONSE_ID}`:
      return json(res, 200, { ...answerBody('responses', ANSWER), id: RESPONSE_ID })
    default:
      return json(res, 404, { error: { message: 'Not found' } })
  }
}

function answer(call: UpstreamCall, res: ServerResponse, dialect: 'chat' | 'messages' | 'responses'): void {
  const { stream: asStream, input } = bodyOf(call)
  const items: unknown[] = Array.isArray(input) ? input : []
  const last = items.at(-1) as { type?: unknown } | null | undefined
  const events = answerEvents(dialect, ANSWER).map((event) => event.replaceAll('resp_up', RESPONSE_ID))
  const body = { ...answerBody(dialect, ANSWER), ...(dialect === 'responses' && { id: RESPONSE_ID }) }
  if (last?.type === 'compaction_trigger') json(res, 200, { ...COMPACTED, object: 'response' })
  else if (asStream === true) stream(res, events)
  else json(res, 200, body)
}

/** One vector per input. */
function vectors({ input, encoding_format: encoding, model }: Record<string, unknown>): object {
  const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
  const embedding = encoding === 'base64' ? 'AACAPwAAAEA=' : [1, 2]
  const data = Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding }))
  return { object: 'list', data, model, usage: { prompt_tokens: 3, total_tokens: 3 } }
}

function bodyOf({ body }: UpstreamCall): Record<string, unknown> {
  return JSON.parse(body.toString())
}
