/** Conversion of the tools and contents of messages requests. */
import { exact, holding, lossy, type Row, refused } from './verdicts.ts'

const OBJECT = { type: 'object', properties: {} }
const fn = (more: object = {}) => ({ name: 'f', input_schema: OBJECT, ...more })
const user = (...content: object[]) => [{ role: 'user', content }]
const both = <T>(verdict: T) => ({ chat: verdict, responses: verdict })
const result = (more: object) => ({
  tools: [fn()],
  messages: [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { x: 1 } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r', ...more }] },
  ],
})
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

export const messagesContentRows = (): Row[] => [
  {
    field: 'tools.name',
    body: { tools: [fn({ description: 'd' })] },
    to: {
      chat: exact({
        tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: OBJECT } }],
      }),
      responses: exact({
        tools: [{ type: 'function', name: 'f', description: 'd', parameters: OBJECT, strict: false }],
      }),
    },
  },
  {
    field: 'tools.cache_control',
    note: 'no other API has a place for it',
    body: { tools: [fn({ cache_control: { type: 'ephemeral' } })] },
    to: both(lossy('tools.cache_control', { tools: holding({ type: 'function' }) })),
  },
  {
    field: 'tools.input_examples',
    body: { tools: [fn({ input_examples: [{ a: 1 }] })] },
    to: both(lossy('tools.input_examples')),
  },
  {
    field: 'tools',
    note: 'a server tool without an equivalent',
    body: { tools: [fn(), { type: 'bash_20250124', name: 'bash' }] },
    to: {
      chat: lossy('tools', { tools: [{ function: { name: 'f' } }] }),
      responses: lossy('tools', { tools: [{ name: 'f' }] }),
    },
  },
  ...(
    [
      ['auto', 'auto'],
      ['none', 'none'],
      ['any', 'required'],
    ] as const
  ).map(
    ([choice, word]): Row => ({
      field: 'tool_choice',
      note: choice,
      body: { tools: [fn()], tool_choice: { type: choice } },
      to: both(exact({ tool_choice: word })),
    }),
  ),
  {
    field: 'tool_choice',
    note: 'a tool',
    body: { tools: [fn()], tool_choice: { type: 'tool', name: 'f' } },
    to: {
      chat: exact({ tool_choice: { type: 'function', function: { name: 'f' } } }),
      responses: exact({ tool_choice: { type: 'function', name: 'f' } }),
    },
  },
  {
    field: 'tool_choice.disable_parallel_tool_use',
    body: { tools: [fn()], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    to: both(exact({ parallel_tool_calls: false })),
  },
  {
    field: 'messages.content.source',
    note: 'an image',
    body: { messages: user(IMAGE) },
    to: {
      chat: exact({
        messages: [{ content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }],
      }),
      responses: exact({
        input: [{ content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }],
      }),
    },
  },
  {
    field: 'messages.content.source',
    note: 'a PDF by URL',
    body: { messages: user({ type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } }) },
    to: {
      chat: refused('messages'),
      responses: exact({
        input: [{ content: [{ type: 'input_file', file_url: 'https://x.example/a.pdf' }] }],
      }),
    },
  },
  {
    field: 'messages.content.source',
    note: 'an inline PDF',
    body: {
      messages: user({
        type: 'document',
        title: 'a.pdf',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      }),
    },
    to: {
      chat: exact({
        messages: [
          {
            content: [
              {
                type: 'file',
                file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
              },
            ],
          },
        ],
      }),
      responses: exact({
        input: [
          {
            content: [
              { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
            ],
          },
        ],
      }),
    },
  },
  {
    field: 'messages.content.source',
    note: 'a file of the vendor',
    body: { messages: user({ type: 'document', source: { type: 'file', file_id: 'file_1' } }) },
    to: both(refused('messages')),
  },
  { field: 'container', body: { container: 'c1' }, to: both(refused('container')) },
  {
    field: 'mcp_servers',
    body: { mcp_servers: [{ type: 'url', url: 'https://m.example', name: 'm' }] },
    to: both(refused('mcp_servers')),
  },
  {
    field: 'context_management',
    body: { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    to: both(lossy('context_management')),
  },
  { field: 'inference_geo', body: { inference_geo: 'eu' }, to: both(lossy('inference_geo')) },
  {
    field: 'messages.content.input',
    body: result({}),
    to: {
      chat: exact({
        messages: [
          {},
          { tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{"x":1}' } }] },
          { role: 'tool', tool_call_id: 'c1', content: 'r' },
        ],
      }),
      responses: exact({
        input: [
          {},
          { type: 'function_call', call_id: 'c1', arguments: '{"x":1}' },
          { type: 'function_call_output', call_id: 'c1', output: 'r' },
        ],
      }),
    },
  },
  {
    field: 'messages.content.is_error',
    body: result({ is_error: true }),
    to: {
      chat: lossy('messages.content.is_error', { messages: [{}, {}, { content: 'Error: r' }] }),
      responses: lossy('messages.content.is_error', { input: [{}, {}, { output: 'Error: r' }] }),
    },
  },
  {
    field: 'messages.content.content',
    note: 'an image in a result',
    body: result({ content: [{ type: 'text', text: 'r' }, IMAGE] }),
    to: {
      chat: lossy('messages.content.content', {
        messages: [
          {},
          {},
          { role: 'tool' },
          {
            role: 'user',
            content: holding({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
          },
        ],
      }),
      responses: exact({
        input: [
          {},
          {},
          {
            output: [
              { type: 'input_text', text: 'r' },
              { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
            ],
          },
        ],
      }),
    },
  },
  {
    field: 'messages.role',
    note: 'system in the middle',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
        { role: 'system', content: 'S' },
      ],
    },
    to: {
      chat: exact({ messages: [{}, {}, { role: 'user' }, { role: 'system', content: 'S' }] }),
      responses: exact({ input: [{}, {}, { role: 'user' }, { role: 'system' }] }),
    },
  },
]
