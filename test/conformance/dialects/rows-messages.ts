/** Conversion of the fields of messages requests. */
import { exact, lossy, type Row, refused } from './verdicts.ts'

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
const both = <T>(verdict: T) => ({ chat: verdict, responses: verdict })

export const messagesRows = (): Row[] => [
  {
    field: 'max_tokens',
    body: { max_tokens: 2000 },
    to: { chat: exact({ max_completion_tokens: 2000 }), responses: exact({ max_output_tokens: 2000 }) },
  },
  {
    field: 'max_tokens',
    note: 'below the minimum of responses',
    body: { max_tokens: 10 },
    to: {
      chat: exact({ max_completion_tokens: 10 }),
      responses: lossy('max_tokens', { max_output_tokens: 16 }),
    },
  },
  {
    field: 'metadata.user_id',
    note: 'too long for others',
    body: { metadata: { user_id: 'u'.repeat(129) } },
    to: both(lossy('metadata.user_id')),
  },
  {
    field: 'thinking.display',
    note: 'omitted',
    body: { thinking: { type: 'adaptive', display: 'omitted' } },
    to: { chat: lossy('thinking.display'), responses: exact() },
  },
  {
    field: 'system.cache_control',
    body: { system: [{ type: 'text', text: 'S', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
    to: both(lossy('system.cache_control.ttl')),
  },
  {
    field: 'messages.content.data',
    note: 'a redacted thought',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: 'c2ln' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('messages.content.data')),
  },
  {
    field: 'system',
    note: 'blocks, one of which is the client’s own',
    body: {
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: v1' },
        { type: 'text', text: 'S' },
      ],
    },
    to: {
      chat: exact({ messages: [{ role: 'system' }, { role: 'user', content: 'Hello' }] }),
      responses: exact(),
    },
  },
  { field: 'temperature', body: { temperature: 0.25 }, to: both(exact({ temperature: 0.25 })) },
  { field: 'top_p', body: { top_p: 0.5 }, to: both(exact({ top_p: 0.5 })) },
  { field: 'top_k', body: { top_k: 40 }, to: both(lossy('top_k')) },
  {
    field: 'stop_sequences',
    body: { stop_sequences: ['A', 'B'] },
    to: { chat: exact({ stop: ['A', 'B'] }), responses: exact() },
  },
  {
    field: 'stop_sequences',
    note: 'five',
    body: { stop_sequences: ['A', 'B', 'C', 'D', 'E'] },
    to: { chat: refused('stop_sequences'), responses: exact() },
  },
  {
    field: 'metadata.user_id',
    body: { metadata: { user_id: 'u1' } },
    to: both(exact({ safety_identifier: 'u1' })),
  },
  {
    field: 'service_tier',
    body: { service_tier: 'standard_only' },
    to: both(exact({ service_tier: 'default' })),
  },
  {
    field: 'output_config.effort',
    body: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    to: { chat: exact({ reasoning_effort: 'high' }), responses: exact({ reasoning: { effort: 'high' } }) },
  },
  {
    field: 'thinking.budget_tokens',
    body: { max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 2048 } },
    to: {
      chat: lossy('thinking.budget_tokens', { reasoning_effort: 'medium' }),
      responses: lossy('thinking.budget_tokens', { reasoning: { effort: 'medium' } }),
    },
  },
  {
    field: 'messages.content.signature',
    note: 'of another vendor',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'T', signature: 'c2ln' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    },
    to: {
      chat: lossy('messages.content.signature', { messages: [{}, { reasoning_content: 'T' }, {}] }),
      responses: lossy(['messages.content.signature', 'messages.content.thinking'], {
        input: [{}, { role: 'assistant' }, {}],
      }),
    },
  },
  {
    field: 'messages.content',
    note: 'history of a server tool',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
            { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('messages.content')),
  },
  {
    field: 'messages.content.citations',
    note: 'of an answer',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            {
              type: 'text',
              text: 'b',
              citations: [
                {
                  type: 'web_search_result_location',
                  url: 'https://x.example',
                  title: 't',
                  encrypted_index: 'x',
                  cited_text: 'y',
                },
              ],
            },
          ],
        },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('messages.content.citations')),
  },
  {
    field: 'thinking',
    note: 'disabled',
    body: { thinking: { type: 'disabled' } },
    to: { chat: exact({ reasoning_effort: 'none' }), responses: exact({ reasoning: { effort: 'none' } }) },
  },
  {
    field: 'output_config.format',
    body: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    to: {
      chat: exact({
        response_format: { type: 'json_schema', json_schema: { name: 'response', schema: SCHEMA } },
      }),
      responses: exact({ text: { format: { type: 'json_schema', name: 'response', schema: SCHEMA } } }),
    },
  },
]
