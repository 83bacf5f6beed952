/** Converts parts of the neutral form to content blocks. */
import { GatewayError } from '../../../../errors.ts'
import { parseArguments } from '../../../core/json/exact.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
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
import type { Writer } from './writer.ts'

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const PDF = 'application/pdf'
/** Each dialect's name for the input of a call. */
const INPUT_NAMES = {
  chat: 'messages.tool_calls.function.arguments',
  responses: 'input.arguments',
  messages: 'messages.content.input',
  images: 'prompt',
} as const

/** Undefined for empty text, and for a part that is dropped as a loss. */
export function encodeUserPart(part: UserPart, writer: Writer): Fields | undefined {
  switch (part.type) {
    case 'text':
      return encodeText(part, writer)
    case 'image':
      return encodeImage(part, writer)
    case 'file':
      return encodeFile(part, writer)
    case 'audio':
      throw writer.refuse('audio', 'is audio, which this model does not support', part)
    case 'hosted':
      return encodeHosted(part, writer)
  }
}

/** Like encodeUserPart, for an assistant turn. */
export function encodeAssistantPart(part: AssistantPart, writer: Writer): Fields | undefined {
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
      writer.lose(part.type, part)
      return undefined
    default:
      return encodeUserPart(part, writer)
  }
}

export function encodeText(part: TextPart, writer: Writer): Fields | undefined {
  if (part.text === '') return undefined
  return { type: 'text', text: part.text, ...cacheOf(part, writer) }
}

export function encodeResult(result: ToolResult, writer: Writer): Fields {
  const { callId, parts, isError } = result
  const blocks = parts.map((part) => encodeUserPart(part, writer)).filter((block) => block !== undefined)
  const cache = cacheOf(result, writer)
  const block: Fields = { type: 'tool_result', tool_use_id: callId, ...cache }
  const [only] = blocks
  if (only?.type === 'text' && blocks.length === 1) {
    block.content = only.text
    // The mark of the text covers the same prefix.
    if (!('cache_control' in cache) && 'cache_control' in only) block.cache_control = only.cache_control
  } else if (blocks.length > 0) {
    block.content = blocks
  }
  if (isError === true) block.is_error = true
  return block
}

export function encodeHosted(part: HostedPart, writer: Writer): Fields | undefined {
  if (part.dialect === 'messages') return part.item
  writer.lose('hosted', part)
  return undefined
}

function encodeCall(part: ToolCallPart, writer: Writer): Fields {
  const { callId: id, name, input, kind, carrier } = part
  if (carrier !== undefined) writer.lose('callState', part)
  const value = kind === 'custom' ? { input } : input.trim() === '' ? {} : parseArguments(input)
  if (!isRecord(value)) {
    const param = INPUT_NAMES[writer.source]
    throw new GatewayError('unsupported_parameter', `${param} must be the JSON text of an object.`, { param })
  }
  return { type: 'tool_use', id, name, input: value }
}

/** Drops thinking that this vendor did not sign, because it would refuse the block. */
function encodeReasoning(part: ReasoningPart, writer: Writer): Fields | undefined {
  const { texts, carrier } = part
  const thinking = texts.join('\n\n')
  if (carrier?.dialect === 'messages') {
    if (carrier.kind === 'redacted') return { type: 'redacted_thinking', data: carrier.value }
    return { type: 'thinking', thinking, signature: carrier.value }
  }
  if (thinking !== '') writer.lose('reasoning', part)
  if (carrier !== undefined || part.lostCarrier) writer.lose('reasoning.state', part)
  return undefined
}

function encodeImage(part: ImagePart, writer: Writer): Fields {
  if (part.detail !== undefined && part.detail !== 'auto') writer.lose('image.detail', part)
  return { type: 'image', source: imageSource(part, writer), ...cacheOf(part, writer) }
}

function imageSource(part: ImagePart, writer: Writer): Fields {
  const { source } = part
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'id' && source.vendor === 'anthropic') return { type: 'file', file_id: source.id }
  if (source.kind === 'id') throw writer.refuse('image', 'names a file that another vendor keeps', part)
  const problem = `must be one of ${IMAGE_TYPES.join(', ')}`
  if (source.kind === 'text') throw writer.refuse('image', problem, part)
  const { base64, mediaType } = source
  const named = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  const media_type = sniffMediaType(base64) ?? named
  if (!IMAGE_TYPES.includes(media_type)) throw writer.refuse('image', problem, part)
  return { type: 'base64', media_type, data: base64 }
}

function encodeFile(part: FilePart, writer: Writer): Fields {
  const source = documentSource(part, writer)
  const title = part.name === undefined ? {} : { title: part.name }
  return { type: 'document', source, ...title, ...cacheOf(part, writer) }
}

function documentSource(part: FilePart, writer: Writer): Fields {
  const { source } = part
  switch (source.kind) {
    case 'url':
      return { type: 'url', url: source.url }
    case 'id':
      if (source.vendor === 'anthropic') return { type: 'file', file_id: source.id }
      throw writer.refuse('file', 'names a file that another vendor keeps', part)
    case 'text':
      return { type: 'text', media_type: 'text/plain', data: source.text }
    case 'data': {
      const { base64, mediaType } = source
      if (mediaType === PDF || sniffMediaType(base64) === PDF) {
        return { type: 'base64', media_type: PDF, data: base64 }
      }
      if (!mediaType.startsWith('text/')) throw writer.refuse('file', `must be ${PDF} or text`, part)
      if (mediaType !== 'text/plain') writer.lose('file', part)
      return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString('utf8') }
    }
  }
}

function cacheOf(owner: Extended & { cache?: CacheMark }, writer: Writer): Fields {
  const { cache } = owner
  if (cache === undefined) return {}
  if (!writer.features.cacheMarks) {
    writer.lose('cacheMark', owner)
    return {}
  }
  return { cache_control: writeCache(cache, owner, writer) }
}
