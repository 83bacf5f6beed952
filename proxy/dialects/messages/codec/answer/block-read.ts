/** Content blocks of a whole message as parts. */
import { contentText, inputText } from '../../../core/errors/unreadable.ts'
import { isRecord } from '../../../core/json/value.ts'
import type {
  AssistantPart,
  HostedPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
} from '../../../core/neutral/types.ts'
import { readCitation } from './block-citations.ts'

export type Block = Record<string, unknown>

/**
 * The part that a block is; undefined when it is none. `index` names a call that has no id. Blocks of other types are
 * of tools that the vendor runs, and stay whole. Throws as errors/unreadable.ts says.
 */
export function readBlock(block: Block, index: number): AssistantPart | undefined {
  if (block.type === 'text') return readText(block)
  if (block.type === 'thinking') return readThinking(block)
  if (block.type === 'redacted_thinking' && typeof block.data === 'string') return readRedacted(block.data)
  if (block.type === 'tool_use' && typeof block.name === 'string') return readCall(block, block.name, index)
  return readHosted(block)
}

/** True for a call that nobody can run. */
export function isNamelessCall(block: Block): boolean {
  return block.type === 'tool_use' && (typeof block.name !== 'string' || block.name === '')
}

function readText(block: Block): TextPart {
  const text = contentText(block.text)
  const citations: unknown[] = Array.isArray(block.citations) ? block.citations : []
  const annotations = citations.map(readCitation).filter((citation) => citation !== undefined)
  return { type: 'text', text, ...(annotations.length > 0 && { annotations }) }
}

/** Thinking without text is legal: the signature alone brings it back. */
function readThinking(block: Block): ReasoningPart {
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

function readCall(block: Block, name: string, index: number): ToolCallPart {
  const { id, input } = block
  return {
    type: 'tool-call',
    callId: typeof id === 'string' && id !== '' ? id : `toolu_${index}`,
    name,
    kind: 'function',
    input: isEmptyObject(input) ? '' : inputText(input),
  }
}

/** An empty input is also how a block starts, and how one looks that was cut before its first delta. */
function isEmptyObject(input: unknown): boolean {
  return isRecord(input) && Object.keys(input).length === 0
}

function readHosted(block: Block): HostedPart | undefined {
  if (typeof block.type !== 'string') return undefined
  return { type: 'hosted', dialect: 'messages', name: block.type, item: block }
}
