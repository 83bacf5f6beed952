/** Conversion of the fields of chat requests. */
import { expect } from 'vitest'
import { exact, holding, lossy, type Row, refused } from './verdicts.ts'

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
const OBJECT = { type: 'object', properties: {} }
const fn = (more: object = {}) => ({ type: 'function', function: { name: 'f', parameters: OBJECT, ...more } })
const user = (...content: object[]) => [{ role: 'user', content }]
const both = <T>(verdict: T) => ({ responses: verdict, messages: verdict })

export const chatRows = (): Row[] => [
  {
    field: 'max_completion_tokens',
    body: { max_completion_tokens: 2000 },
    to: { responses: exact({ max_output_tokens: 2000 }), messages: exact({ max_tokens: 2000 }) },
  },
  {
    field: 'max_tokens',
    body: { max_tokens: 2000 },
    to: { responses: exact({ max_output_tokens: 2000 }), messages: exact({ max_tokens: 2000 }) },
  },
  {
    field: 'max_completion_tokens',
    note: 'below the minimum of responses',
    body: { max_completion_tokens: 10 },
    to: {
      responses: lossy('max_completion_tokens', { max_output_tokens: 16 }),
      messages: exact({ max_tokens: 10 }),
    },
  },
  {
    field: 'max_tokens',
    note: 'below the minimum of responses',
    body: { max_tokens: 10 },
    to: { responses: lossy('max_tokens', { max_output_tokens: 16 }), messages: exact({ max_tokens: 10 }) },
  },
  {
    field: 'max_completion_tokens',
    note: 'absent',
    body: {},
    to: { responses: exact(), messages: exact({ max_tokens: 8192 }) },
  },
  { field: 'temperature', body: { temperature: 0.25 }, to: both(exact({ temperature: 0.25 })) },
  {
    field: 'temperature',
    note: 'above 1',
    body: { temperature: 1.5 },
    to: { responses: exact({ temperature: 1.5 }), messages: lossy('temperature', { temperature: 1 }) },
  },
  { field: 'top_p', body: { top_p: 0.5 }, to: both(exact({ top_p: 0.5 })) },
  {
    field: 'stop',
    body: { stop: ['A', 'B'] },
    // Responses has no stop sequences; the gateway cuts the answer itself.
    to: { responses: exact(), messages: exact({ stop_sequences: ['A', 'B'] }) },
  },
  {
    field: 'stop',
    note: 'a string',
    body: { stop: 'A' },
    to: { responses: exact(), messages: exact({ stop_sequences: ['A'] }) },
  },
  { field: 'n', body: { n: 2 }, to: both(refused('n')) },
  { field: 'seed', body: { seed: 7 }, to: both(lossy('seed')) },
  { field: 'frequency_penalty', body: { frequency_penalty: 0.5 }, to: both(lossy('frequency_penalty')) },
  { field: 'presence_penalty', body: { presence_penalty: 0.5 }, to: both(lossy('presence_penalty')) },
  { field: 'logit_bias', body: { logit_bias: { 50256: -100 } }, to: both(lossy('logit_bias')) },
  {
    field: 'logprobs',
    body: { logprobs: true, top_logprobs: 3 },
    to: {
      responses: exact({
        top_logprobs: 3,
        include: expect.arrayContaining(['message.output_text.logprobs']),
      }),
      messages: refused('logprobs'),
    },
  },
  {
    field: 'safety_identifier',
    body: { safety_identifier: 'u1' },
    to: { responses: exact({ safety_identifier: 'u1' }), messages: exact({ metadata: { user_id: 'u1' } }) },
  },
  {
    field: 'user',
    body: { user: 'u1' },
    to: { responses: exact({ safety_identifier: 'u1' }), messages: exact({ metadata: { user_id: 'u1' } }) },
  },
  {
    field: 'metadata',
    body: { metadata: { k: 'v' } },
    to: { responses: exact({ metadata: { k: 'v' } }), messages: lossy('metadata') },
  },
  {
    field: 'prompt_cache_key',
    body: { prompt_cache_key: 'k' },
    to: { responses: exact({ prompt_cache_key: 'k' }), messages: lossy('prompt_cache_key') },
  },
  {
    field: 'service_tier',
    note: 'flex',
    body: { service_tier: 'flex' },
    to: { responses: exact({ service_tier: 'flex' }), messages: lossy('service_tier') },
  },
  {
    field: 'service_tier',
    note: 'default',
    body: { service_tier: 'default' },
    to: { responses: exact({ service_tier: 'default' }), messages: exact({ service_tier: 'standard_only' }) },
  },
  {
    field: 'store',
    body: { store: true },
    to: { responses: exact({ store: true }), messages: lossy('store') },
  },
  {
    field: 'verbosity',
    body: { verbosity: 'low' },
    to: { responses: exact({ text: { verbosity: 'low' } }), messages: lossy('verbosity') },
  },
  {
    field: 'reasoning_effort',
    body: { reasoning_effort: 'high' },
    to: {
      responses: exact({ reasoning: { effort: 'high' } }),
      messages: exact({
        output_config: { effort: 'high' },
        thinking: { type: 'adaptive', display: 'summarized' },
      }),
    },
  },
  {
    field: 'reasoning_effort',
    note: 'none',
    body: { reasoning_effort: 'none' },
    to: {
      responses: exact({ reasoning: { effort: 'none' } }),
      messages: exact({ thinking: { type: 'disabled' } }),
    },
  },
  {
    field: 'reasoning_effort',
    note: 'left to the model',
    body: { reasoning_effort: 'default' },
    to: both(exact()),
  },
  {
    field: 'reasoning.effort',
    body: { reasoning: { effort: 'high' } },
    to: {
      responses: exact({ reasoning: { effort: 'high', summary: 'auto' } }),
      messages: exact({
        output_config: { effort: 'high' },
        thinking: { type: 'adaptive', display: 'summarized' },
      }),
    },
  },
  {
    field: 'reasoning.effort',
    note: 'with another value than reasoning_effort',
    body: { reasoning_effort: 'low', reasoning: { effort: 'high' } },
    to: {
      responses: lossy('reasoning.effort', { reasoning: { effort: 'low' } }),
      messages: lossy('reasoning.effort', { output_config: { effort: 'low' } }),
    },
  },
  {
    field: 'reasoning.max_tokens',
    body: { reasoning: { max_tokens: 3000 } },
    to: {
      responses: lossy('reasoning.max_tokens', { reasoning: { effort: 'medium', summary: 'auto' } }),
      messages: lossy('reasoning.max_tokens', { output_config: { effort: 'medium' } }),
    },
  },
  {
    field: 'reasoning.exclude',
    body: { reasoning: { effort: 'low', exclude: true } },
    to: {
      responses: exact({ reasoning: { effort: 'low' } }),
      messages: exact({ thinking: { type: 'adaptive', display: 'omitted' } }),
    },
  },
  {
    field: 'reasoning.enabled',
    body: { reasoning: { enabled: false } },
    to: {
      responses: exact({ reasoning: { effort: 'none' } }),
      messages: exact({ thinking: { type: 'disabled' } }),
    },
  },
  {
    field: 'reasoning.enabled',
    note: 'enabled only',
    body: { reasoning: { enabled: true } },
    to: {
      responses: exact({ reasoning: { effort: 'medium' } }),
      messages: exact({ output_config: { effort: 'medium' } }),
    },
  },
  {
    field: 'reasoning',
    note: 'invalid types and unknown values',
    body: { reasoning: { effort: 'extreme', max_tokens: 'all', mood: 1 } },
    to: both(lossy(['reasoning.effort', 'reasoning.max_tokens', 'reasoning.mood'])),
  },
  {
    field: 'response_format.json_schema.schema',
    note: 'open objects',
    body: {
      response_format: {
        type: 'json_schema',
        json_schema: { schema: { type: 'object', properties: { a: { type: 'string' } } } },
      },
    },
    // An open object accepts all values of a closed one.
    to: {
      messages: exact({
        output_config: {
          format: {
            schema: { properties: { a: { type: 'string' } }, additionalProperties: false },
          },
        },
      }),
    },
  },
  {
    field: 'response_format.json_schema.schema',
    note: 'a rule that strict mode does not enforce',
    body: {
      response_format: {
        type: 'json_schema',
        json_schema: { schema: { ...SCHEMA, properties: { a: { type: 'string', minLength: 3 } } } },
      },
    },
    to: { messages: lossy('response_format.json_schema.schema') },
  },
  {
    field: 'response_format',
    body: {
      response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema: SCHEMA } },
    },
    to: {
      responses: exact({
        text: { format: { type: 'json_schema', name: 'out', strict: true, schema: SCHEMA } },
      }),
      messages: lossy(['response_format.json_schema.name', 'response_format.json_schema.strict'], {
        output_config: { format: { type: 'json_schema', schema: SCHEMA } },
      }),
    },
  },
  {
    field: 'response_format.json_schema.description',
    body: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'out', description: 'd', schema: SCHEMA },
      },
    },
    to: {
      responses: exact({ text: { format: { name: 'out', description: 'd' } } }),
      messages: lossy(['response_format.json_schema.description', 'response_format.json_schema.name']),
    },
  },
  {
    field: 'messages.content.prompt_cache_breakpoint',
    body: {
      messages: user({ type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }),
    },
    to: {
      responses: exact({
        input: [
          { content: [{ type: 'input_text', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }] },
        ],
      }),
      // The lifetime of a cached prefix differs there.
      messages: lossy('messages.content.prompt_cache_breakpoint.ttl', {
        messages: [{ content: [{ type: 'text', cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
      }),
    },
  },
  {
    field: 'messages.reasoning_content',
    note: 'unsigned thoughts',
    body: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b', reasoning_content: 'T' },
        { role: 'user', content: 'c' },
      ],
    },
    to: both(lossy('messages.reasoning_content')),
  },
  {
    field: 'response_format',
    note: 'JSON mode',
    body: { response_format: { type: 'json_object' } },
    to: {
      responses: exact({ text: { format: { type: 'json_object' } } }),
      messages: lossy('response_format'),
    },
  },
  {
    field: 'tools.function.name',
    body: { tools: [fn({ description: 'd' })] },
    to: {
      // A missing strict means true in responses and false in chat.
      responses: exact({
        tools: [{ type: 'function', name: 'f', description: 'd', parameters: OBJECT, strict: false }],
      }),
      messages: exact({ tools: [{ name: 'f', description: 'd', input_schema: OBJECT }] }),
    },
  },
  {
    field: 'tools.function.name',
    note: 'no parameters',
    body: { tools: [{ type: 'function', function: { name: 'f' } }] },
    to: {
      responses: exact({ tools: [{ type: 'function', name: 'f', parameters: OBJECT, strict: false }] }),
      messages: exact({ tools: [{ name: 'f', input_schema: OBJECT }] }),
    },
  },
  {
    field: 'tools.function.name',
    note: 'no type',
    body: { tools: [{ function: { name: 'f', parameters: OBJECT } }], tool_choice: 'any' },
    to: {
      responses: exact({ tools: [{ type: 'function', name: 'f' }], tool_choice: 'required' }),
      messages: exact({ tools: [{ name: 'f', input_schema: OBJECT }], tool_choice: { type: 'any' } }),
    },
  },
  {
    field: 'tools',
    note: 'a tool that its vendor runs',
    body: { tools: [{ type: 'openrouter:web_search', parameters: { max_results: 3 } }, fn()] },
    to: both(lossy('tools', { tools: [{ name: 'f' }] })),
  },
  {
    field: 'tool_choice',
    note: 'forces a tool that its vendor runs',
    body: { tools: [{ type: 'openrouter:web_search' }], tool_choice: { type: 'openrouter:web_search' } },
    to: both(refused('tool_choice')),
  },
  {
    field: 'tools.cache_control',
    body: { tools: [{ ...fn(), cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    to: {
      responses: lossy('tools.cache_control', { tools: [{ name: 'f' }] }),
      messages: exact({ tools: [{ name: 'f', cache_control: { type: 'ephemeral', ttl: '1h' } }] }),
    },
  },
  {
    field: 'tools.cache_control',
    note: 'of a custom tool',
    body: { tools: [{ type: 'custom', custom: { name: 'c' }, cache_control: { type: 'ephemeral' } }] },
    to: {
      responses: lossy('tools.cache_control', { tools: [{ name: 'c' }] }),
      messages: exact({ tools: [{ name: 'c', cache_control: { type: 'ephemeral' } }] }),
    },
  },
  {
    field: 'tools.custom.name',
    body: { tools: [{ type: 'custom', custom: { name: 'c', description: 'd' } }] },
    to: {
      responses: exact({ tools: [{ type: 'custom', name: 'c', description: 'd' }] }),
      messages: exact({
        tools: [
          {
            name: 'c',
            input_schema: {
              type: 'object',
              properties: { input: { type: 'string' } },
              required: ['input'],
              additionalProperties: false,
            },
          },
        ],
      }),
    },
  },
  {
    field: 'tools.custom.format',
    body: {
      tools: [
        {
          type: 'custom',
          custom: {
            name: 'c',
            format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: A' } },
          },
        },
      ],
    },
    to: {
      responses: exact({
        tools: [
          { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'start: A' } },
        ],
      }),
      messages: lossy('tools.custom.format', { tools: holding({ name: 'c' }) }),
    },
  },
  ...(['auto', 'none', 'required'] as const).map(
    (choice): Row => ({
      field: 'tool_choice',
      note: choice,
      body: { tools: [fn()], tool_choice: choice },
      to: {
        responses: exact({ tool_choice: choice }),
        messages: exact({ tool_choice: { type: choice === 'required' ? 'any' : choice } }),
      },
    }),
  ),
  {
    field: 'tool_choice',
    note: 'a function',
    body: { tools: [fn()], tool_choice: { type: 'function', function: { name: 'f' } } },
    to: {
      responses: exact({ tool_choice: { type: 'function', name: 'f' } }),
      messages: exact({ tool_choice: { type: 'tool', name: 'f' } }),
    },
  },
  {
    field: 'tool_choice',
    note: 'allowed tools',
    body: {
      tools: [fn(), fn({ name: 'g' })],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] },
      },
    },
    to: {
      responses: exact({
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] },
      }),
      messages: lossy('tool_choice', { tool_choice: { type: 'any' }, tools: [{ name: 'g' }] }),
    },
  },
  {
    field: 'parallel_tool_calls',
    body: { tools: [fn()], parallel_tool_calls: false },
    to: {
      responses: exact({ parallel_tool_calls: false }),
      messages: exact({ tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
    },
  },
]
