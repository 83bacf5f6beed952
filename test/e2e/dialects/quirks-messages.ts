/** Quirks in messages. */
import { COUNTS, type Quirk } from './quirk.ts'

const start = (more: object = {}) => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 20, output_tokens: 1 },
    ...more,
  },
})
const open = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, d: object) => ({ type: 'content_block_delta', index, delta: d })
const close = (index: number) => ({ type: 'content_block_stop', index })
const end = (stop_reason: string, usage: object = { output_tokens: 7 }) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]
const TEXT = { type: 'text', text: '' }

export const MESSAGES: Quirk[] = [
  {
    name: 'message_start twice',
    upstream: 'messages',
    events: [
      start(),
      start(),
      open(0, TEXT),
      delta(0, { type: 'text_delta', text: 'Hi' }),
      close(0),
      ...end('end_turn'),
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'content and stop reason already in message_start',
    upstream: 'messages',
    events: [
      start({
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'one', input: { x: 1 } }],
        stop_reason: 'tool_use',
      }),
      { type: 'message_stop' },
    ],
    calls: [['one', '{"x":1}']],
  },
  {
    name: 'a call with its input in content_block_start, one without input, then text',
    upstream: 'messages',
    events: [
      start(),
      open(0, { type: 'tool_use', id: 'toolu_1', name: 'one', input: { x: 1 } }),
      close(0),
      open(1, { type: 'tool_use', id: 'toolu_2', name: 'two', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '' }),
      close(1),
      open(2, TEXT),
      delta(2, { type: 'text_delta', text: 'Wait.' }),
      close(2),
      ...end('tool_use'),
    ],
    text: 'Wait.',
    calls: [
      ['one', '{"x":1}'],
      ['two', '{}'],
    ],
    counts: COUNTS,
  },
  {
    name: 'unknown block types and a model fallback',
    upstream: 'messages',
    events: [
      start(),
      open(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      close(0),
      open(1, { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }),
      close(1),
      open(2, TEXT),
      delta(2, { type: 'text_delta', text: 'Hi' }),
      delta(2, { type: 'delta_of_tomorrow', x: 1 }),
      close(2),
      { type: 'event_of_tomorrow' },
      ...end('end_turn'),
    ],
    text: 'Hi',
    reasoning: 'Hm.',
    counts: COUNTS,
  },
  {
    name: 'an answer of a fallback model',
    upstream: 'messages',
    body: {
      ...start().message,
      content: [
        { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } },
        { type: 'text', text: 'Around 1440.' },
      ],
      stop_reason: 'end_turn',
      usage: {
        input_tokens: 20,
        output_tokens: 7,
        iterations: [
          { type: 'message', input_tokens: 19, output_tokens: 0 },
          { type: 'fallback_message', input_tokens: 20, output_tokens: 7 },
        ],
      },
    },
    text: 'Around 1440.',
    counts: COUNTS,
  },
  {
    name: 'a refusal without text',
    upstream: 'messages',
    events: [
      start(),
      { type: 'ping' },
      {
        type: 'message_delta',
        delta: {
          stop_reason: 'refusal',
          stop_sequence: null,
          stop_details: { type: 'refusal', category: 'cyber', explanation: 'Blocked.' },
        },
        usage: { input_tokens: 20, output_tokens: 7 },
      },
      { type: 'message_stop' },
    ],
    counts: COUNTS,
  },
  {
    name: 'token counts that are null',
    upstream: 'messages',
    events: [
      start({
        usage: {
          input_tokens: 5,
          cache_read_input_tokens: 10,
          cache_creation_input_tokens: 5,
          output_tokens: 1,
        },
      }),
      open(0, TEXT),
      delta(0, { type: 'text_delta', text: 'Hi' }),
      close(0),
      ...end('end_turn', { output_tokens: 7, input_tokens: null, cache_read_input_tokens: null }),
    ],
    text: 'Hi',
    counts: { input: 20, cached: 10, written: 5, output: 7 },
  },
]
