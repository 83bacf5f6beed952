/** Writes parts of an answer as output items. */
import type { ClientView } from '../../../core/codec.ts'
import { parseArguments } from '../../../core/json/exact.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { itemId } from '../../../core/neutral/ids.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import { markdownImage } from '../../../core/neutral/media.ts'
import type { AssistantPart, Carrier, Finish, Making } from '../../../core/neutral/types.ts'
import { writeAnnotation } from './item-annotations.ts'

type Call = Pick<
  Extract<AssistantPart, { type: 'tool-call' }>,
  'callId' | 'name' | 'namespace' | 'kind' | 'search'
>
/** Parts that belong in a message. */
type ContentPart = Extract<AssistantPart, { type: 'text' | 'refusal' }>

/** Types of items that have a status. */
const WITH_STATUS = ['message', 'function_call', 'custom_tool_call', 'tool_search_call']
/** Prefixes of item ids. */
const PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  tool_search_call: 'tsc',
  web_search_call: 'ws',
  image_generation_call: 'ig',
}

/** The maximum depth of a search's arguments. */
const MAX_DEPTH = 16

/** `index`: of the item in the output. */
export function itemFields(type: string, index: number, client: ClientView): Fields {
  const id = itemId(prefixOf(type), client.id, index)
  return WITH_STATUS.includes(type) ? { id, type, status: 'completed' } : { id, type }
}

function prefixOf(type: string): string {
  return (Object.hasOwn(PREFIXES, type) ? PREFIXES[type] : undefined) ?? 'item'
}

export function messageItem(index: number, client: ClientView): Fields {
  return { ...itemFields('message', index, client), role: 'assistant' }
}

export function isContent(part: AssistantPart): part is ContentPart {
  return part.type === 'text' || part.type === 'refusal'
}

export function writeContent(part: ContentPart, client: ClientView): Fields {
  if (part.type === 'refusal') return refusalContent(part.text)
  const annotations = (part.annotations ?? []).map((annotation) => writeAnnotation(annotation))
  const known = annotations.filter((annotation) => annotation !== undefined)
  if (known.length < annotations.length) lose(client, 'annotations')
  return textContent(part.text, known, part.logprobs ?? [])
}

export function textContent(text: string, annotations: Fields[], logprobs: unknown[]): Fields {
  return { annotations, logprobs, type: 'output_text', text: text.toWellFormed() }
}

export function refusalContent(text: string): Fields {
  return { type: 'refusal', refusal: text.toWellFormed() }
}

/** `summary`, or `content` for the chain of thought (`raw`). */
export function reasoningTexts(texts: readonly string[], raw: boolean): Fields {
  if (texts.length === 0) return {}
  if (raw) return { content: texts.map((text) => ({ type: 'reasoning_text', text: text.toWellFormed() })) }
  return { summary: texts.map((text) => ({ type: 'summary_text', text: text.toWellFormed() })) }
}

/** `encrypted_content`: state of this dialect unchanged, state of another vendor in an envelope. */
export function carrierFields(carrier: Carrier | undefined, client: ClientView): Fields {
  if (carrier === undefined) return {}
  const isOwn = carrier.kind === 'encrypted'
  return { encrypted_content: isOwn ? carrier.value : client.envelopes.seal(carrier) }
}

export function callFields(call: Call, input: string): Fields {
  const { callId, name, namespace, kind, search } = call
  if (search) return { call_id: callId, execution: 'client', arguments: searchArguments(input) }
  return {
    call_id: callId,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(kind === 'custom' ? { input: input.toWellFormed() } : { arguments: input.toWellFormed() }),
  }
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

export function callType({ kind, search }: Pick<Call, 'kind' | 'search'>): string {
  if (search) return 'tool_search_call'
  return kind === 'custom' ? 'custom_tool_call' : 'function_call'
}

/** The item of a part that is not in a message. Undefined, and a loss, for a part without an equivalent here. */
export function wholeItem(part: AssistantPart, index: number, client: ClientView): Fields | undefined {
  if (part.type === 'hosted') {
    if (part.dialect === 'responses') return part.item
    const { name, item } = part
    if (part.dialect === 'messages' && name === 'server_tool_use' && item.name === 'web_search') {
      const query = isRecord(item.input) && typeof item.input.query === 'string' ? item.input.query : ''
      const fields = itemFields('web_search_call', index, client)
      return { ...fields, status: 'completed', action: { type: 'search', query } }
    }
    lose(client, 'hosted')
    return undefined
  }
  if (part.type === 'image' && part.source.kind === 'data') {
    const fields = itemFields('image_generation_call', index, client)
    const { base64 } = part.source
    return { ...fields, status: 'completed', ...writeMaking(part.made ?? {}), result: base64 }
  }
  if (part.type === 'image' || part.type === 'file' || part.type === 'audio') lose(client, part.type)
  return undefined
}

function writeMaking({ revisedPrompt, size, quality, background, format }: Making): Fields {
  return {
    ...(background !== undefined && { background }),
    ...(format !== undefined && { output_format: format }),
    ...(quality !== undefined && { quality }),
    ...(size !== undefined && { size }),
    ...(revisedPrompt !== undefined && { revised_prompt: revisedPrompt }),
  }
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

export function lose(client: ClientView, field: TypedField): void {
  client.losses.lose(field)
}
