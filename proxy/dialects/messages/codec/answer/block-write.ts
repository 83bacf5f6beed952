/** Parts of an answer as content blocks, and what cannot be said in them. */
import type { ClientView } from '../../../core/dialect.ts'
import { parseArguments } from '../../../core/json/exact.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type {
  Annotation,
  AssistantPart,
  Carrier,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../../../core/neutral/types.ts'
import { writeCitation } from './block-citations.ts'
import type { Block } from './block-read.ts'

/** The blocks of a part: mostly one, none for what is empty or cannot be said. `index` names a call that has no id. */
export function writePart(part: AssistantPart, index: number, client: ClientView): Block[] {
  switch (part.type) {
    case 'text':
      return writeText(part, client)
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }]
    case 'reasoning':
      return writeReasoning(part, client)
    case 'tool-call':
      return writeCall(part, index, client)
    default:
      return writeWhole(part, client)
  }
}

function writeText(part: TextPart, client: ClientView): Block[] {
  const { text, annotations = [], logprobs = [] } = part
  if (logprobs.length > 0) addLoss(client, 'logprobs')
  const citations = annotations.map((a) => citationOf(a, client)).filter((c) => c !== undefined)
  if (text === '' && citations.length === 0) return []
  return [{ type: 'text', text, ...(citations.length > 0 && { citations }) }]
}

/** Undefined for an annotation that this dialect cannot say, which is a loss. */
export function citationOf(annotation: Annotation, client: ClientView): Block | undefined {
  const written = writeCitation(annotation)
  if (written === undefined || written.lossy) addLoss(client, 'annotations')
  return written?.citation
}

function writeReasoning(part: ReasoningPart, client: ClientView): Block[] {
  const { carrier } = part
  const thinking = part.texts.filter((text) => text !== '').join('\n\n')
  const redacted = redactedBlock(carrier)
  const signature = signatureOf(carrier, client)
  const says = thinking !== '' || signature !== ''
  const block = { type: 'thinking', thinking, signature }
  return [...(says ? [block] : []), ...(redacted === undefined ? [] : [redacted])]
}

/** The block that a redacted carrier is. */
export function redactedBlock(carrier: Carrier | undefined): Block | undefined {
  if (carrier?.dialect !== 'messages' || carrier.kind !== 'redacted') return undefined
  return { type: 'redacted_thinking', data: carrier.value }
}

/** This dialect's signature as it is, any other carrier sealed; '' when there is none. */
export function signatureOf(carrier: Carrier | undefined, client: ClientView): string {
  if (carrier === undefined) return ''
  if (carrier.dialect !== 'messages') return client.envelopes.seal(carrier)
  return carrier.kind === 'signature' ? carrier.value : ''
}

/** A block has only room for a whole input, so that a call that was cut has none. */
function writeCall(part: ToolCallPart, index: number, client: ClientView): Block[] {
  if (part.carrier !== undefined) addLoss(client, 'reasoning.state')
  const input = part.cut ? undefined : inputOf(part)
  if (input !== undefined) return [{ ...callFields(part, index, client), input }]
  addLoss(client, 'tools')
  return []
}

/** All of a tool_use block but its input. */
export function callFields(
  call: Pick<ToolCallPart, 'callId' | 'name'>,
  index: number,
  client: ClientView,
): Block {
  const id = call.callId === '' ? `toolu_${client.id}${index}` : call.callId
  return { type: 'tool_use', id, name: call.name }
}

/** Undefined for a function's arguments that are no JSON object. */
function inputOf({ kind, input: text }: ToolCallPart): Record<string, unknown> | undefined {
  if (kind === 'custom') return { input: text }
  if (text.trim() === '') return {}
  const input = parseArguments(text)
  return isRecord(input) ? input : undefined
}

type Whole = Exclude<AssistantPart, { type: 'text' | 'refusal' | 'reasoning' | 'tool-call' }>

/** Items of this API's own tools pass whole, pictures are text; nothing else that comes whole has a block. */
export function writeWhole(part: Whole, client: ClientView): Block[] {
  if (part.type === 'hosted' && part.dialect === 'messages') return [part.item]
  const picture = part.type === 'image' ? markdownImage(part.source, client.request) : undefined
  if (picture !== undefined) return [{ type: 'text', text: picture }]
  addLoss(client, part.type)
  return []
}

export function addLoss(client: ClientView, field: TypedField): void {
  client.losses.lose(field)
}
