/** The inverse of fold.ts: a whole answer as the parts of a stream. */
import type {
  AssistantPart,
  Emit,
  ModelAnswer,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
} from './types.ts'

/** Emits start, each part with one delta (reasoning: one for each paragraph), and finish. */
export function unfold(answer: ModelAnswer, emit: Emit): void {
  const { parts, ...end } = answer
  const { usage } = end
  // A real stream has no output yet at its start.
  emit({ type: 'start', ...(usage && { usage: { ...usage, output: 0, reasoning: 0 } }) })
  for (const [index, part] of parts.entries()) unfoldPart(part, String(index), emit)
  emit({ type: 'finish', ...end })
}

function unfoldPart(part: AssistantPart, id: string, emit: Emit): void {
  if (part.type === 'text') unfoldText(part, id, emit)
  else if (part.type === 'refusal') unfoldRefusal(part, id, emit)
  else if (part.type === 'reasoning') unfoldReasoning(part, id, emit)
  else if (part.type === 'tool-call') unfoldCall(part, id, emit)
  else emit({ type: 'whole', id, part })
}

function unfoldText(part: TextPart, id: string, emit: Emit): void {
  const { text, logprobs, annotations = [] } = part
  emit({ type: 'text-start', id })
  if (logprobs !== undefined) emit({ type: 'text-delta', id, text, logprobs })
  else if (text !== '') emit({ type: 'text-delta', id, text })
  for (const annotation of annotations) emit({ type: 'annotation', id, annotation })
  emit({ type: 'text-end', id })
}

function unfoldRefusal(part: RefusalPart, id: string, emit: Emit): void {
  emit({ type: 'refusal-start', id })
  if (part.text !== '') emit({ type: 'refusal-delta', id, text: part.text })
  emit({ type: 'refusal-end', id })
}

function unfoldReasoning(part: ReasoningPart, id: string, emit: Emit): void {
  const { texts, raw, carrier } = part
  emit({ type: 'reasoning-start', id, ...(raw !== undefined && { raw }) })
  for (const [paragraph, text] of texts.entries()) emit({ type: 'reasoning-delta', id, text, paragraph })
  emit({ type: 'reasoning-end', id, ...(carrier && { carrier }) })
}

function unfoldCall(part: ToolCallPart, id: string, emit: Emit): void {
  const { type: _type, input, carrier, cut, ...call } = part
  emit({ type: 'tool-call-start', id, ...call })
  if (input !== '') emit({ type: 'tool-call-delta', id, text: input })
  emit({ type: 'tool-call-end', id, ...(carrier && { carrier }), ...(cut && { cut }) })
}
