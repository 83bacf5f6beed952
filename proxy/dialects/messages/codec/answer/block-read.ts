/** Converts the content blocks of a whole message to parts. */
import { contentText, inputText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord, isText, listOf } from '../../../core/json/value.ts'
import type {
  AssistantPart,
  HostedPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../../../core/neutral/types.ts'
import { readCitation } from './block-citations.ts'

/**
 * The part for a block; undefined for an invalid block. A call without an id gets one from `index`. Blocks of unknown
 * types belong to tools that the vendor runs, and stay whole. Throws for unreadable content, see errors/unreadable.ts.
 */
export function readBlock(block: Fields, index: number): AssistantPart | undefined {
  if (block.type === 'text') return readText(block)
  if (block.type === 'thinking') return readThinking(block)
  if (block.type === 'redacted_thinking' && typeof block.data === 'string') return readRedacted(block.data)
  if (block.type === 'tool_use' && typeof block.name === 'string') return readCall(block, block.name, index)
  return readHosted(block)
}

/** True for a call that no client can run. */
export function isNamelessCall(block: Fields): boolean {
  return block.type === 'tool_use' && (typeof block.name !== 'string' || block.name === '')
}

function readText(block: Fields): TextPart {
  const text = contentText(block.text)
  const annotations = listOf(block.citations)
    .map(readCitation)
    .filter((citation) => citation !== undefined)
  return { type: 'text', text, ...(annotations.length > 0 && { annotations }) }
}

/** Thinking without text is valid: the vendor can restore it from the signature. */
function readThinking(block: Fields): ReasoningPart {
  const { signature } = block
  const thinking = contentText(block.thinking)
  const texts = thinking === '' ? [] : [thinking]
  const signed = typeof signature === 'string' && signature !== ''
  return {
    type: 'reasoning',
    texts,
    ...(signed && { carrier: { dialect: 'messages', kind: 'signature', value: signature } }),
  }
}

function readRedacted(data: string): ReasoningPart {
  const carrier = { dialect: 'messages', kind: 'redacted', value: data } as const
  return { type: 'reasoning', texts: [], carrier }
}

function readCall(block: Fields, name: string, index: number): ToolCallPart {
  const { id, input } = block
  return {
    type: 'tool-call',
    callId: isText(id) ? id : `toolu_${index}`,
    name,
    kind: 'function',
    input: isEmptyObject(input) ? '' : inputText(input),
  }
}

/** A block starts with an empty input, and keeps it if the answer is cut before the first delta. */
function isEmptyObject(input: unknown): boolean {
  return isRecord(input) && Object.keys(input).length === 0
}

function readHosted(block: Fields): HostedPart | undefined {
  if (typeof block.type !== 'string') return undefined
  return { type: 'hosted', dialect: 'messages', name: block.type, item: block }
}
