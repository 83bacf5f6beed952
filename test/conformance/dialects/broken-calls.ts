/** Answers that call one function, `delete_file`, and end as a test requires. */
import type { DialectName } from './codecs.ts'
import { writeEvents } from './sse.ts'

type Json = Record<string, unknown>

export const CALL_ID = 'call_1'
export const NAME = 'delete_file'
const FINISH = {
  calls: { chat: 'tool_calls', messages: 'tool_use', responses: undefined },
  limit: { chat: 'length', messages: 'max_tokens', responses: 'max_output_tokens' },
  filter: { chat: 'content_filter', messages: 'refusal', responses: 'content_filter' },
}
export type Ending = keyof typeof FINISH

/** The answer as JSON. In messages, broken arguments can only be text. */
export function wholeCall(dialect: DialectName, input: string, ending: Ending): Json {
  if (dialect === 'chat') {
    const tool_calls = [{ id: CALL_ID, type: 'function', function: { name: NAME, arguments: input } }]
    const message = { role: 'assistant', content: null, tool_calls }
    const choice = { index: 0, message, finish_reason: FINISH[ending].chat }
    return {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [choice],
      usage: CHAT_USAGE,
    }
  }
  if (dialect === 'responses') return response(input, ending)
  const block = { type: 'tool_use', id: CALL_ID, name: NAME, input }
  return {
    ...message([block]),
    stop_reason: FINISH[ending].messages,
    usage: { input_tokens: 9, output_tokens: 3 },
  }
}

/** The answer as a stream; `deltas` are the pieces of the arguments. */
export function streamedCall(dialect: DialectName, deltas: readonly string[], ending: Ending): string {
  if (dialect === 'chat') return chatCall(deltas, ending)
  return dialect === 'responses' ? responsesCall(deltas, ending) : messagesCall(deltas, ending)
}

const CHAT_USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }

function chatCall(deltas: readonly string[], ending: Ending): string {
  const chunk = (delta: Json, finish_reason: string | null = null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'up',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const call = (more: Json) => chunk({ tool_calls: [{ index: 0, ...more }] })
  const chunks: Json[] = [
    chunk({ role: 'assistant', content: null }),
    call({ id: CALL_ID, type: 'function', function: { name: NAME, arguments: '' } }),
    ...deltas.map((text) => call({ function: { arguments: text } })),
    chunk({}, FINISH[ending].chat),
    { ...chunk({}), choices: [], usage: CHAT_USAGE },
  ]
  const events = chunks.map((data) => ({ event: '', data: JSON.stringify(data) }))
  return writeEvents([...events, { event: '', data: '[DONE]' }])
}

function messagesCall(deltas: readonly string[], ending: Ending): string {
  const start = message([])
  return named([
    { type: 'message_start', message: { ...start, usage: { input_tokens: 9, output_tokens: 1 } } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: CALL_ID, name: NAME, input: {} },
    },
    ...deltas.map((partial_json) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: FINISH[ending].messages, stop_sequence: null },
      usage: { output_tokens: 3 },
    },
    { type: 'message_stop' },
  ])
}

function responsesCall(deltas: readonly string[], ending: Ending): string {
  const place = { item_id: 'fc_1', output_index: 0 }
  const final = response(deltas.join(''), ending)
  const begun = { ...final, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  return named([
    { type: 'response.created', response: begun },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...functionCall(''), status: 'in_progress' },
    },
    ...deltas.map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    { type: 'response.function_call_arguments.done', ...place, arguments: deltas.join('') },
    { type: 'response.output_item.done', output_index: 0, item: functionCall(deltas.join('')) },
    { type: ending === 'calls' ? 'response.completed' : 'response.incomplete', response: final },
  ])
}

const message = (content: Json[]): Json => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content,
  stop_reason: null,
  stop_sequence: null,
})

const functionCall = (input: string): Json => ({
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: CALL_ID,
  name: NAME,
  arguments: input,
})

function response(input: string, ending: Ending): Json {
  const reason = FINISH[ending].responses
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'up',
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output: [functionCall(input)],
    usage: {
      input_tokens: 9,
      output_tokens: 3,
      total_tokens: 12,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }
}

const named = (events: (Json & { type: string })[]): string =>
  writeEvents(events.map((event) => ({ event: event.type, data: JSON.stringify(event) })))
