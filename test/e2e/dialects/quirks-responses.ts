/** Quirks in responses. */
import { COUNTS, type Quirk } from './quirk.ts'

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

export const RESPONSES: Quirk[] = [
  {
    name: 'several texts in one message',
    upstream: 'responses',
    body: response([message('First. ', 'Second.')]),
    text: 'First. Second.',
    counts: COUNTS,
  },
  {
    name: 'a different id in every event',
    upstream: 'responses',
    otherDialectsOnly: true,
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
    name: 'complete items without deltas',
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
    name: 'arguments only in their final event, and a last event without output',
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
    name: 'items without their lists, deltas without an index, a last event without items and status',
    upstream: 'responses',
    otherDialectsOnly: true,
    events: [
      { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'm' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'r1', type: 'reasoning', encrypted_content: 'ZW5j' },
      },
      { type: 'response.reasoning_summary_part.added', item_id: 'r1', summary_index: 0 },
      { type: 'response.reasoning_summary_text.delta', item_id: 'r1', summary_index: 0, delta: 'Light ' },
      { type: 'response.reasoning_summary_text.delta', item_id: 'r1', summary_index: 0, delta: 'scatters.' },
      { type: 'response.reasoning_summary_part.done', item_id: 'r1', summary_index: 0 },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { id: 'r1', type: 'reasoning', encrypted_content: 'ZW5j' },
      },
      { type: 'response.output_item.added', output_index: 1, item: { id: 'm1', type: 'message' } },
      { type: 'response.output_text.delta', item_id: 'm1', delta: 'It is ' },
      { type: 'response.output_text.delta', item_id: 'm1', delta: 'blue.' },
      { type: 'response.output_item.done', output_index: 1, item: { id: 'm1', type: 'message' } },
      {
        type: 'response.completed',
        response: { incomplete_details: null, usage: { input_tokens: 20, output_tokens: 7 } },
      },
    ],
    text: 'It is blue.',
    reasoning: 'Light scatters.',
    counts: COUNTS,
  },
  {
    name: 'unknown events',
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
