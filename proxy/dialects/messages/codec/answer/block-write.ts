/** Converts parts of an answer to content blocks, and records losses. */
import type { ClientView } from '../../../core/codec.ts'
import { parseArguments } from '../../../core/json/exact.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type {
  Annotation,
  AssistantPart,
  Carrier,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { writeCitation } from './block-citations.ts'

/** The blocks of a part; none if it is empty or has no equivalent. A call without an id gets one from `index`. */
export function writePart(part: AssistantPart, index: number, client: ClientView): wire.Block[] {
  switch (part.type) {
    case 'text':
      return writeText(part, client)
    case 'refusal':
      return part.text === '' ? [] : [textBlock(part.text)]
    case 'reasoning':
      return writeReasoning(part, client)
    case 'tool-call':
      return writeCall(part, index, client)
    default:
      return writeWhole(part, client)
  }
}

export function textBlock(text: string): wire.TextBlock {
  return { type: 'text', text }
}

function writeText(part: TextPart, client: ClientView): wire.TextBlock[] {
  const { text, annotations = [], logprobs = [] } = part
  if (logprobs.length > 0) client.losses.lose('logprobs')
  const citations = annotations.map((a) => citationOf(a, client)).filter((c) => c !== undefined)
  if (text === '' && citations.length === 0) return []
  return [{ type: 'text', text, citations: citations.length > 0 ? citations : undefined }]
}

/** Undefined, and a loss, for an annotation without equivalent in this dialect. */
export function citationOf(annotation: Annotation, client: ClientView): wire.Citation | undefined {
  const written = writeCitation(annotation)
  if (written === undefined || written.lossy) client.losses.lose('annotations')
  return written?.citation
}

function writeReasoning(part: ReasoningPart, client: ClientView): wire.Block[] {
  const { carrier } = part
  const thinking = part.texts.filter((text) => text !== '').join('\n\n')
  const redacted = redactedBlock(carrier)
  const signature = signatureOf(carrier, client)
  const hasContent = thinking !== '' || signature !== ''
  const block: wire.ThinkingBlock = { type: 'thinking', thinking, signature }
  return [...(hasContent ? [block] : []), ...(redacted === undefined ? [] : [redacted])]
}

/** The block of a redacted carrier; undefined for any other carrier. */
export function redactedBlock(carrier: Carrier | undefined): wire.RedactedThinkingBlock | undefined {
  if (carrier?.dialect !== 'messages' || carrier.kind !== 'redacted') return undefined
  return { type: 'redacted_thinking', data: carrier.value }
}

/** This dialect's signature unchanged, another dialect's carrier sealed; '' when there is none. */
export function signatureOf(carrier: Carrier | undefined, client: ClientView): string {
  if (carrier === undefined) return ''
  if (carrier.dialect !== 'messages') return client.envelopes.seal(carrier)
  return carrier.kind === 'signature' ? carrier.value : ''
}

/** A cut call is a loss, because a block can hold only a whole input. */
function writeCall(part: ToolCallPart, index: number, client: ClientView): wire.ToolUseBlock[] {
  if (part.carrier !== undefined) client.losses.lose('reasoning.state')
  const input = part.cut ? undefined : inputOf(part)
  if (input !== undefined) return [{ ...callFields(part, index, client), input }]
  client.losses.lose('tools')
  return []
}

/** A tool_use block without its input. */
export function callFields(
  call: Pick<ToolCallPart, 'callId' | 'name'>,
  index: number,
  client: ClientView,
): Omit<wire.ToolUseBlock, 'input'> {
  const id = call.callId === '' ? `toolu_${client.id}${index}` : call.callId
  return { type: 'tool_use', id, name: call.name }
}

/** Undefined if a function's arguments are not a JSON object. */
function inputOf({ kind, input: text }: ToolCallPart): Record<string, unknown> | undefined {
  if (kind === 'custom') return { input: text }
  if (text.trim() === '') return {}
  const input = parseArguments(text)
  return isRecord(input) ? input : undefined
}

type Whole = Exclude<AssistantPart, { type: 'text' | 'refusal' | 'reasoning' | 'tool-call' }>

/** Passes items of this API's own tools, and writes images as text. Other whole parts are losses. */
export function writeWhole(part: Whole, client: ClientView): (wire.TextBlock | Fields)[] {
  if (part.type === 'hosted' && part.dialect === 'messages') return [part.item]
  const markdown = part.type === 'image' ? markdownImage(part.source, client.request) : undefined
  if (markdown !== undefined) return [textBlock(markdown)]
  client.losses.lose(part.type)
  return []
}
