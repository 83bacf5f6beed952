import { expect, test } from 'vitest'
import { assertComplete } from '../../../../test/conformance/dialects/strict-responses.ts'
import { sseEvents } from '../../core/sse/events.ts'
import { parseRequest } from '../request.ts'
import { ResponseTap } from './tap.ts'
import { warmUp } from './warm-up.ts'

const BODY =
  '{"model":"alias","input":"Hi","store":false,"instructions":"be brief","previous_response_id":"resp_0"}'
const bytes = warmUp(parseRequest(Buffer.from(BODY), { maxDepth: 64, maxKeys: 1000 }), 'X', 1700)

test('a warm-up has only lifecycle events', () => {
  const events = sseEvents(bytes).map(({ event, data }) => ({ event, value: JSON.parse(data) }))
  const names = ['response.created', 'response.in_progress', 'response.completed']
  expect(events.map(({ event }) => event)).toEqual(names)
  expect(events.map(({ value }) => value.type)).toEqual(names)
  expect(events.map(({ value }) => value.sequence_number)).toEqual([0, 1, 2])
  const head = {
    id: 'resp_X',
    object: 'response',
    created_at: 1700,
    model: 'alias',
    store: false,
    instructions: 'be brief',
    previous_response_id: 'resp_0',
    output: [],
    error: null,
    incomplete_details: null,
  }
  for (const { value } of events) {
    assertComplete(value.response)
    expect(value.response).toMatchObject(head)
  }
  expect(events.map(({ value }) => value.response.status)).toEqual([
    'in_progress',
    'in_progress',
    'completed',
  ])
  expect(events.map(({ value }) => value.response.usage)).toEqual([null, null, NO_USAGE])
  expect(events[2]?.value.response.completed_at).toBe(1700)
})

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
}

test('can be continued', () => {
  const tap = new ResponseTap()
  tap.push(bytes)
  expect(tap.record()).toMatchObject({ id: 'resp_X', items: [], bound: [] })
})
