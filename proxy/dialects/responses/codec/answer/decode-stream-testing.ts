/** Events of an upstream, and their answer, for the tests of streams. */
import { fold } from '../../../core/neutral/fold.ts'
import type { StreamPart } from '../../../core/neutral/types.ts'
import { decodeEvents, withoutExt } from './answer-testing.ts'

export const CREATED = {
  type: 'response.created',
  sequence_number: 0,
  response: {
    id: 'resp_1',
    object: 'response',
    created_at: 5,
    model: 'up',
    status: 'in_progress',
    output: [],
  },
}
export const added = (index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
})
export const done = (index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
})
export const delta = (index: number, item: string, delta: string, fields: object = {}) => ({
  type: 'response.output_text.delta',
  item_id: item,
  output_index: index,
  content_index: 0,
  delta,
  ...fields,
})
export const completed = (fields: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', ...fields },
})
export const MSG = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] }
export const messageOf = (text: string, fields: object = {}) => ({
  ...MSG,
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [], ...fields }],
})
export const FC = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f', arguments: '' }
export const args = (item: string, index: number, delta: string) => ({
  type: 'response.function_call_arguments.delta',
  item_id: item,
  output_index: index,
  delta,
})
export const RS = { id: 'rs_1', type: 'reasoning', summary: [] }
export const thought = (paragraph: number, delta: string) => ({
  type: 'response.reasoning_summary_text.delta',
  item_id: 'rs_1',
  output_index: 0,
  summary_index: paragraph,
  delta,
})

/** The parts of a finished stream. */
export function partsOf(events: readonly object[]) {
  const answer = fold(decodeEvents(events).parts)
  if (answer === undefined) throw new Error('not finished')
  return withoutExt(answer).parts
}

export const types = (parts: readonly StreamPart[]) => parts.map(({ type }) => type)
