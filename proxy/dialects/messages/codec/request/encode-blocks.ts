/** Converts parts of the neutral form to content blocks. */
import { parseArguments } from '../../../core/json/exact.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { sniffMediaType } from '../../../core/neutral/media.ts'
import type {
  AssistantPart,
  FilePart,
  HostedPart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  UserPart,
} from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { writeCache } from './cache.ts'
import type { Writer } from './writer.ts'

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const
const PDF = 'application/pdf'

/** Undefined for empty text, and for a part that is dropped as a loss. */
export function encodeUserPart(part: UserPart, writer: Writer): wire.UserParam | Fields | undefined {
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
export function encodeAssistantPart(part: AssistantPart, writer: Writer): wire.BlockParam | undefined {
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

export function encodeText(part: TextPart, writer: Writer): wire.TextParam | undefined {
  if (part.text === '') return undefined
  return { type: 'text', text: part.text, cache_control: writeCache(part, writer) }
}

export function encodeResult(result: ToolResult, writer: Writer): wire.ToolResultParam {
  const { callId, parts, isError } = result
  const blocks = parts.map((part) => encodeUserPart(part, writer)).filter((block) => block !== undefined)
  const [only] = blocks.length === 1 ? blocks.filter(isText) : []
  return {
    type: 'tool_result',
    tool_use_id: callId,
    // The mark of the only text covers the same prefix.
    cache_control: writeCache(result, writer) ?? only?.cache_control,
    content: only?.text ?? (blocks.length > 0 ? blocks : undefined),
    is_error: isError || undefined,
  }
}

export function isText(block: wire.BlockParam): block is wire.TextParam {
  return block.type === 'text' && typeof block.text === 'string'
}

export function encodeHosted(part: HostedPart, writer: Writer): Fields | undefined {
  if (part.dialect === 'messages') return part.item
  writer.lose('hosted', part)
  return undefined
}

function encodeCall(part: ToolCallPart, writer: Writer): wire.ToolUseParam {
  const { callId: id, name, input, kind, carrier } = part
  if (carrier !== undefined) writer.lose('callState', part)
  const value = kind === 'custom' ? { input } : input.trim() === '' ? {} : parseArguments(input)
  if (!isRecord(value)) throw writer.refuse('callInput', 'must be the JSON text of an object', part)
  return { type: 'tool_use', id, name, input: value }
}

/** Drops thinking that this vendor did not sign, because it would refuse the block. */
function encodeReasoning(part: ReasoningPart, writer: Writer): wire.ThinkingParam | undefined {
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

function encodeImage(part: ImagePart, writer: Writer): wire.ImageParam {
  if (part.detail !== undefined && part.detail !== 'auto') writer.lose('image.detail', part)
  return { type: 'image', source: imageSource(part, writer), cache_control: writeCache(part, writer) }
}

function imageSource(part: ImagePart, writer: Writer): wire.ImageParam['source'] {
  const { source } = part
  if (source.kind === 'url') return { type: 'url', url: source.url }
  if (source.kind === 'id' && source.vendor === 'anthropic') return { type: 'file', file_id: source.id }
  if (source.kind === 'id') throw writer.refuse('image', 'names a file that another vendor keeps', part)
  const problem = `must be one of ${IMAGE_TYPES.join(', ')}`
  if (source.kind === 'text') throw writer.refuse('image', problem, part)
  const { base64, mediaType } = source
  const named = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  const media_type = sniffMediaType(base64) ?? named
  const known = IMAGE_TYPES.find((type) => type === media_type)
  if (known === undefined) throw writer.refuse('image', problem, part)
  return { type: 'base64', media_type: known, data: base64 }
}

function encodeFile(part: FilePart, writer: Writer): wire.DocumentParam {
  const source = documentSource(part, writer)
  return { type: 'document', source, title: part.name, cache_control: writeCache(part, writer) }
}

function documentSource(part: FilePart, writer: Writer): wire.DocumentParam['source'] {
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
