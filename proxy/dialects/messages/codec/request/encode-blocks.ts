/** Parts of the neutral form as content blocks. */
import { GatewayError } from '../../../../errors.ts'
import { parseArguments } from '../../../core/json/exact.ts'
import { isRecord } from '../../../core/json/value.ts'
import { sniffMediaType } from '../../../core/neutral/media.ts'
import type {
  AssistantPart,
  CacheMark,
  Extended,
  FilePart,
  HostedPart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  UserPart,
} from '../../../core/neutral/types.ts'
import { writeCache } from './cache.ts'
import { type Json, restore, shapeOf } from './keeper.ts'
import type { Writer } from './writer.ts'

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const PDF = 'application/pdf'
/** What each dialect calls the input of a call. */
const INPUT_NAMES = {
  chat: 'messages.tool_calls.function.arguments',
  responses: 'input.arguments',
  messages: 'messages.content.input',
  images: 'prompt',
} as const

/** Undefined for what has no block: empty text, and what is dropped with a loss. */
export function encodeUserPart(part: UserPart, writer: Writer): Json | undefined {
  switch (part.type) {
    case 'text':
      return encodeText(part, writer)
    case 'image':
      return encodeImage(part, writer)
    case 'file':
      return encodeFile(part, writer)
    case 'audio':
      throw writer.refuse('audio', 'is audio, which this model cannot hear', part)
    case 'hosted':
      return encodeHosted(part, writer)
  }
}

/** Like encodeUserPart, for the turn of a model. */
export function encodeAssistantPart(part: AssistantPart, writer: Writer): Json | undefined {
  switch (part.type) {
    case 'text':
      if (part.annotations?.length) writer.lose('annotations', part)
      if (part.logprobs?.length) writer.lose('text.logprobs', part)
      return encodeText(part, writer)
    case 'refusal':
      writer.lose('refusal', part)
      return encodeText({ type: 'text', text: part.text }, writer)
    case 'reasoning':
      return encodeReasoning(part, writer)
    case 'tool-call':
      return encodeCall(part, writer)
    case 'image':
    case 'file':
      if (writer.own) return encodeUserPart(part, writer)
      writer.lose(part.type, part)
      return undefined
    default:
      return encodeUserPart(part, writer)
  }
}

export function encodeText(part: TextPart, writer: Writer): Json | undefined {
  const shape = shapeOf(part.ext)
  if (isRecord(shape?.block)) return shape.block
  if (part.text === '' && !writer.own) return undefined
  return restore({ type: 'text', text: part.text, ...cacheOf(part, writer) }, part.ext)
}

export function encodeResult(result: ToolResult, writer: Writer): Json {
  const { callId, parts, isError, ext } = result
  const blocks = parts.map((part) => encodeUserPart(part, writer)).filter((block) => block !== undefined)
  const cache = cacheOf(result, writer)
  const block: Json = { type: 'tool_result', tool_use_id: callId, ...cache }
  const [only] = blocks
  const asText = writer.own ? shapeOf(ext)?.string === true : blocks.length === 1
  if (asText && only?.type === 'text' && blocks.length === 1) {
    block.content = only.text
    // The mark of the text covers the same prefix.
    if (!('cache_control' in cache) && 'cache_control' in only) block.cache_control = only.cache_control
  } else if (blocks.length > 0) {
    block.content = blocks
  }
  if (isError === true) block.is_error = true
  return restore(block, ext)
}

export function encodeHosted(part: HostedPart, writer: Writer): Json | undefined {
  if (part.dialect === 'messages') return part.item
  writer.lose('hosted', part)
  return undefined
}

function encodeCall(part: ToolCallPart, writer: Writer): Json {
  const { callId: id, name, input, kind, carrier, ext } = part
  if (carrier !== undefined) writer.lose('callState', part)
  const value = kind === 'custom' ? { input } : input.trim() === '' ? {} : parseArguments(input)
  if (!isRecord(value)) {
    const param = INPUT_NAMES[writer.source]
    throw new GatewayError('unsupported_parameter', `${param} must be the JSON text of an object.`, { param })
  }
  return restore({ type: 'tool_use', id, name, input: value }, ext)
}

/** Thinking that this vendor did not sign is no thinking to it: a made-up signature would be refused. */
function encodeReasoning(part: ReasoningPart, writer: Writer): Json | undefined {
  const { texts, carrier, ext } = part
  const thinking = texts.join('\n\n')
  if (carrier?.dialect === 'messages') {
    if (carrier.kind === 'redacted') return restore({ type: 'redacted_thinking', data: carrier.value }, ext)
    return restore({ type: 'thinking', thinking, signature: carrier.value }, ext)
  }
  if (shapeOf(ext)?.unsigned === true) return restore({ type: 'thinking', thinking }, ext)
  if (thinking !== '') writer.lose('reasoning', part)
  if (carrier !== undefined || part.lostCarrier) writer.lose('reasoning.state', part)
  return undefined
}

function encodeImage(part: ImagePart, writer: Writer): Json {
  if (part.detail !== undefined && part.detail !== 'auto') writer.lose('image.detail', part)
  const block = { type: 'image', source: imageSource(part, writer), ...cacheOf(part, writer) }
  return restore(block, part.ext)
}

function imageSource(part: ImagePart, writer: Writer): Json {
  const { source } = part
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'id' && source.vendor === 'anthropic') return { type: 'file', file_id: source.id }
  if (source.kind === 'id') throw writer.refuse('image', 'names a file that another vendor keeps', part)
  const problem = `must be one of ${IMAGE_TYPES.join(', ')}`
  if (source.kind === 'text') throw writer.refuse('image', problem, part)
  const { base64, mediaType } = source
  if (writer.own) return { type: 'base64', media_type: mediaType, data: base64 }
  const named = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  const media_type = sniffMediaType(base64) ?? named
  if (!IMAGE_TYPES.includes(media_type)) throw writer.refuse('image', problem, part)
  return { type: 'base64', media_type, data: base64 }
}

function encodeFile(part: FilePart, writer: Writer): Json {
  const shape = shapeOf(part.ext)
  const source = isRecord(shape?.source) ? shape.source : documentSource(part, writer)
  const title = part.name === undefined ? {} : { title: part.name }
  return restore({ type: 'document', source, ...title, ...cacheOf(part, writer) }, part.ext)
}

function documentSource(part: FilePart, writer: Writer): Json {
  const { source } = part
  switch (source.kind) {
    case 'url':
      return { type: 'url', url: source.url }
    case 'id':
      if (source.vendor === 'anthropic') return { type: 'file', file_id: source.id }
      throw writer.refuse('file', 'names a file that another vendor keeps', part)
    case 'text':
      return { type: 'text', media_type: writer.own ? source.mediaType : 'text/plain', data: source.text }
    case 'data': {
      const { base64, mediaType } = source
      if (writer.own) return { type: 'base64', media_type: mediaType, data: base64 }
      if (mediaType === PDF || sniffMediaType(base64) === PDF) {
        return { type: 'base64', media_type: PDF, data: base64 }
      }
      if (!mediaType.startsWith('text/')) throw writer.refuse('file', `must be ${PDF} or text`, part)
      if (mediaType !== 'text/plain') writer.lose('file', part)
      return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString('utf8') }
    }
  }
}

function cacheOf(owner: Extended & { cache?: CacheMark }, writer: Writer): Json {
  const { cache } = owner
  if (cache === undefined) return {}
  if (writer.own) return { cache_control: { type: 'ephemeral', ...cache } }
  if (!writer.features.cacheMarks) {
    writer.lose('cacheMark', owner)
    return {}
  }
  return { cache_control: writeCache(cache, owner, writer) }
}
