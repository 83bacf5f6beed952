/** Writes parts of an answer as output items. */
import type { ClientView } from '../../../core/codec.ts'
import { parseArguments } from '../../../core/json/exact.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { itemId } from '../../../core/neutral/ids.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type {
  AssistantPart,
  Carrier,
  Finish,
  ReasoningPart,
  ToolCallPart,
} from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { writeAnnotation } from './item-annotations.ts'

export type Call = Pick<ToolCallPart, 'callId' | 'name' | 'namespace' | 'kind' | 'search'>
/** Parts that belong in a message. */
type ContentPart = Extract<AssistantPart, { type: 'text' | 'refusal' }>

/** Prefixes of item ids. */
const PREFIXES = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  tool_search_call: 'tsc',
  web_search_call: 'ws',
  image_generation_call: 'ig',
} satisfies Record<wire.OutputItem['type'], string>

/** The maximum depth of a search's arguments. */
const MAX_DEPTH = 16

/** `index`: in all functions here, of the item in the output. */
function head<T extends wire.OutputItem['type']>(type: T, index: number, client: ClientView) {
  return { id: itemId(PREFIXES[type], client.id, index), type }
}

/** Without content. */
export function messageItem(index: number, client: ClientView): wire.OutputMessage {
  return { ...head('message', index, client), status: 'completed', role: 'assistant', content: [] }
}

export function isContent(part: AssistantPart): part is ContentPart {
  return part.type === 'text' || part.type === 'refusal'
}

export function writeContent(part: ContentPart, client: ClientView): wire.OutputPart {
  if (part.type === 'refusal') return refusalContent(part.text)
  const annotations = (part.annotations ?? []).map((annotation) => writeAnnotation(annotation))
  const known = annotations.filter((annotation) => annotation !== undefined)
  if (known.length < annotations.length) client.losses.lose('annotations')
  return textContent(part.text, known, part.logprobs ?? [])
}

export function textContent(
  text: string,
  annotations: wire.OutputText['annotations'],
  logprobs: unknown[],
): wire.OutputText {
  return { annotations, logprobs, type: 'output_text', text: text.toWellFormed() }
}

export function refusalContent(text: string): wire.Refusal {
  return { type: 'refusal', refusal: text.toWellFormed() }
}

/** The text is `summary`, or `content` for the chain of thought (`raw`). */
export function reasoningItem(
  { texts, raw, carrier }: Omit<ReasoningPart, 'type'>,
  index: number,
  client: ClientView,
): wire.OutputReasoning {
  const thoughts = raw === true && texts.length > 0
  return {
    ...head('reasoning', index, client),
    summary: thoughts ? [] : texts.map((text) => ({ type: 'summary_text', text: text.toWellFormed() })),
    content: thoughts
      ? texts.map((text) => ({ type: 'reasoning_text', text: text.toWellFormed() }))
      : undefined,
    encrypted_content: carrier && stateOf(carrier, client),
  }
}

/** State of this dialect unchanged, state of another vendor in an envelope. */
function stateOf(carrier: Carrier, client: ClientView): string {
  const isOwn = carrier.kind === 'encrypted'
  return isOwn ? carrier.value : client.envelopes.seal(carrier)
}

export function callItem(call: Call, input: string, index: number, client: ClientView): wire.OutputCall {
  const { callId, name, namespace, kind, search } = call
  const status = 'completed'
  if (search) {
    return {
      ...head('tool_search_call', index, client),
      status,
      call_id: callId,
      execution: 'client',
      arguments: searchArguments(input),
    }
  }
  const text = input.toWellFormed()
  return kind === 'custom'
    ? { ...head('custom_tool_call', index, client), status, call_id: callId, name, namespace, input: text }
    : { ...head('function_call', index, client), status, call_id: callId, name, namespace, arguments: text }
}

/** Arguments of functions must be JSON. Empty input means no arguments. */
export function inputOf(kind: Call['kind'], input: string): string {
  return kind === 'function' && input === '' ? '{}' : input
}

/** The object that `input` contains. Other text passes unchanged, so that the client can report the mistake to the model. */
function searchArguments(input: string): unknown {
  if (input === '') return {}
  const value = parseArguments(input)
  return isRecord(value) && !isDeep(value) ? value : input.toWellFormed()
}

/** JSON.stringify overflows the stack on deep values, and clients accept less depth than it does. */
function isDeep(value: unknown, room = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false
  return room === 0 || Object.values(value).some((inner) => isDeep(inner, room - 1))
}

/**
 * The item of a part that is not in a message. Undefined, and a loss, for a part without an equivalent here. Fields: an
 * item that only this dialect has.
 */
export function wholeItem(
  part: AssistantPart,
  index: number,
  client: ClientView,
): wire.OutputItem | Fields | undefined {
  if (part.type === 'hosted') {
    if (part.dialect === 'responses') return part.item
    const { name, item } = part
    if (part.dialect === 'messages' && name === 'server_tool_use' && item.name === 'web_search') {
      const query = isRecord(item.input) && typeof item.input.query === 'string' ? item.input.query : ''
      const action = { type: 'search', query } as const
      return {
        ...head('web_search_call', index, client),
        status: 'completed',
        action,
      } satisfies wire.WebSearchCall
    }
    client.losses.lose('hosted')
    return undefined
  }
  if (part.type === 'image' && part.source.kind === 'data') {
    const { revisedPrompt, size, quality, background, format } = part.made ?? {}
    return {
      ...head('image_generation_call', index, client),
      status: 'completed',
      background,
      output_format: format,
      quality,
      size,
      revised_prompt: revisedPrompt,
      result: part.source.base64,
    } satisfies wire.ImageCall
  }
  if (part.type === 'image' || part.type === 'file' || part.type === 'audio') client.losses.lose(part.type)
  return undefined
}

/** An image URL as Markdown, because no item can contain one. Undefined for any other part. */
export function linkText(part: AssistantPart, { request }: ClientView): string | undefined {
  return part.type === 'image' && part.source.kind === 'url' ? markdownImage(part.source, request) : undefined
}

/** The explanation of a content filter, if the model itself wrote no refusal. */
export function explanationOf(finish: Finish, hasRefusal: boolean): string | undefined {
  const isNeeded = finish.reason === 'content-filter' && !hasRefusal
  return !isNeeded || finish.explanation === '' ? undefined : finish.explanation
}
