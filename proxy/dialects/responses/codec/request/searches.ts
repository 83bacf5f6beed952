/** Searches for tools that the client makes itself: items `tool_search_call` and `tool_search_output`. */

import type { Fields } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type { Tool, ToolCallPart, ToolResult } from '../../../core/neutral/types.ts'
import { SEARCH } from './tools.ts'

const HERE = { dialect: 'responses', at: 'input' } as const

type SearchItem = Fields & { call_id: string }

/** A search that the vendor makes has no id of a call. */
export function isOfClient(item: Fields): item is SearchItem {
  return typeof item.call_id === 'string' && item.execution !== 'server'
}

/** Arguments may be any JSON. A text is what a model wrote that was no object. */
export function readSearch(item: SearchItem): ToolCallPart {
  const { call_id: callId, arguments: given } = item
  const input = typeof given === 'string' ? given : JSON.stringify(given ?? {})
  const call: ToolCallPart = {
    type: 'tool-call',
    callId,
    name: SEARCH,
    kind: 'function',
    search: true,
    input,
  }
  return { ...call, ...keep(HERE, item, ['type', 'call_id', 'execution', 'arguments', 'id', 'status']) }
}

/** `tools` are those of the item. */
export function readFound(item: SearchItem, tools: readonly Tool[]): ToolResult {
  return {
    callId: item.call_id,
    kind: 'function',
    parts: [],
    found: tools.filter((tool) => tool.type === 'function' || tool.type === 'custom'),
  }
}
