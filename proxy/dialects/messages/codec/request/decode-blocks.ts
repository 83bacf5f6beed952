/** Content blocks of a request as parts of the neutral form. */

import { booleanAt, listAt, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { isRecord } from '../../../core/json/value.ts'
import type {
  AssistantPart,
  Envelopes,
  Extended,
  FilePart,
  HostedPart,
  ImagePart,
  Media,
  ReasoningPart,
  ResultPart,
  TextPart,
  ToolCallPart,
  ToolResult,
  UserPart,
} from '../../../core/neutral/types.ts'
import { readCache } from './cache.ts'
import { type Json, Keeper } from './keeper.ts'

const AT = 'messages.content'
const AT_RESULT = 'messages.content.content'

export function decodeText(block: Json, path: string, at: string): TextPart {
  const keeper = new Keeper().take(block, ['type', 'text', 'cache_control'])
  const text = stringAt(block.text, `${path}.text`)
  return { type: 'text', text, ...readCache(block, path, keeper, at), ...keeper.ext(at) }
}

/** A block of a user message, or of a system one. */
export function decodeUserBlock(block: Json, path: string, at = AT): UserPart {
  switch (block.type) {
    case 'text':
      return decodeText(block, path, at)
    case 'image':
      return decodeImage(block, path, at)
    case 'document':
      return decodeDocument(block, path, at)
    case 'search_result':
      return decodeSearchResult(block, path, at)
    default:
      return hosted(block, at)
  }
}

/** A block of an assistant message. */
export function decodeAssistantBlock(block: Json, path: string, envelopes: Envelopes): AssistantPart {
  switch (block.type) {
    case 'text':
      return decodeText(block, path, AT)
    case 'thinking':
      return decodeThinking(block, path, envelopes)
    case 'redacted_thinking':
      return decodeRedacted(block, path, envelopes)
    case 'tool_use':
      return decodeToolUse(block, path)
    case 'image':
      return decodeImage(block, path, AT)
    case 'document':
      return decodeDocument(block, path, AT)
    case 'compaction':
      // The summary of all that came before: no model can do without it.
      return typeof block.content === 'string' ? flattened(block.content, block, AT) : hosted(block)
    default:
      return hosted(block)
  }
}

export function decodeToolResult(block: Json, path: string): ToolResult {
  const typed = ['type', 'tool_use_id', 'content', 'is_error', 'cache_control']
  const keeper = new Keeper().take(block, typed)
  const callId = stringAt(block.tool_use_id, `${path}.tool_use_id`)
  const isError = optional(block.is_error, `${path}.is_error`, booleanAt)
  if (isError === false) keeper.rest.is_error = false
  const parts = decodeResultContent(block.content, `${path}.content`, keeper)
  return {
    callId,
    parts,
    ...(isError === true && { isError }),
    ...readCache(block, path, keeper),
    ...keeper.ext(AT),
  }
}

function decodeResultContent(content: unknown, path: string, keeper: Keeper): ResultPart[] {
  if (content === undefined || content === null) return []
  if (content === '' || (Array.isArray(content) && content.length === 0)) {
    keeper.rest.content = content
    return []
  }
  if (typeof content === 'string') {
    keeper.shape.string = true
    return [{ type: 'text', text: content }]
  }
  return listAt(content, path).map((item, i) => {
    const block = recordAt(item, `${path}[${i}]`)
    if (block.type === 'tool_reference' && typeof block.tool_name === 'string') {
      return flattened(block.tool_name, block, AT_RESULT)
    }
    stringAt(block.type, `${path}[${i}].type`)
    const part = decodeUserBlock(block, `${path}[${i}]`, AT_RESULT)
    return part.type === 'audio' ? hosted(block, AT_RESULT) : part
  })
}

function decodeToolUse(block: Json, path: string): ToolCallPart {
  const keeper = new Keeper().take(block, ['type', 'id', 'name', 'input', 'caller'])
  const { caller } = block
  const direct = isRecord(caller) && caller.type === 'direct' && Object.keys(caller).length === 1
  if (direct) keeper.rest.caller = caller
  else if (caller !== undefined && caller !== null) keeper.fields.caller = caller
  return {
    type: 'tool-call',
    kind: 'function',
    callId: stringAt(block.id, `${path}.id`),
    name: stringAt(block.name, `${path}.name`),
    input: JSON.stringify(recordAt(block.input, `${path}.input`)),
    ...keeper.ext(AT),
  }
}

/** A block without a signature is of an upstream that needs none. */
function decodeThinking(block: Json, path: string, envelopes: Envelopes): ReasoningPart {
  const keeper = new Keeper().take(block, ['type', 'thinking', 'signature'])
  const text = stringAt(block.thinking, `${path}.thinking`)
  const signature = optional(block.signature, `${path}.signature`, stringAt) ?? ''
  if (signature === '') keeper.shape.unsigned = true
  if (block.signature === '') keeper.rest.signature = ''
  return {
    type: 'reasoning',
    texts: text === '' ? [] : [text],
    ...(signature !== '' && openCarrier(signature, 'signature', envelopes)),
    ...keeper.ext(AT),
  }
}

function decodeRedacted(block: Json, path: string, envelopes: Envelopes): ReasoningPart {
  const keeper = new Keeper().take(block, ['type', 'data'])
  const data = stringAt(block.data, `${path}.data`)
  const names = { 'reasoning.state': `${AT}.data` }
  return {
    type: 'reasoning',
    texts: [],
    names,
    ...openCarrier(data, 'redacted', envelopes),
    ...keeper.ext(AT),
  }
}

function openCarrier(
  value: string,
  kind: 'signature' | 'redacted',
  envelopes: Envelopes,
): Pick<ReasoningPart, 'carrier' | 'lostCarrier'> {
  const opened = envelopes.open(value)
  if (opened === 'broken') return { lostCarrier: true }
  return { carrier: opened === 'foreign' ? { dialect: 'messages', kind, value } : opened }
}

function decodeImage(block: Json, path: string, at: string): ImagePart | HostedPart {
  const keeper = new Keeper().take(block, ['type', 'source', 'cache_control'])
  const source = readSource(recordAt(block.source, `${path}.source`), `${path}.source`, keeper)
  if (source === undefined) return hosted(block, at)
  return {
    type: 'image',
    source,
    ...placed('image', readCache(block, path, keeper, at), at),
    ...keeper.ext(at),
  }
}

function decodeDocument(block: Json, path: string, at: string): FilePart | HostedPart {
  const keeper = new Keeper().take(block, ['type', 'source', 'title', 'cache_control'])
  const source = readSource(recordAt(block.source, `${path}.source`), `${path}.source`, keeper)
  if (source === undefined) return hosted(block, at)
  const name = optional(block.title, `${path}.title`, stringAt)
  const named = name === undefined ? {} : { name }
  const marked = placed('file', readCache(block, path, keeper, at), at)
  return { type: 'file', source, ...named, ...marked, ...keeper.ext(at) }
}

/** Undefined for a kind of source that is not known. */
function readSource(source: Json, path: string, keeper: Keeper): Media | undefined {
  const take = (...typed: string[]) => keeper.takeInside('source', source, ['type', ...typed])
  switch (stringAt(source.type, `${path}.type`)) {
    case 'base64': {
      const mediaType = stringAt(source.media_type, `${path}.media_type`)
      const base64 = stringAt(source.data, `${path}.data`)
      take('media_type', 'data')
      return { kind: 'data', mediaType, base64 }
    }
    case 'text': {
      const text = stringAt(source.data, `${path}.data`)
      const mediaType = optional(source.media_type, `${path}.media_type`, stringAt) ?? 'text/plain'
      take('data', 'media_type')
      return { kind: 'text', mediaType, text }
    }
    case 'url':
      take('url')
      return { kind: 'url', url: stringAt(source.url, `${path}.url`) }
    case 'file':
      take('file_id')
      return { kind: 'id', id: stringAt(source.file_id, `${path}.file_id`), vendor: 'anthropic' }
    case 'content': {
      const text = plainText(source.content)
      if (text === undefined) return undefined
      keeper.shape.source = source
      return { kind: 'text', mediaType: 'text/plain', text }
    }
    default:
      return undefined
  }
}

/** A result of a search that the client made: other dialects read it as text. */
function decodeSearchResult(block: Json, path: string, at: string): TextPart | HostedPart {
  const title = optional(block.title, `${path}.title`, stringAt) ?? ''
  const source = optional(block.source, `${path}.source`, stringAt) ?? ''
  const text = plainText(block.content)
  if (text === undefined) return hosted(block, at)
  const part = flattened([title, source, text].filter((line) => line !== '').join('\n'), block, at)
  return { ...part, ...readCache(block, path, new Keeper(), at) }
}

/** Text of a string or of a list of text blocks; undefined for anything else. */
function plainText(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  const texts = content.map((item: unknown) =>
    isRecord(item) && item.type === 'text' ? item.text : undefined,
  )
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : undefined
}

/** With the place where a picture or a file stands, if it is not the usual one. */
function placed<T extends Extended>(kind: 'image' | 'file', marked: T, at: string): T {
  if (at === AT) return marked
  const name = kind === 'file' ? { 'file.name': `${at}.title` } : {}
  return { ...marked, names: { ...marked.names, ...name, [kind]: `${at}.source` } }
}

/** What a block says, as text; its own dialect gets the block itself, any other one is told of it. */
function flattened(text: string, block: Json, at: string): TextPart {
  const dot = at.lastIndexOf('.')
  const fields = { [at.slice(dot + 1)]: block }
  return { type: 'text', text, ext: { dialect: 'messages', at: at.slice(0, dot), fields, shape: { block } } }
}

function hosted(block: Json, at = AT): HostedPart {
  const names = at === AT ? {} : { names: { hosted: at } }
  return { type: 'hosted', dialect: 'messages', name: String(block.type), item: block, ...names }
}
