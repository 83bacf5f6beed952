/** Conversion of the contents of chat requests. */
import { exact, lossy, type Row, refused } from './verdicts.ts'

const OBJECT = { type: 'object', properties: {} }
const fn = (more: object = {}) => ({ type: 'function', function: { name: 'f', parameters: OBJECT, ...more } })
const user = (...content: object[]) => [{ role: 'user', content }]
const both = <T>(verdict: T) => ({ responses: verdict, messages: verdict })

export const chatContentRows = (): Row[] => [
  {
    field: 'messages.content.image_url.url',
    note: 'by URL',
    body: { messages: user({ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }) },
    to: {
      responses: exact({
        input: [{ content: [{ type: 'input_image', image_url: 'https://x.example/a.png' }] }],
      }),
      messages: exact({
        messages: [{ content: [{ type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } }] }],
      }),
    },
  },
  {
    field: 'messages.content.image_url.url',
    note: 'inline',
    body: { messages: user({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }) },
    to: {
      responses: exact({
        input: [{ content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }],
      }),
      messages: exact({
        messages: [
          { content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] },
        ],
      }),
    },
  },
  {
    field: 'messages.content.image_url.detail',
    body: {
      messages: user({ type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'low' } }),
    },
    to: {
      responses: exact({ input: [{ content: [{ detail: 'low' }] }] }),
      messages: lossy('messages.content.image_url.detail'),
    },
  },
  {
    field: 'messages.content.file.file_data',
    body: {
      messages: user({
        type: 'file',
        file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      }),
    },
    to: {
      responses: exact({
        input: [
          {
            content: [
              { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
            ],
          },
        ],
      }),
      messages: exact({
        messages: [
          {
            content: [
              {
                type: 'document',
                title: 'a.pdf',
                source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
              },
            ],
          },
        ],
      }),
    },
  },
  {
    field: 'messages.content.file.file_id',
    body: { messages: user({ type: 'file', file: { file_id: 'file-1' } }) },
    to: {
      responses: exact({ input: [{ content: [{ type: 'input_file', file_id: 'file-1' }] }] }),
      messages: refused('messages'),
    },
  },
  {
    field: 'messages.content.input_audio',
    body: { messages: user({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }) },
    to: both(refused('messages')),
  },
  {
    field: 'messages.content.cache_control',
    body: {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }] },
        ...user({ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '5m' } }),
      ],
    },
    to: {
      // It becomes a mark of OpenAI, which has a longer lifetime.
      responses: lossy('messages.content.cache_control.ttl', {
        input: [
          { content: [{ type: 'input_text', prompt_cache_breakpoint: { mode: 'explicit' } }] },
          { content: [{ prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } }] },
        ],
      }),
      messages: exact({
        system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }],
        messages: [{ content: [{ type: 'text', cache_control: { type: 'ephemeral', ttl: '5m' } }] }],
      }),
    },
  },
  {
    field: 'messages.content.cache_control',
    note: 'of an unknown kind',
    body: { messages: user({ type: 'text', text: 'a', cache_control: { type: 'eternal' } }) },
    to: both(lossy('messages.content.cache_control')),
  },
  {
    field: 'messages.content.refusal',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        { role: 'user', content: 'b' },
      ],
    },
    to: { messages: lossy('messages.content.refusal') },
  },
  {
    field: 'messages.refusal',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'user', content: 'b' },
      ],
    },
    to: {
      responses: exact({ input: [{}, { content: [{ type: 'refusal', refusal: 'No.' }] }, {}] }),
      messages: lossy('messages.refusal', {
        messages: [{}, { content: [{ type: 'text', text: 'No.' }] }, {}],
      }),
    },
  },
  {
    field: 'messages.name',
    body: { messages: [{ role: 'user', content: 'a', name: 'ann' }] },
    to: both(lossy('messages.name')),
  },
  {
    field: 'messages.tool_calls.function.arguments',
    body: {
      tools: [fn()],
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"b":1,"a":2}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'r' },
      ],
    },
    to: {
      responses: exact({
        input: [
          {},
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"b":1,"a":2}' },
          { type: 'function_call_output', call_id: 'c1', output: 'r' },
        ],
      }),
      messages: exact({
        messages: [
          {},
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { b: 1, a: 2 } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1' }] },
        ],
      }),
    },
  },
]
