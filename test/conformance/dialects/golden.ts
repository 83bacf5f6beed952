/** One conversation in three dialects, written by hand from the interfaces. */

export const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
export const OUT = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
const PIXELS = 'data:image/png;base64,AAAA'

export const chatRequest = () => ({
  model: 'M',
  max_completion_tokens: 2000,
  reasoning_effort: 'high',
  parallel_tool_calls: false,
  tool_choice: 'required',
  stop: ['END'],
  safety_identifier: 'u1',
  stream: true,
  stream_options: { include_usage: true },
  tools: [{ type: 'function', function: { name: 'get_weather', description: 'd', parameters: WEATHER } }],
  response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema: OUT } },
  messages: [
    { role: 'system', content: 'S' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is here?' },
        { type: 'image_url', image_url: { url: PIXELS, detail: 'low' } },
      ],
    },
    {
      role: 'assistant',
      content: 'Let me look.',
      reasoning_content: 'T',
      reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: 'SIG' }],
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
        { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '20C' },
    { role: 'tool', tool_call_id: 'call_2', content: 'Error: city missing' },
    { role: 'user', content: 'Go on' },
  ],
})

const ENCRYPTED = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'T' }],
  encrypted_content: 'gAAAAAB-opaque',
}

export const responsesRequest = ({ reasoning = [ENCRYPTED] as object[] } = {}) => ({
  model: 'M',
  max_output_tokens: 2000,
  reasoning: { effort: 'high', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  store: false,
  parallel_tool_calls: false,
  tool_choice: 'required',
  safety_identifier: 'u1',
  stream: true,
  tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters: WEATHER, strict: false }],
  text: { format: { type: 'json_schema', name: 'out', strict: true, schema: OUT } },
  input: [
    { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'S' }] },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is here?' },
        { type: 'input_image', image_url: PIXELS, detail: 'low' },
      ],
    },
    ...reasoning,
    { type: 'message', role: 'assistant', content: 'Let me look.' },
    { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call', call_id: 'call_2', name: 'get_weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: '20C' },
    { type: 'function_call_output', call_id: 'call_2', output: 'Error: city missing' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on' }] },
  ],
})

const THINKING = { type: 'thinking', thinking: 'T', signature: 'SIG' }

export const messagesRequest = ({ reasoning = [THINKING] as object[], isError = true } = {}) => ({
  model: 'M',
  max_tokens: 2000,
  thinking: { type: 'adaptive', display: 'summarized' },
  output_config: { effort: 'high', format: { type: 'json_schema', schema: OUT } },
  stop_sequences: ['END'],
  metadata: { user_id: 'u1' },
  stream: true,
  tool_choice: { type: 'any', disable_parallel_tool_use: true },
  tools: [{ name: 'get_weather', description: 'd', input_schema: WEATHER }],
  system: [{ type: 'text', text: 'S' }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is here?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        ...reasoning,
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } },
        { type: 'tool_use', id: 'call_2', name: 'get_weather', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: '20C' },
        {
          type: 'tool_result',
          tool_use_id: 'call_2',
          content: 'Error: city missing',
          ...(isError && { is_error: true }),
        },
        { type: 'text', text: 'Go on' },
      ],
    },
  ],
})
