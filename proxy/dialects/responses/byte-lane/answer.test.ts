import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { isRecord } from '../../core/json/value.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { parseRequest } from '../request.ts'
import { readAnswer } from './answer.ts'
import { ResponsesStreamObserver } from './stream.ts'

const REQUEST = parseRequest(Buffer.from('{"model":"m","input":"Hi"}'), { maxDepth: 9, maxKeys: 99 })
const read = (value: unknown, asStream = false) =>
  readAnswer(Buffer.from(JSON.stringify(value)), REQUEST, asStream)

const TEXT = {
  type: 'output_text',
  text: 'Hi',
  annotations: [{ type: 'url_citation', url: 'https://x' }],
  logprobs: [],
}
const REFUSAL = { type: 'refusal', refusal: 'No.' }
const OUTPUT = [
  {
    id: 'rs_1',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'T' }],
    content: [{ type: 'reasoning_text', text: 'raw' }],
    encrypted_content: 'E',
  },
  { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [TEXT, REFUSAL] },
  { id: 'fc_1', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', status: 'completed' },
  { type: 'custom_tool_call', call_id: 'd', name: 'g', input: 'free' },
  { id: 'ws_1', type: 'web_search_call', status: 'completed' },
]
const ANSWER = {
  id: 'resp_1',
  object: 'response',
  created_at: 5,
  completed_at: 6,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'up',
  output: OUTPUT,
  service_tier: 'flex',
  usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
}

test('an answer passes unchanged', () => {
  const body = Buffer.from(` ${JSON.stringify(ANSWER)}`)
  const answer = readAnswer(body, REQUEST, false)
  expect(answer).toMatchObject({
    tier: 'flex',
    usage: { input: 5, output: 2 },
    delivered: {
      deltas: 6,
      bytes: 'T'.length + 'raw'.length + 'Hi'.length + 'No.'.length + 2 + 'free'.length,
    },
  })
  expect('body' in answer && answer.body).toBe(body)
})

describe('failures under 200', () => {
  test.each([
    ['an error', { error: { code: 'rate_limit_exceeded' } }, 'rate_limit', 'error_in_answer'],
    [
      'a failed response',
      { ...ANSWER, status: 'failed', error: { code: 'server_error' } },
      'transient',
      'error_in_answer',
    ],
    ['a failed response without an error', { ...ANSWER, status: 'failed' }, 'unknown', 'error_in_answer'],
    ['a flat error', { type: 'error', code: 'server_error' }, 'transient', 'error_in_answer'],
    ['cancelled', { ...ANSWER, status: 'cancelled' }, 'unknown', 'no_answer'],
    ['another dialect’s', { choices: [] }, 'unknown', 'no_answer'],
    ['no object', 'hello', 'unknown', 'no_answer'],
  ])('%s', (_name, value, failure, detail) => {
    expect(read(value)).toMatchObject({ class: failure, detail, status: 200 })
  })
})

test('an unfinished answer passes, but cannot become a stream', () => {
  const queued = { ...ANSWER, status: 'queued', output: [] }
  expect(read(queued)).toMatchObject({ body: Buffer.from(JSON.stringify(queued)) })
  expect(read(queued, true)).toMatchObject({ class: 'unknown', detail: 'no_answer' })
})

describe('as a stream', () => {
  function events(value: object): Record<string, unknown>[] {
    const answer = read(value, true)
    if (!('body' in answer)) throw new Error('no answer')
    return [...sseEvents(answer.body)].map(({ event, data }) => {
      const parsed: unknown = JSON.parse(data)
      if (!isRecord(parsed)) throw new Error('no object')
      expect(parsed.type).toBe(event)
      return parsed
    })
  }

  test('has all lifecycle events, numbered', () => {
    const list = events(ANSWER)
    expect(list.map(({ sequence_number: sequence }) => sequence)).toEqual(list.map((_event, i) => i))
    const text = (type: string) => [`${type}.delta`, `${type}.done`]
    const part = (...inner: string[]) => [
      'response.content_part.added',
      ...inner,
      'response.content_part.done',
    ]
    const item = (...inner: string[]) => ['response.output_item.added', ...inner, 'response.output_item.done']
    expect(list.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      ...item(
        'response.reasoning_summary_part.added',
        ...text('response.reasoning_summary_text'),
        'response.reasoning_summary_part.done',
        ...part(...text('response.reasoning_text')),
      ),
      ...item(
        ...part(
          'response.output_text.delta',
          'response.output_text.annotation.added',
          'response.output_text.done',
        ),
        ...part(...text('response.refusal')),
      ),
      ...item(...text('response.function_call_arguments')),
      ...item(...text('response.custom_tool_call_input')),
      ...item(),
      'response.completed',
    ])
  })

  test('starts with an empty response and ends with the whole one', () => {
    const list = events(ANSWER)
    const begun = { ...ANSWER, status: 'in_progress', output: [], completed_at: null, usage: null }
    expect(list[0]).toMatchObject({ response: begun })
    const output = OUTPUT.map((item) => ({ id: 'item_3', ...item }))
    expect(list.at(-1)).toMatchObject({ response: { ...ANSWER, output } })
    const done = list.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
    expect(done).toEqual(output)
  })

  test('items start empty, with their id and index', () => {
    const list = events(ANSWER)
    const added = list.filter(({ type }) => type === 'response.output_item.added')
    expect(added.map(({ output_index: index }) => index)).toEqual([0, 1, 2, 3, 4])
    expect(added.map(({ item }) => item)).toMatchObject([
      { summary: [], content: [] },
      { content: [], status: 'in_progress' },
      { arguments: '', call_id: 'c' },
      { input: '', id: 'item_3' },
      OUTPUT[4],
    ])
    const delta = list.find(({ type }) => type === 'response.output_text.delta')
    expect(delta).toMatchObject({
      item_id: 'msg_1',
      output_index: 1,
      content_index: 0,
      delta: 'Hi',
      logprobs: [],
    })
  })

  test('ends with response.incomplete if the answer is incomplete', () => {
    const details = { reason: 'max_output_tokens' }
    const last = events({ ...ANSWER, status: 'incomplete', incomplete_details: details }).at(-1)
    expect(last).toMatchObject({ type: 'response.incomplete', response: { incomplete_details: details } })
  })

  test('is finished for the observer', () => {
    const answer = read(ANSWER, true)
    const observer = new ResponsesStreamObserver(REQUEST, 1_000_000)
    if ('body' in answer) observer.push(answer.body)
    expect(observer).toMatchObject({ finished: true, usage: { input: 5 }, delivered: { deltas: 6 } })
  })

  test('leaves out parts that are not objects', () => {
    const output = [
      { type: 'message', content: 'x' },
      { type: 'message', content: [7] },
      { type: 'reasoning' },
    ]
    expect(events({ ...ANSWER, output }).length).toBe(2 + 3 * 2 + 1)
  })
})
