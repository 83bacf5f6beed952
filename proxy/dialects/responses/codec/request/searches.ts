/** Searches for tools that the client runs: items `tool_search_call` and `tool_search_output`. */

import type { Fields } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type { Tool, ToolCallPart, ToolResult } from '../../../core/neutral/types.ts'
import { SEARCH } from './tools.ts'

const HERE = { dialect: 'responses', at: 'input' } as const

type SearchItem = Fields & { call_id: string }

/** False for a search that the vendor runs; it has no call id. */
export function isClientSearch(item: Fields): item is SearchItem {
  return typeof item.call_id === 'string' && item.execution !== 'server'
}

/** Arguments may be any JSON. A string is model output that was not an object. */
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

/** `tools`: of the item. */
export function readSearchOutput(item: SearchItem, tools: readonly Tool[]): ToolResult {
  return {
    callId: item.call_id,
    kind: 'function',
    parts: [],
    found: tools.filter((tool) => tool.type === 'function' || tool.type === 'custom'),
  }
}
