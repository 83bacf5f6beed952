/** Writes a whole response as a stream, for upstreams that ignore `stream: true`. */
import { type Fields, isRecord, listOf, textOf, unlessTooDeep } from '../../core/json/value.ts'
import type { FieldsOf } from '../../core/json/wire.ts'
import { EventWriter } from '../codec/answer/answer-events.ts'
import type * as wire from '../wire.ts'

type Writer = EventWriter<wire.ForeignEvent>
type Item = Fields & { id: string }
type Place = { item_id: string; output_index: number }

/** Values that fields have before the end of a response. */
const IN_PROGRESS = {
  status: 'in_progress',
  output: [],
  completed_at: null,
  incomplete_details: null,
  usage: null,
} satisfies FieldsOf<wire.Outcome>

const NO_TEXT: Omit<wire.OutputText, 'type'> = { text: '', annotations: [], logprobs: [] }

/** Undefined if the response nests deeper than JSON.stringify supports. */
export function toStream(response: Fields, output: Fields[]): Buffer | undefined {
  const items = output.map((item, i) => ({
    ...item,
    id: typeof item.id === 'string' ? item.id : `item_${i}`,
  }))
  const status = response.status === 'incomplete' ? 'incomplete' : 'completed'
  const begun = { ...response, ...IN_PROGRESS }
  const writer: Writer = new EventWriter()
  return unlessTooDeep(() => {
    writer.event('response.created', { response: begun })
    writer.event('response.in_progress', { response: begun })
    for (const [index, item] of items.entries()) writeItem(item, index, writer)
    writer.event(`response.${status}`, { response: { ...response, status, output: items } })
    return Buffer.from(writer.take())
  })
}

function writeItem(item: Item, index: number, writer: Writer): void {
  writer.event('response.output_item.added', { output_index: index, item: emptyItem(item) })
  writeInside(item, { item_id: item.id, output_index: index }, writer)
  writer.event('response.output_item.done', { output_index: index, item })
}

/** Items of types without events of their own arrive whole. */
function emptyItem(item: Item): Fields {
  const begun = { ...item, status: 'in_progress' }
  switch (item.type) {
    case 'message':
      return { ...begun, content: [] } satisfies Pick<wire.OutputMessage, 'content'>
    case 'function_call':
      return { ...begun, arguments: '' } satisfies Pick<wire.OutputFunctionCall, 'arguments'>
    case 'custom_tool_call':
      return { ...begun, input: '' } satisfies Pick<wire.OutputCustomCall, 'input'>
    case 'reasoning': {
      const thoughts = Array.isArray(item.content) ? { content: [] } : {}
      return { ...item, summary: [], ...thoughts } satisfies Pick<wire.OutputReasoning, 'summary' | 'content'>
    }
    default:
      return item
  }
}

/** The events that fill an item. A text has one delta, or none if it is empty. */
function writeInside(item: Item, at: Place, writer: Writer): void {
  if (item.type === 'message') writeContent(item.content, at, writer)
  else if (item.type === 'reasoning') {
    writeSummary(item.summary, at, writer)
    writeContent(item.content, at, writer)
  } else if (item.type === 'function_call') {
    const delta = textOf(item.arguments)
    if (delta !== '') writer.event('response.function_call_arguments.delta', { ...at, delta })
    writer.event('response.function_call_arguments.done', { ...at, arguments: delta })
  } else if (item.type === 'custom_tool_call') {
    const delta = textOf(item.input)
    if (delta !== '') writer.event('response.custom_tool_call_input.delta', { ...at, delta })
    writer.event('response.custom_tool_call_input.done', { ...at, input: delta })
  }
}

function writeContent(content: unknown, item: Place, writer: Writer): void {
  for (const [i, part] of partsOf(content)) {
    const at = { ...item, content_index: i }
    writer.event('response.content_part.added', { ...at, part: emptyPart(part) })
    writePart(part, at, writer)
    writer.event('response.content_part.done', { ...at, part })
  }
}

function emptyPart(part: Fields): Fields {
  switch (part.type) {
    case 'output_text':
      return { ...part, ...NO_TEXT }
    case 'refusal':
      return { ...part, refusal: '' } satisfies Omit<wire.Refusal, 'type'>
    case 'reasoning_text':
      return { ...part, text: '' } satisfies Omit<wire.ReasoningText, 'type'>
    default:
      return part
  }
}

function writePart(part: Fields, at: Place & { content_index: number }, writer: Writer): void {
  const text = textOf(part.text)
  if (part.type === 'refusal') {
    const delta = textOf(part.refusal)
    if (delta !== '') writer.event('response.refusal.delta', { ...at, delta })
    writer.event('response.refusal.done', { ...at, refusal: delta })
  } else if (part.type === 'reasoning_text') {
    if (text !== '') writer.event('response.reasoning_text.delta', { ...at, delta: text })
    writer.event('response.reasoning_text.done', { ...at, text })
  } else if (part.type === 'output_text') {
    const logprobs = listOf(part.logprobs)
    if (text !== '') writer.event('response.output_text.delta', { ...at, delta: text, logprobs })
    for (const [i, annotation] of partsOf(part.annotations))
      writer.event('response.output_text.annotation.added', { ...at, annotation_index: i, annotation })
    writer.event('response.output_text.done', { ...at, text, logprobs })
  }
}

function writeSummary(summary: unknown, item: Place, writer: Writer): void {
  for (const [i, part] of partsOf(summary)) {
    const at = { ...item, summary_index: i }
    const text = textOf(part.text)
    writer.event('response.reasoning_summary_part.added', { ...at, part: { ...part, text: '' } })
    if (text !== '') writer.event('response.reasoning_summary_text.delta', { ...at, delta: text })
    writer.event('response.reasoning_summary_text.done', { ...at, text })
    writer.event('response.reasoning_summary_part.done', { ...at, part })
  }
}

function partsOf(list: unknown) {
  return listOf(list).filter(isRecord).entries()
}
