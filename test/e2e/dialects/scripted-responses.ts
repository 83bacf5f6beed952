/** A scripted answer as a response. */
import { COUNTS, type ScriptedAnswer, words } from './scripted-answer.ts'

interface Item {
  type: string
  id: string
  [field: string]: unknown
}

const HEAD = {
  id: 'resp_up',
  object: 'response',
  created_at: 1_790_000_000,
  model: 'upstream-model',
  error: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  tool_choice: 'auto',
  tools: [],
  text: { format: { type: 'text' } },
}

/** Makes item ids unique, because tool runners depend on it. */
let answers = 0

export const responsesBody = (answer: ScriptedAnswer): object => whole(answer, itemsOf(answer, answers++))

export function responsesEvents(answer: ScriptedAnswer): string[] {
  let sequence_number = 0
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...more })}\n\n`
  const started = { ...HEAD, status: 'in_progress', incomplete_details: null, output: [], usage: null }
  const items = itemsOf(answer, answers++)
  const terminal = whole(answer, items)
  return [
    event('response.created', { response: started }),
    event('response.in_progress', { response: started }),
    ...items.flatMap((item, output_index) => [
      event('response.output_item.added', { output_index, item: skeleton(item) }),
      ...inner(item).map(([type, more]) =>
        event(`response.${type}`, { item_id: item.id, output_index, ...more }),
      ),
      event('response.output_item.done', { output_index, item }),
    ]),
    event(terminal.status === 'completed' ? 'response.completed' : 'response.incomplete', {
      response: terminal,
    }),
  ]
}

function whole(answer: ScriptedAnswer, output: Item[]) {
  const { end = 'stop', counts = COUNTS } = answer
  const usage = {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: counts.written },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: counts.reasoning },
    total_tokens: counts.input + counts.output,
  }
  const reason = end === 'length' ? 'max_output_tokens' : 'content_filter'
  return {
    ...HEAD,
    status: end === 'stop' ? 'completed' : 'incomplete',
    incomplete_details: end === 'stop' ? null : { reason },
    output,
    usage,
  }
}

function itemsOf({ reasoning, opaque, text, calls = [] }: ScriptedAnswer, nth: number): Item[] {
  const summary = reasoning === undefined ? [] : [{ type: 'summary_text', text: reasoning }]
  const thought: Item = { type: 'reasoning', id: `rs_up${nth}`, summary, encrypted_content: opaque ?? null }
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  const message: Item = {
    type: 'message',
    id: `msg_up${nth}`,
    role: 'assistant',
    status: 'completed',
    content,
  }
  return [
    ...(reasoning === undefined && opaque === undefined ? [] : [thought]),
    ...(text === undefined ? [] : [message]),
    ...calls.map(({ id, name, input, free }, n) => ({
      ...(free === undefined
        ? { type: 'function_call', arguments: input }
        : { type: 'custom_tool_call', input: free }),
      id: `fc_up${nth}_${n}`,
      call_id: id,
      name,
      status: 'completed',
    })),
  ]
}

function skeleton(item: Item): object {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] }
  if (item.type === 'reasoning') return { ...item, summary: [] }
  const nothing = item.type === 'function_call' ? { arguments: '' } : { input: '' }
  return { ...item, status: 'in_progress', ...nothing }
}

/** The events between an item's added and done events. */
function inner(item: Item): [string, object][] {
  if (item.type === 'message') {
    const [part] = item.content as { text: string }[]
    const at = { content_index: 0 }
    return [
      ['content_part.added', { ...at, part: { ...part, text: '' } }],
      ...words(part?.text ?? '').map((delta): [string, object] => [
        'output_text.delta',
        { ...at, delta, logprobs: [] },
      ]),
      ['output_text.done', { ...at, text: part?.text, logprobs: [] }],
      ['content_part.done', { ...at, part }],
    ]
  }
  if (item.type === 'reasoning') {
    const at = { summary_index: 0 }
    return (item.summary as { text: string }[]).flatMap((part): [string, object][] => [
      ['reasoning_summary_part.added', { ...at, part: { ...part, text: '' } }],
      ['reasoning_summary_text.delta', { ...at, delta: part.text }],
      ['reasoning_summary_text.done', { ...at, text: part.text }],
      ['reasoning_summary_part.done', { ...at, part }],
    ])
  }
  const [field, name] =
    item.type === 'function_call'
      ? (['arguments', 'function_call_arguments'] as const)
      : (['input', 'custom_tool_call_input'] as const)
  const input = String(item[field])
  return [
    ...(input.match(/.{1,7}/gsu) ?? []).map((delta): [string, object] => [`${name}.delta`, { delta }]),
    [`${name}.done`, { [field]: input }],
  ]
}
