/** Conversion of the tools and contents of responses requests. */
import { exact, holding, lossy, type Row, refused } from './verdicts.ts'

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

export const responsesContentRows = (): Row[] => [
  {
    field: 'tools.name',
    body: { tools: [fn({ description: 'd' })] },
    to: {
      chat: exact({
        tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: OBJECT } }],
      }),
      messages: exact({ tools: [{ name: 'f', description: 'd', input_schema: OBJECT }] }),
    },
  },
  {
    field: 'tools.name',
    note: 'strict, custom, null parameters',
    body: {
      tools: [
        fn({ strict: true }),
        { type: 'custom', name: 'c' },
        fn({ name: 'g', parameters: null, strict: null }),
      ],
    },
    to: {
      chat: exact({
        tools: [
          { type: 'function', function: { name: 'f', strict: true } },
          { type: 'custom', custom: { name: 'c' } },
          { type: 'function', function: { name: 'g' } },
        ],
      }),
      messages: exact({
        tools: [{ name: 'f', strict: true }, { name: 'c' }, { name: 'g', input_schema: OBJECT }],
      }),
    },
  },
  {
    field: 'tools.format',
    body: {
      tools: [{ type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'regex', definition: 'a+' } }],
    },
    to: {
      chat: exact({
        tools: [
          {
            type: 'custom',
            custom: {
              name: 'c',
              format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a+' } },
            },
          },
        ],
      }),
      messages: lossy('tools.format', { tools: holding({ name: 'c' }) }),
    },
  },
  {
    field: 'tools.tools',
    note: 'a namespace',
    // Its functions are converted one by one; its own description is a loss.
    body: { tools: [{ type: 'namespace', name: 'ns', description: 'd', tools: [fn()] }] },
    to: {
      chat: lossy('tools.description', { tools: [{ type: 'function', function: { name: 'ns__f' } }] }),
      messages: lossy('tools.description', { tools: [{ name: 'ns__f' }] }),
    },
  },
  {
    field: 'tools',
    note: 'a hosted tool without an equivalent',
    body: { tools: [fn(), { type: 'file_search', vector_store_ids: ['vs_1'] }] },
    to: {
      chat: lossy('tools', { tools: [{ function: { name: 'f' } }] }),
      messages: lossy('tools', { tools: [{ name: 'f' }] }),
    },
  },
  {
    field: 'tool_choice',
    note: 'forces a hosted tool',
    body: {
      tools: [fn(), { type: 'file_search', vector_store_ids: ['vs_1'] }],
      tool_choice: { type: 'file_search' },
    },
    to: both(refused('tool_choice')),
  },
  ...(['auto', 'none', 'required'] as const).map(
    (choice): Row => ({
      field: 'tool_choice',
      note: choice,
      body: { tools: [fn()], tool_choice: choice },
      to: {
        chat: exact({ tool_choice: choice }),
        messages: exact({ tool_choice: { type: choice === 'required' ? 'any' : choice } }),
      },
    }),
  ),
  {
    field: 'tool_choice',
    note: 'a function',
    body: { tools: [fn()], tool_choice: { type: 'function', name: 'f' } },
    to: {
      chat: exact({ tool_choice: { type: 'function', function: { name: 'f' } } }),
      messages: exact({ tool_choice: { type: 'tool', name: 'f' } }),
    },
  },
  {
    field: 'parallel_tool_calls',
    body: { tools: [fn()], parallel_tool_calls: false },
    to: {
      chat: exact({ parallel_tool_calls: false }),
      messages: exact({ tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
    },
  },
  {
    field: 'input.content.image_url',
    body: { input: user({ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }) },
    to: {
      chat: exact({
        messages: [{ content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }],
      }),
      messages: exact({
        messages: [
          { content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] },
        ],
      }),
    },
  },
  {
    field: 'input.content.detail',
    body: { input: user({ type: 'input_image', image_url: 'https://x.example/a.png', detail: 'low' }) },
    to: {
      chat: exact({ messages: [{ content: [{ image_url: { detail: 'low' } }] }] }),
      messages: lossy('input.content.detail'),
    },
  },
  {
    field: 'input.content.file_url',
    body: { input: user({ type: 'input_file', file_url: 'https://x.example/a.pdf' }) },
    to: {
      chat: refused('input'),
      messages: exact({
        messages: [
          { content: [{ type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } }] },
        ],
      }),
    },
  },
  {
    field: 'input.content.file_id',
    body: { input: user({ type: 'input_file', file_id: 'file-1' }) },
    to: {
      chat: exact({ messages: [{ content: [{ type: 'file', file: { file_id: 'file-1' } }] }] }),
      messages: refused('input'),
    },
  },
  {
    field: 'input.encrypted_content',
    body: {
      input: [
        { role: 'user', content: 'a' },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'T' }],
          encrypted_content: 'gAAAAA',
        },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'r' },
      ],
      tools: [fn()],
    },
    to: {
      chat: lossy('input.encrypted_content', { messages: [{}, { reasoning_content: 'T' }, {}] }),
      messages: lossy(['input.encrypted_content', 'input.summary']),
    },
  },
  {
    field: 'input.content',
    note: 'raw thoughts',
    body: {
      input: [
        { role: 'user', content: 'a' },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'T' }] },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ],
    },
    to: {
      chat: exact({ messages: [{}, { reasoning_content: 'T' }, {}] }),
      messages: lossy('input.content'),
    },
  },
  {
    field: 'input.arguments',
    note: 'calls of one turn are one message',
    body: {
      tools: [fn()],
      input: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call_output', call_id: 'c1', output: 'r1' },
        { type: 'function_call_output', call_id: 'c2', output: 'r2' },
      ],
    },
    to: {
      chat: exact({
        messages: [
          {},
          { role: 'assistant', content: 'b', tool_calls: [{ id: 'c1' }, { id: 'c2' }] },
          { role: 'tool', tool_call_id: 'c1', content: 'r1' },
          { role: 'tool', tool_call_id: 'c2', content: 'r2' },
        ],
      }),
      messages: exact({
        messages: [
          {},
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'b' },
              { type: 'tool_use', id: 'c1' },
              { type: 'tool_use', id: 'c2' },
            ],
          },
          { role: 'user', content: [{ tool_use_id: 'c1' }, { tool_use_id: 'c2' }] },
        ],
      }),
    },
  },
]
