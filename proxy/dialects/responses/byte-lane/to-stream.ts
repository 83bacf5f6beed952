/** Writes a whole response as a stream, for upstreams that ignore `stream: true`. */
import { type Fields, isRecord } from '../../core/json/value.ts'

/** Values that fields have before the end of a response. */
const IN_PROGRESS = {
  status: 'in_progress',
  output: [],
  completed_at: null,
  incomplete_details: null,
  usage: null,
}

/** Undefined if the response nests deeper than JSON.stringify supports. */
export function toStream(response: Fields, output: Fields[]): Buffer | undefined {
  const items = output.map((item, i) => (typeof item.id === 'string' ? item : { ...item, id: `item_${i}` }))
  const status = response.status === 'incomplete' ? 'incomplete' : 'completed'
  const begun = { ...response, ...IN_PROGRESS }
  const events: Fields[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap(itemEvents),
    { type: `response.${status}`, response: { ...response, status, output: items } },
  ]
  try {
    return Buffer.from(events.map(sse).join(''))
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function sse({ type, ...fields }: Fields, sequence: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`
}

function itemEvents(item: Fields, index: number): Fields[] {
  const at = { item_id: item.id, output_index: index }
  const { skeleton, inner } = opened(item, at)
  return [
    { type: 'response.output_item.added', output_index: index, item: skeleton },
    ...inner,
    { type: 'response.output_item.done', output_index: index, item },
  ]
}

/** The empty item and the events that fill it. Items of other types arrive whole. */
function opened(item: Fields, at: Fields): { skeleton: Fields; inner: Fields[] } {
  const begun = { ...item, status: 'in_progress' }
  switch (item.type) {
    case 'message':
      return { skeleton: { ...begun, content: [] }, inner: contentEvents(item.content, at) }
    case 'function_call':
      return {
        skeleton: { ...begun, arguments: '' },
        inner: textEvents('response.function_call_arguments', 'arguments', item.arguments, at),
      }
    case 'custom_tool_call':
      return {
        skeleton: { ...begun, input: '' },
        inner: textEvents('response.custom_tool_call_input', 'input', item.input, at),
      }
    case 'reasoning':
      return {
        skeleton: { ...item, summary: [], ...(Array.isArray(item.content) && { content: [] }) },
        inner: [...summaryEvents(item.summary, at), ...contentEvents(item.content, at)],
      }
    default:
      return { skeleton: item, inner: [] }
  }
}

/** One delta with the whole text, if there is any, and the `.done` event. */
function textEvents(type: string, field: string, text: unknown, at: Fields, more: Fields = {}): Fields[] {
  const whole = typeof text === 'string' ? text : ''
  const done = { type: `${type}.done`, ...at, [field]: whole, ...more }
  return whole === '' ? [done] : [{ type: `${type}.delta`, ...at, delta: whole, ...more }, done]
}

function contentEvents(content: unknown, item: Fields): Fields[] {
  return partsOf(content).flatMap((part, i) => {
    const at = { ...item, content_index: i }
    return [
      { type: 'response.content_part.added', ...at, part: emptied(part) },
      ...partEvents(part, at),
      { type: 'response.content_part.done', ...at, part },
    ]
  })
}

function emptied(part: Fields): Fields {
  if (part.type === 'output_text') return { ...part, text: '', annotations: [], logprobs: [] }
  if (part.type === 'refusal') return { ...part, refusal: '' }
  return part.type === 'reasoning_text' ? { ...part, text: '' } : part
}

function partEvents(part: Fields, at: Fields): Fields[] {
  if (part.type === 'refusal') return textEvents('response.refusal', 'refusal', part.refusal, at)
  if (part.type === 'reasoning_text') return textEvents('response.reasoning_text', 'text', part.text, at)
  if (part.type !== 'output_text') return []
  const logprobs = Array.isArray(part.logprobs) ? part.logprobs : []
  const texts = textEvents('response.output_text', 'text', part.text, at, { logprobs })
  const annotations = partsOf(part.annotations).map((annotation, i) => ({
    type: 'response.output_text.annotation.added',
    ...at,
    annotation_index: i,
    annotation,
  }))
  return [...texts.slice(0, -1), ...annotations, ...texts.slice(-1)]
}

function summaryEvents(summary: unknown, item: Fields): Fields[] {
  return partsOf(summary).flatMap((part, i) => {
    const at = { ...item, summary_index: i }
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...textEvents('response.reasoning_summary_text', 'text', part.text, at),
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ]
  })
}

function partsOf(list: unknown): Fields[] {
  return Array.isArray(list) ? list.filter(isRecord) : []
}
