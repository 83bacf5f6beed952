/** Reads whole output items as parts of an answer. */
import { contentList, contentText, inputText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, isText, listOf, textOf } from '../../../core/json/value.ts'
import { imageType } from '../../../core/neutral/media.ts'
import type { AssistantPart, Carrier, HostedPart, ImagePart } from '../../../core/neutral/types.ts'
import { readMaking } from '../../../openai/fields.ts'
import { readAnnotation } from './item-annotations.ts'

/** The parts of an item, at least one; an empty list if `item` is not an item. */
export function readItem(item: unknown): AssistantPart[] {
  if (!isRecord(item) || typeof item.type !== 'string') return []
  switch (item.type) {
    case 'message':
      return readMessage(item)
    case 'reasoning':
      return readReasoning(item)
    case 'function_call':
    case 'custom_tool_call':
      return [readCall(item)]
    default:
      return [readWhole(item, item.type)]
  }
}

/** An item that is one part: an image, or an item that only this dialect has. */
export function readWhole(item: Fields, type: string): ImagePart | HostedPart {
  const { result } = item
  if (type !== 'image_generation_call' || typeof result !== 'string' || result === '')
    return hosted(item, type)
  const made = readMaking(item, item)
  return {
    type: 'image',
    source: { kind: 'data', mediaType: imageType(result, made.format), base64: result },
    made,
  }
}

function readMessage(item: Fields): AssistantPart[] {
  const parts = contentList(item.content).filter(isRecord).map(readContent)
  return parts.length > 0 ? parts : [{ type: 'text', text: '' }]
}

function readContent(content: Fields): AssistantPart {
  if (content.type === 'refusal') return { type: 'refusal', text: contentText(content.refusal) }
  if (content.type !== 'output_text') return hosted(content, textOf(content.type))
  const annotations = readAnnotations(content.annotations)
  const logprobs = listOf(content.logprobs)
  return {
    type: 'text',
    text: contentText(content.text),
    ...(annotations.length > 0 && { annotations }),
    ...(logprobs.length > 0 && { logprobs }),
  }
}

function readReasoning(item: Fields): AssistantPart[] {
  const carrier = readCarrier(item)
  const summary = textsOf(item.summary)
  const content = textsOf(item.content)
  const end = carrier === undefined ? {} : { carrier }
  if (content.length === 0) return [{ type: 'reasoning', texts: summary, raw: false, ...end }]
  if (summary.length === 0) return [{ type: 'reasoning', texts: content, raw: true, ...end }]
  return [
    { type: 'reasoning', texts: summary, raw: false },
    { type: 'reasoning', texts: content, raw: true, ...end },
  ]
}

function readCall(item: Fields): AssistantPart {
  return { type: 'tool-call', ...readCallHead(item), input: callInput(item) }
}

/** The fields of a call without its input. */
export function readCallHead(item: Fields): {
  callId: string
  name: string
  namespace?: string
  kind: 'function' | 'custom'
} {
  return {
    callId: textOf(item.call_id) || textOf(item.id),
    name: textOf(item.name),
    ...(typeof item.namespace === 'string' && { namespace: item.namespace }),
    kind: item.type === 'custom_tool_call' ? 'custom' : 'function',
  }
}

export function callInput(item: Fields): string {
  return inputText(item.type === 'custom_tool_call' ? item.input : item.arguments)
}

export function hosted(item: Fields, name: string): HostedPart {
  return { type: 'hosted', dialect: 'responses', name, item }
}

export function readCarrier(item: Fields): Carrier | undefined {
  const { encrypted_content: value, id } = item
  if (!isText(value)) return undefined
  return { dialect: 'responses', kind: 'encrypted', value, ...(typeof id === 'string' && { id }) }
}

function readAnnotations(list: unknown) {
  return listOf(list)
    .map(readAnnotation)
    .filter((annotation) => annotation !== undefined)
}

/** The texts of `summary` or `content` of a reasoning item. */
export function textsOf(list: unknown): string[] {
  return listOf(list)
    .filter(isRecord)
    .map(({ text }) => contentText(text))
}

/** True for text and refusals. */
export function isMessagePart(part: unknown): boolean {
  return isRecord(part) && (part.type === 'output_text' || part.type === 'refusal')
}
