import { expect, test } from 'vitest'
import { readResponsesStream } from './strict-responses.ts'

const HEAD = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' }
const BEGUN = { ...HEAD, status: 'in_progress', output: [], usage: null }
const PLACE = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const TEXT_PART = { type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }
const ITEM = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [TEXT_PART] }
const LAST = { ...HEAD, status: 'completed', output: [ITEM], usage: null }

type Event = Record<string, unknown> & { type: string }

const GOOD: Event[] = [
  { type: 'response.created', response: BEGUN },
  { type: 'response.in_progress', response: BEGUN },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...ITEM, status: 'in_progress', content: [] },
  },
  { type: 'response.content_part.added', ...PLACE, part: { ...TEXT_PART, text: '' } },
  { type: 'response.output_text.delta', ...PLACE, delta: 'Hi', logprobs: [] },
  { type: 'response.output_text.done', ...PLACE, text: 'Hi', logprobs: [] },
  { type: 'response.content_part.done', ...PLACE, part: TEXT_PART },
  { type: 'response.output_item.done', output_index: 0, item: ITEM },
  { type: 'response.completed', response: LAST },
]

const write = (events: readonly Event[]) =>
  events
    .map((event, i) => `event: ${event.type}\ndata: ${JSON.stringify({ sequence_number: i, ...event })}\n\n`)
    .join('')

/** The valid stream with changed fields in one event. */
const changed = (at: number, fields: object) =>
  GOOD.map((event, i) => (i === at ? { ...event, ...fields } : event))

test('a valid stream', () => {
  expect(readResponsesStream(`: comment\n\n${write(GOOD)}`)).toEqual(LAST)
})

test('no event may be left out, repeated or moved', () => {
  GOOD.forEach((event, i) => {
    expect(() => readResponsesStream(write(GOOD.toSpliced(i, 1)))).toThrow()
    expect(() => readResponsesStream(write(GOOD.toSpliced(i, 0, event)))).toThrow()
    if (i > 0)
      expect(() => readResponsesStream(write(GOOD.toSpliced(i, 1).toSpliced(i - 1, 0, event)))).toThrow()
  })
})

test.each<[string, Event[]]>([
  ['an unknown event', GOOD.toSpliced(5, 0, { type: 'ping' })],
  ['a number that repeats', changed(4, { sequence_number: 3 })],
  ['an output_index with a gap', changed(2, { output_index: 1 })],
  ['another item_id', changed(4, { item_id: 'msg_2' })],
  ['another content_index', changed(4, { content_index: 1 })],
  ['a skeleton without content', changed(2, { item: { id: 'msg_1', type: 'message', role: 'assistant' } })],
  ['a text that is not the sum', changed(5, { text: 'Ho' })],
  ['a part with another text', changed(6, { part: { ...TEXT_PART, text: 'Ho' } })],
  ['an item with another content', changed(7, { item: { ...ITEM, content: [] } })],
  ['an item in progress', changed(7, { item: { ...ITEM, status: 'in_progress' } })],
  ['another output', changed(8, { response: { ...LAST, output: [] } })],
  ['another id', changed(8, { response: { ...LAST, id: 'resp_2' } })],
  ['a status that is not the event', changed(8, { response: { ...LAST, status: 'incomplete' } })],
  ['usage that does not add up', changed(8, { response: { ...LAST, usage: { input_tokens: 1 } } })],
])('%s', (_name, events) => {
  expect(() => readResponsesStream(write(events))).toThrow()
})

test('framing', () => {
  expect(() => readResponsesStream(write(GOOD).trimEnd())).toThrow()
  expect(() => readResponsesStream(write(GOOD).replace(/^event: .*\n/, ''))).toThrow()
  expect(() => readResponsesStream(`${write(GOOD)}data: [DONE]\n\n`)).toThrow()
})
