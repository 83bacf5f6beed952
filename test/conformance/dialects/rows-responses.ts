/** Conversion of the fields of responses requests. */
import { exact, holding, lossy, type Row, refused } from './verdicts.ts'

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
const OBJECT = { type: 'object', properties: {} }
const fn = (more: object = {}) => ({
  type: 'function',
  name: 'f',
  parameters: OBJECT,
  strict: false,
  ...more,
})
const user = (...content: object[]) => [{ type: 'message', role: 'user', content }]
const both = <T>(verdict: T) => ({ chat: verdict, messages: verdict })

export const responsesRows = (): Row[] => [
  {
    field: 'instructions',
    body: { instructions: 'S' },
    to: {
      chat: exact({
        messages: [
          { role: 'system', content: 'S' },
          { role: 'user', content: 'Hello' },
        ],
      }),
      messages: exact({ system: [{ type: 'text', text: 'S' }] }),
    },
  },
  {
    field: 'max_output_tokens',
    body: { max_output_tokens: 2000 },
    to: { chat: exact({ max_completion_tokens: 2000 }), messages: exact({ max_tokens: 2000 }) },
  },
  { field: 'temperature', body: { temperature: 0.25 }, to: both(exact({ temperature: 0.25 })) },
  { field: 'top_p', body: { top_p: 0.5 }, to: both(exact({ top_p: 0.5 })) },
  {
    field: 'top_logprobs',
    body: { top_logprobs: 2, include: ['message.output_text.logprobs'] },
    to: { chat: exact({ logprobs: true, top_logprobs: 2 }), messages: refused('top_logprobs') },
  },
  {
    field: 'include',
    note: 'requests token probabilities',
    body: { include: ['message.output_text.logprobs'] },
    to: { chat: exact({ logprobs: true }), messages: refused('include') },
  },
  {
    field: 'input.phase',
    body: {
      input: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b', phase: 'final_answer' },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('input.phase')),
  },
  {
    field: 'input.content.logprobs',
    body: {
      input: [
        { role: 'user', content: 'a' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'b', logprobs: [{ token: 'b', logprob: -0.1 }] }],
        },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('input.content.logprobs')),
  },
  {
    field: 'safety_identifier',
    body: { safety_identifier: 'u1' },
    to: { chat: exact({ safety_identifier: 'u1' }), messages: exact({ metadata: { user_id: 'u1' } }) },
  },
  {
    field: 'metadata',
    body: { metadata: { k: 'v' } },
    to: { chat: exact({ metadata: { k: 'v' } }), messages: lossy('metadata') },
  },
  {
    field: 'prompt_cache_key',
    body: { prompt_cache_key: 'k' },
    to: { chat: exact({ prompt_cache_key: 'k' }), messages: lossy('prompt_cache_key') },
  },
  {
    field: 'text.verbosity',
    body: { text: { verbosity: 'low' } },
    to: { chat: exact({ verbosity: 'low' }), messages: lossy('text.verbosity') },
  },
  {
    field: 'reasoning.effort',
    body: { reasoning: { effort: 'high' } },
    to: { chat: exact({ reasoning_effort: 'high' }), messages: exact({ output_config: { effort: 'high' } }) },
  },
  {
    field: 'reasoning.summary',
    note: 'detailed',
    body: { reasoning: { effort: 'high', summary: 'detailed' } },
    to: both(lossy('reasoning.summary')),
  },
  {
    field: 'service_tier',
    body: { service_tier: 'flex' },
    to: { chat: exact({ service_tier: 'flex' }), messages: lossy('service_tier') },
  },
  { field: 'truncation', body: { truncation: 'auto' }, to: both(lossy('truncation')) },
  { field: 'max_tool_calls', body: { max_tool_calls: 3 }, to: both(lossy('max_tool_calls')) },
  {
    field: 'context_management',
    body: { context_management: [{ type: 'compaction', compact_threshold: 9000 }] },
    to: both(lossy('context_management')),
  },
  { field: 'prompt', body: { prompt: { id: 'pmpt_1' } }, to: both(refused('prompt')) },
  { field: 'conversation', body: { conversation: 'conv_1' }, to: both(refused('conversation')) },
  {
    field: 'previous_response_id',
    body: { previous_response_id: 'resp_1' },
    to: both(refused('previous_response_id', 'previous_response_not_found')),
  },
  {
    field: 'input',
    note: 'a compaction item',
    body: {
      input: [
        { type: 'compaction', encrypted_content: 'gAAAAA' },
        { role: 'user', content: 'a' },
      ],
    },
    to: both(refused('input[0]')),
  },
  { field: 'client_metadata', body: { client_metadata: { installation: 'i1' } }, to: both(exact()) },
  {
    field: 'text.format',
    body: { text: { format: { type: 'json_schema', name: 'out', strict: true, schema: SCHEMA } } },
    to: {
      chat: exact({
        response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema: SCHEMA } },
      }),
      messages: lossy(['text.format.name', 'text.format.strict'], {
        output_config: { format: { type: 'json_schema', schema: SCHEMA } },
      }),
    },
  },
  {
    field: 'text.format',
    note: 'JSON mode',
    body: { text: { format: { type: 'json_object' } } },
    to: { chat: exact({ response_format: { type: 'json_object' } }), messages: lossy('text.format') },
  },
  {
    field: 'text.format.description',
    body: { text: { format: { type: 'json_schema', name: 'out', description: 'd', schema: SCHEMA } } },
    to: {
      chat: exact({ response_format: { json_schema: { name: 'out', description: 'd' } } }),
      messages: lossy(['text.format.description', 'text.format.name']),
    },
  },
  {
    field: 'input.content.refusal',
    body: {
      input: [
        { role: 'user', content: 'a' },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        { role: 'user', content: 'b' },
      ],
    },
    to: {
      chat: exact({
        messages: [{}, { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }, {}],
      }),
      messages: lossy('input.content.refusal', {
        messages: [{}, { content: [{ type: 'text', text: 'No.' }] }, {}],
      }),
    },
  },
  {
    field: 'input.content.prompt_cache_breakpoint',
    body: {
      input: user({
        type: 'input_text',
        text: 'a',
        prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' },
      }),
    },
    to: {
      chat: exact({
        messages: [
          { content: [{ type: 'text', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }] },
        ],
      }),
      // The lifetime of a cached prefix differs there.
      messages: lossy('input.content.prompt_cache_breakpoint.ttl', {
        messages: [{ content: [{ type: 'text', cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
      }),
    },
  },
  {
    field: 'input',
    note: 'history of a hosted tool',
    body: {
      input: [
        { role: 'user', content: 'a' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    },
    to: {
      chat: lossy('input', { messages: [{}, { role: 'assistant', content: 'b' }, {}] }),
      messages: lossy('input', { messages: [{}, { role: 'assistant' }, {}] }),
    },
  },
  {
    field: 'input.content.annotations',
    body: {
      input: [
        { role: 'user', content: 'a' },
        {
          type: 'message',
          role: 'assistant',
          content: [
            {
              type: 'output_text',
              text: 'b',
              annotations: [
                { type: 'url_citation', start_index: 0, end_index: 1, url: 'https://x.example', title: 't' },
              ],
            },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('input.content.annotations')),
  },
  {
    field: 'input.output',
    note: 'an image in a result',
    body: {
      tools: [fn()],
      input: [
        { role: 'user', content: 'a' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }],
        },
      ],
    },
    to: {
      chat: lossy('input.output', {
        messages: [{}, {}, { role: 'tool' }, { role: 'user', content: holding({ type: 'image_url' }) }],
      }),
      messages: exact({
        messages: [{}, {}, { content: [{ tool_use_id: 'c1', content: [{ type: 'image' }] }] }],
      }),
    },
  },
  {
    field: 'tools.execution',
    note: 'the client searches for tools, and found one',
    body: {
      tools: [{ type: 'tool_search', execution: 'client', description: 'L', parameters: { type: 'object' } }],
      input: [
        { role: 'user', content: 'a' },
        { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'q' } },
        {
          type: 'tool_search_output',
          call_id: 'c1',
          execution: 'client',
          tools: [
            { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g', description: 'G' }] },
          ],
        },
      ],
    },
    to: {
      chat: exact({
        messages: [
          {},
          { tool_calls: [{ id: 'c1', function: { name: 'tool_search', arguments: '{"query":"q"}' } }] },
          { role: 'tool', tool_call_id: 'c1', content: '[{"name":"n__g","description":"G"}]' },
        ],
        tools: [
          { function: { name: 'tool_search', description: 'L', parameters: { type: 'object' } } },
          { function: { name: 'n__g', description: 'G' } },
        ],
      }),
      messages: exact({
        messages: [
          {},
          { content: [{ type: 'tool_use', id: 'c1', name: 'tool_search', input: { query: 'q' } }] },
          { content: [{ type: 'tool_result', tool_use_id: 'c1' }] },
        ],
        tools: [{ name: 'tool_search', input_schema: { type: 'object' } }, { name: 'n__g' }],
      }),
    },
  },
  {
    field: 'tools',
    note: 'the vendor searches for tools',
    body: { tools: [fn(), { type: 'tool_search' }] },
    to: both(lossy('tools')),
  },
]
