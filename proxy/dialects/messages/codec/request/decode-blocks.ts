/** Converts content blocks of a request to parts of the neutral form. */

import { booleanAt, listAt, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
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

const AT = 'messages.content'
const here = (at: string) => ({ dialect: 'messages', at }) as const
const AT_RESULT = 'messages.content.content'

export function decodeText(block: Fields, path: string, at: string): TextPart {
  const { mark, lost } = readCache(block, path, at)
  const text = stringAt(block.text, `${path}.text`)
  return { type: 'text', text, ...mark, ...keep(here(at), block, ['type', 'text', 'cache_control'], lost) }
}

/** Decodes a block of a user or system message. */
export function decodeUserBlock(block: Fields, path: string, at = AT): UserPart {
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

export function decodeAssistantBlock(block: Fields, path: string, envelopes: Envelopes): AssistantPart {
  switch (block.type) {
    case 'text':
    case 'image':
    case 'document':
      return decodeUserBlock(block, path)
    case 'thinking':
      return decodeThinking(block, path, envelopes)
    case 'redacted_thinking':
      return decodeRedacted(block, path, envelopes)
    case 'tool_use':
      return decodeToolUse(block, path)
    case 'compaction':
      // The summary of the conversation so far: without it, a model of another dialect loses the history.
      return typeof block.content === 'string' ? flattened(block.content, block, AT) : hosted(block)
    default:
      return hosted(block)
  }
}

export function decodeToolResult(block: Fields, path: string): ToolResult {
  const typed = ['type', 'tool_use_id', 'content', 'is_error', 'cache_control']
  const { mark, lost } = readCache(block, path)
  const callId = stringAt(block.tool_use_id, `${path}.tool_use_id`)
  const isError = optional(block.is_error, `${path}.is_error`, booleanAt)
  const parts = decodeResultContent(block.content, `${path}.content`)
  return {
    callId,
    parts,
    ...(isError === true && { isError }),
    ...mark,
    ...keep(here(AT), block, typed, lost),
  }
}

function decodeResultContent(content: unknown, path: string): ResultPart[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
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

function decodeToolUse(block: Fields, path: string): ToolCallPart {
  const { caller } = block
  const direct = isRecord(caller) && caller.type === 'direct' && Object.keys(caller).length === 1
  const typed = ['type', 'id', 'name', 'input', ...(direct ? ['caller'] : [])]
  return {
    type: 'tool-call',
    kind: 'function',
    callId: stringAt(block.id, `${path}.id`),
    name: stringAt(block.name, `${path}.name`),
    input: JSON.stringify(recordAt(block.input, `${path}.input`)),
    ...keep(here(AT), block, typed),
  }
}

/** A block without a signature comes from an upstream that requires none. */
function decodeThinking(block: Fields, path: string, envelopes: Envelopes): ReasoningPart {
  const text = stringAt(block.thinking, `${path}.thinking`)
  const signature = optional(block.signature, `${path}.signature`, stringAt) ?? ''
  return {
    type: 'reasoning',
    texts: text === '' ? [] : [text],
    ...(signature !== '' && openCarrier(signature, 'signature', envelopes)),
    ...keep(here(AT), block, ['type', 'thinking', 'signature']),
  }
}

function decodeRedacted(block: Fields, path: string, envelopes: Envelopes): ReasoningPart {
  const data = stringAt(block.data, `${path}.data`)
  const names = { 'reasoning.state': `${AT}.data` }
  return {
    type: 'reasoning',
    texts: [],
    names,
    ...openCarrier(data, 'redacted', envelopes),
    ...keep(here(AT), block, ['type', 'data']),
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

function decodeImage(block: Fields, path: string, at: string): ImagePart | HostedPart {
  const read = readSource(recordAt(block.source, `${path}.source`), `${path}.source`)
  if (read === undefined) return hosted(block, at)
  const { mark, lost } = readCache(block, path, at)
  return {
    type: 'image',
    source: read.source,
    ...placed('image', mark, at),
    ...keep(here(at), block, ['type', 'source', 'cache_control'], { ...read.lost, ...lost }),
  }
}

function decodeDocument(block: Fields, path: string, at: string): FilePart | HostedPart {
  const read = readSource(recordAt(block.source, `${path}.source`), `${path}.source`)
  if (read === undefined) return hosted(block, at)
  const { mark, lost } = readCache(block, path, at)
  const name = optional(block.title, `${path}.title`, stringAt)
  const named = name === undefined ? {} : { name }
  const marked = placed('file', mark, at)
  const typed = ['type', 'source', 'title', 'cache_control']
  const ext = keep(here(at), block, typed, { ...read.lost, ...lost })
  return { type: 'file', source: read.source, ...named, ...marked, ...ext }
}

/** Undefined for an unknown kind of source. */
function readSource(given: Fields, path: string): { source: Media; lost: Fields } | undefined {
  const read = (source: Media, ...typed: string[]) => ({
    source,
    lost: inside('source', given, ['type', ...typed]),
  })
  switch (stringAt(given.type, `${path}.type`)) {
    case 'base64': {
      const mediaType = stringAt(given.media_type, `${path}.media_type`)
      const base64 = stringAt(given.data, `${path}.data`)
      return read({ kind: 'data', mediaType, base64 }, 'media_type', 'data')
    }
    case 'text': {
      const text = stringAt(given.data, `${path}.data`)
      const mediaType = optional(given.media_type, `${path}.media_type`, stringAt) ?? 'text/plain'
      return read({ kind: 'text', mediaType, text }, 'data', 'media_type')
    }
    case 'url':
      return read({ kind: 'url', url: stringAt(given.url, `${path}.url`) }, 'url')
    case 'file':
      return read(
        { kind: 'id', id: stringAt(given.file_id, `${path}.file_id`), vendor: 'anthropic' },
        'file_id',
      )
    case 'content': {
      const text = plainText(given.content)
      return text === undefined ? undefined : read({ kind: 'text', mediaType: 'text/plain', text }, 'content')
    }
    default:
      return undefined
  }
}

/** Decodes a result of the client's own search, which other dialects get as text. */
function decodeSearchResult(block: Fields, path: string, at: string): TextPart | HostedPart {
  const title = optional(block.title, `${path}.title`, stringAt) ?? ''
  const source = optional(block.source, `${path}.source`, stringAt) ?? ''
  const text = plainText(block.content)
  if (text === undefined) return hosted(block, at)
  const part = flattened([title, source, text].filter((line) => line !== '').join('\n'), block, at)
  return { ...part, ...readCache(block, path, at).mark }
}

/** The text of a string or of a list of text blocks; undefined for anything else. */
function plainText(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  const texts = content.map((item: unknown) =>
    isRecord(item) && item.type === 'text' ? item.text : undefined,
  )
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : undefined
}

/** Adds the position of an image or a file, if it is not the usual one. */
function placed<T extends Extended>(kind: 'image' | 'file', marked: T, at: string): T {
  return at === AT ? marked : { ...marked, names: { ...marked.names, [kind]: `${at}.source` } }
}

/** The text of a block. The block itself is reported as a loss. */
function flattened(text: string, block: Fields, at: string): TextPart {
  const dot = at.lastIndexOf('.')
  const fields = { [at.slice(dot + 1)]: block }
  return { type: 'text', text, ext: { dialect: 'messages', at: at.slice(0, dot), fields } }
}

function hosted(block: Fields, at = AT): HostedPart {
  const names = at === AT ? {} : { names: { hosted: at } }
  return { type: 'hosted', dialect: 'messages', name: String(block.type), item: block, ...names }
}
