/** Items that stand for one piece of a turn. */

import { type Fields, tryParse } from '../../../core/json/value.ts'
import type { ReasoningPart, ToolCallPart, ToolResult } from '../../../core/neutral/types.ts'

export function writeCall({ kind, callId, name, namespace, search, input }: ToolCallPart): Fields {
  if (search)
    return { type: 'tool_search_call', call_id: callId, execution: 'client', arguments: tryParse(input) }
  const base = { call_id: callId, name, ...(namespace !== undefined && { namespace }) }
  return kind === 'custom'
    ? { type: 'custom_tool_call', ...base, input }
    : { type: 'function_call', ...base, arguments: input }
}

/** Without its output. */
export function writeResult({ kind, callId, name }: ToolResult): Fields {
  return {
    type: kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output',
    call_id: callId,
    ...(name !== undefined && { name }),
  }
}

export function writeReasoningItem({ texts, raw, carrier }: ReasoningPart): Fields {
  const own = carrier?.kind === 'encrypted' ? carrier : undefined
  const paragraphs = (type: string) => texts.map((text) => ({ type, text }))
  return {
    type: 'reasoning',
    ...(own?.id !== undefined && { id: own.id }),
    summary: raw === true ? [] : paragraphs('summary_text'),
    ...(raw === true && { content: paragraphs('reasoning_text') }),
    ...(own && { encrypted_content: own.value }),
  }
}
