/** One answer as a stream of each dialect, written by hand from the interfaces. */

const sse = (events: readonly object[], named: boolean) =>
  events
    .map((event) => {
      const type = 'type' in event && named ? `event: ${event.type}\n` : ''
      return `${type}data: ${JSON.stringify(event)}\n\n`
    })
    .join('')

const chunk = (choices: object[], more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_760_000_000,
  model: 'M',
  choices,
  ...more,
})
const delta = (delta: object, finish: string | null = null) =>
  chunk([{ index: 0, delta, finish_reason: finish }], { usage: null })

const CHAT = `${sse(
  [
    delta({ role: 'assistant', content: '' }),
    delta({ reasoning_content: 'T2' }),
    delta({ reasoning_details: [{ type: 'reasoning.text', signature: 'SIG2' }] }),
    delta({ content: 'Hi' }),
    delta({
      tool_calls: [
        { index: 0, id: 'call_9', type: 'function', function: { name: 'get_weather', arguments: '' } },
      ],
    }),
    delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] }),
    delta({}, 'tool_calls'),
    chunk([], {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 30,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 12 },
      },
    }),
  ],
  false,
)}data: [DONE]\n\n`

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_760_000_000,
  model: 'M',
  status: 'in_progress',
}
const REASONING = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'T2' }] }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
}
const CALL = {
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_9',
  name: 'get_weather',
  arguments: '{"city":"Oslo"}',
}
const at = (index: number, item_id: string) => ({ output_index: index, item_id })
const RESPONSES = sse(
  [
    { type: 'response.created', response: { ...RESPONSE, output: [] } },
    { type: 'response.in_progress', response: { ...RESPONSE, output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...REASONING, summary: [] } },
    {
      type: 'response.reasoning_summary_part.added',
      ...at(0, 'rs_1'),
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    },
    { type: 'response.reasoning_summary_text.delta', ...at(0, 'rs_1'), summary_index: 0, delta: 'T2' },
    { type: 'response.reasoning_summary_text.done', ...at(0, 'rs_1'), summary_index: 0, text: 'T2' },
    {
      type: 'response.reasoning_summary_part.done',
      ...at(0, 'rs_1'),
      summary_index: 0,
      part: { type: 'summary_text', text: 'T2' },
    },
    { type: 'response.output_item.done', output_index: 0, item: { ...REASONING, encrypted_content: 'ENC2' } },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { ...MESSAGE, status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      ...at(1, 'msg_1'),
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    },
    { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 0, delta: 'Hi', logprobs: [] },
    { type: 'response.output_text.done', ...at(1, 'msg_1'), content_index: 0, text: 'Hi', logprobs: [] },
    { type: 'response.content_part.done', ...at(1, 'msg_1'), content_index: 0, part: MESSAGE.content[0] },
    { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
    {
      type: 'response.output_item.added',
      output_index: 2,
      item: { ...CALL, status: 'in_progress', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', ...at(2, 'fc_1'), delta: '{"city":"Oslo"}' },
    { type: 'response.function_call_arguments.done', ...at(2, 'fc_1'), arguments: '{"city":"Oslo"}' },
    { type: 'response.output_item.done', output_index: 2, item: CALL },
    {
      type: 'response.completed',
      response: {
        ...RESPONSE,
        status: 'completed',
        output: [{ ...REASONING, encrypted_content: 'ENC2' }, MESSAGE, CALL],
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
          output_tokens: 30,
          output_tokens_details: { reasoning_tokens: 12 },
          total_tokens: 130,
        },
      },
    },
  ].map((event, index) => ({ sequence_number: index, ...event })),
  true,
)

const MESSAGES = sse(
  [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'M',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: 40,
          cache_creation_input_tokens: 10,
          output_tokens: 1,
        },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'T2' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'SIG2' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'call_9', name: 'get_weather', input: {} },
    },
    {
      type: 'content_block_delta',
      index: 2,
      delta: { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' },
    },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: {
        input_tokens: 50,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 10,
        output_tokens: 30,
        output_tokens_details: { thinking_tokens: 12 },
      },
    },
    { type: 'message_stop' },
  ],
  true,
)

export const STREAM = { chat: CHAT, responses: RESPONSES, messages: MESSAGES }
