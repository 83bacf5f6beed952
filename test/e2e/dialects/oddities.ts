/** Answers that are odd and yet right, as real upstreams of each dialect write them, and what every client must read. */
import type { Counts, DialectName } from './story.ts'

export interface Oddity {
  name: string
  upstream: DialectName
  /** The whole answer, or the events of a stream: JSON each. */
  body?: object
  events?: object[]
  text?: string
  reasoning?: string
  /** Name and input. */
  calls?: [string, string][]
  counts?: Partial<Counts>
  /** A client of the same dialect gets it as it is, which its SDK does not understand. */
  foreignOnly?: true
}

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
})
const USAGE = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 }
const usageChunk = (more: object = {}) => ({ ...chunk({}), choices: [], usage: USAGE, ...more })
const call = (index: number | undefined, id: string | undefined, name?: string, args?: string) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
})
const COUNTS = { input: 20, output: 7 }

const CHAT: Oddity[] = [
  {
    name: 'thinking as parts of the content, text in the chunk that finishes',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me ' }] }] }),
      chunk({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'see.' }], closed: true },
          { type: 'text', text: '4' },
        ],
      }),
      chunk({ content: '2' }, 'stop', { usage: USAGE }),
    ],
    text: '42',
    reasoning: 'Let me see.',
    counts: COUNTS,
  },
  {
    name: 'the same, whole',
    upstream: 'chat',
    foreignOnly: true,
    body: {
      ...chunk({}),
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: {
            role: 'assistant',
            tool_calls: null,
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'Let me see.' }] },
              { type: 'text', text: '42' },
            ],
          },
        },
      ],
      usage: USAGE,
    },
    text: '42',
    reasoning: 'Let me see.',
    counts: COUNTS,
  },
  {
    name: 'empty lists of calls and empty texts everywhere',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: '', reasoning_content: 'Think ', tool_calls: [] }),
      chunk({ role: 'assistant', content: '', reasoning_content: 'more.', tool_calls: [] }),
      chunk({ role: 'assistant', content: 'Hi', reasoning_content: '', tool_calls: [] }, 'stop'),
    ],
    text: 'Hi',
    reasoning: 'Think more.',
  },
  {
    name: 'a first chunk without anything',
    upstream: 'chat',
    events: [
      { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [{}] },
      chunk({ role: 'assistant', content: 'Hi' }),
      chunk({}, 'stop'),
      usageChunk(),
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'usage in a chunk without choices, after the end',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: 'Hi' }),
      chunk({ content: null }, 'stop'),
      { ...usageChunk(), choices: undefined },
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'usage in every chunk: the last counts',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: 'Hi' }, null, {
        usage: { ...USAGE, completion_tokens: 1, total_tokens: 21 },
      }),
      chunk({}, 'stop', { usage: USAGE }),
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'whole calls, all with index 0',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: null }),
      chunk({ tool_calls: [call(0, 'a', 'one', '{"x":1}')] }),
      chunk({ tool_calls: [call(0, 'b', 'two', '{"y":2}')] }),
      chunk({}, 'stop'),
      usageChunk(),
    ],
    calls: [
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
    ],
    counts: COUNTS,
  },
  {
    name: 'calls without an index, without an id',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', tool_calls: [call(undefined, '', 'one', '{"x":1}')] }),
      chunk({}, 'tool_calls'),
    ],
    calls: [['one', '{"x":1}']],
  },
  {
    name: 'calls that interleave',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: 'Both.' }),
      chunk({ tool_calls: [call(0, 'a', 'one', ''), call(1, 'b', 'two', '')] }),
      chunk({ tool_calls: [call(0, undefined, undefined, '{"x"'), call(1, undefined, undefined, '{"y"')] }),
      chunk({ tool_calls: [call(1, undefined, undefined, ':2}')] }),
      chunk({ tool_calls: [call(0, undefined, undefined, ':1}')] }),
      chunk({}, 'tool_calls'),
    ],
    text: 'Both.',
    calls: [
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
    ],
  },
  {
    name: 'a call without arguments',
    upstream: 'chat',
    events: [chunk({ role: 'assistant', tool_calls: [call(0, 'a', 'one', '')] }), chunk({}, 'tool_calls')],
    calls: [['one', '{}']],
  },
  {
    name: 'reasoning by its other name, with details',
    upstream: 'chat',
    events: [
      chunk({
        role: 'assistant',
        content: '',
        reasoning: 'Hm, ',
        reasoning_details: [{ type: 'reasoning.text', text: 'Hm, ', index: 0 }],
      }),
      chunk({
        content: '',
        reasoning: 'yes.',
        reasoning_details: [{ type: 'reasoning.text', text: 'yes.', index: 0 }],
      }),
      chunk({ content: 'Yes' }),
      chunk({ content: '' }, 'stop'),
    ],
    text: 'Yes',
    reasoning: 'Hm, yes.',
  },
]

const response = (output: object[], more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'm',
  output,
  usage: { input_tokens: 20, output_tokens: 7, total_tokens: 27 },
  ...more,
})
const message = (...texts: string[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [] })),
})
const fn = (args: string) => ({
  id: 'fc_1',
  type: 'function_call',
  call_id: 'a',
  name: 'one',
  arguments: args,
  status: 'completed',
})
const numbered = (events: object[]) => events.map((event, sequence_number) => ({ ...event, sequence_number }))
const created = { type: 'response.created', response: response([], { status: 'in_progress', usage: null }) }
const completed = (...output: object[]) => ({ type: 'response.completed', response: response(output) })

const RESPONSES: Oddity[] = [
  {
    name: 'several texts in one message',
    upstream: 'responses',
    body: response([message('First. ', 'Second.')]),
    text: 'First. Second.',
    counts: COUNTS,
  },
  {
    name: 'another id in every event',
    upstream: 'responses',
    foreignOnly: true,
    events: numbered([
      created,
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'i1', type: 'reasoning', summary: [] },
      },
      {
        type: 'response.reasoning_summary_part.added',
        output_index: 0,
        item_id: 'i2',
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      },
      {
        type: 'response.reasoning_summary_text.delta',
        output_index: 0,
        item_id: 'i3',
        summary_index: 0,
        delta: 'Count.',
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { id: 'i4', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Count.' }] },
      },
      { type: 'response.output_item.added', output_index: 1, item: { ...message(), id: 'i5' } },
      {
        type: 'response.content_part.added',
        output_index: 1,
        item_id: 'i6',
        content_index: 0,
        part: { type: 'output_text', text: '', annotations: [] },
      },
      { type: 'response.output_text.delta', output_index: 1, item_id: 'i7', content_index: 0, delta: 'Thr' },
      { type: 'response.output_text.delta', output_index: 1, item_id: 'i8', content_index: 0, delta: 'ee' },
      { type: 'response.output_text.done', output_index: 1, item_id: 'i9', content_index: 0, text: 'Three' },
      { type: 'response.output_item.done', output_index: 1, item: { ...message('Three'), id: 'i10' } },
      completed(
        { id: 'i11', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Count.' }] },
        message('Three'),
      ),
    ]),
    text: 'Three',
    reasoning: 'Count.',
    counts: COUNTS,
  },
  {
    name: 'items that come whole, without deltas',
    upstream: 'responses',
    events: numbered([
      created,
      { type: 'response.output_item.added', output_index: 0, item: message() },
      { type: 'response.output_item.done', output_index: 0, item: message('Hi') },
      { type: 'response.output_item.added', output_index: 1, item: fn('') },
      { type: 'response.output_item.done', output_index: 1, item: fn('{"x":1}') },
      completed(message('Hi'), fn('{"x":1}')),
    ]),
    text: 'Hi',
    calls: [['one', '{"x":1}']],
    counts: COUNTS,
  },
  {
    name: 'arguments that are told at their end alone, and a last event without output',
    upstream: 'responses',
    events: numbered([
      created,
      { type: 'response.output_item.added', output_index: 0, item: fn('') },
      {
        type: 'response.function_call_arguments.done',
        output_index: 0,
        item_id: 'fc_1',
        arguments: '{"x":1}',
      },
      { type: 'response.output_item.done', output_index: 0, item: fn('{"x":1}') },
      completed(),
    ]),
    calls: [['one', '{"x":1}']],
    counts: COUNTS,
  },
  {
    name: 'events that nobody knows',
    upstream: 'responses',
    events: numbered([
      created,
      { type: 'keepalive' },
      { type: 'response.output_item.added', output_index: 0, item: message() },
      {
        type: 'response.content_part.added',
        output_index: 0,
        item_id: 'msg_1',
        content_index: 0,
        part: { type: 'output_text', text: '', annotations: [] },
      },
      {
        type: 'response.output_text.delta',
        output_index: 0,
        item_id: 'msg_1',
        content_index: 0,
        delta: 'Hi',
        obfuscation: 'xyz',
      },
      { type: 'response.something.new', output_index: 0 },
      { type: 'response.output_item.done', output_index: 0, item: message('Hi') },
      completed(message('Hi')),
    ]),
    text: 'Hi',
    counts: COUNTS,
  },
]

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

const MESSAGES: Oddity[] = [
  {
    name: 'a start that comes twice',
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
    name: 'content and its end in the start already',
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
    name: 'a call whose input stands in its start, one without any, and text behind',
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
    name: 'blocks of kinds that nobody knows, and a switch of models',
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
    name: 'counters that are null do not count',
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

export const ODDITIES = [...CHAT, ...RESPONSES, ...MESSAGES]

/** The bytes of a stream, as its dialect frames it. */
export function framed({ upstream, events = [] }: Oddity): string {
  const lines = events.map((event) => {
    const name = upstream === 'chat' ? '' : `event: ${(event as { type: string }).type}\n`
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return lines.join('') + (upstream === 'chat' ? 'data: [DONE]\n\n' : '')
}
