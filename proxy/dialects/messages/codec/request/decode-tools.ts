/** Decodes tools and the tool choice into the neutral form. */

import {
  booleanAt,
  listAt,
  oneOf,
  optional,
  recordAt,
  stringAt,
  stringsAt,
} from '../../../core/json/checks.ts'
import type { Fields } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
import type { FunctionTool, Tool, ToolChoice, WebSearchTool } from '../../../core/neutral/types.ts'
import { readCache } from './cache.ts'

const HERE = { dialect: 'messages', at: 'tools' } as const
const FUNCTION_FIELDS = ['type', 'name', 'description', 'input_schema', 'strict', 'cache_control']
const SEARCH_FIELDS = ['type', 'name', 'allowed_domains', 'user_location']
const CHOICES = ['auto', 'any', 'tool', 'none'] as const
/** A client's placeholder for tools that are not loaded, which only its own vendor understands. */
const PLACEHOLDER = 'DeferredToolPlaceholder'

export function decodeTools(value: unknown): Tool[] {
  const tools = optional(value, 'tools', listAt) ?? []
  return tools.map((tool, i) => decodeTool(recordAt(tool, `tools[${i}]`), `tools[${i}]`))
}

function decodeTool(tool: Fields, path: string): Tool {
  const type = optional(tool.type, `${path}.type`, stringAt) ?? 'custom'
  if (type.startsWith('web_search_')) return decodeWebSearch(tool, path)
  if (type !== 'custom') return { type: 'hosted', dialect: 'messages', name: type, tool }
  const name = stringAt(tool.name, `${path}.name`)
  if (name === PLACEHOLDER) return { type: 'hosted', dialect: 'messages', name, tool }
  return decodeFunction(tool, name, path)
}

function decodeFunction(tool: Fields, name: string, path: string): FunctionTool {
  const { mark, lost } = readCache(tool, path, 'tools')
  const description = optional(tool.description, `${path}.description`, stringAt)
  const strict = optional(tool.strict, `${path}.strict`, booleanAt)
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    parameters: recordAt(tool.input_schema, `${path}.input_schema`),
    ...(strict !== undefined && { strict }),
    ...mark,
    ...keep(HERE, tool, FUNCTION_FIELDS, lost),
  }
}

function decodeWebSearch(tool: Fields, path: string): WebSearchTool {
  const allowedDomains = optional(tool.allowed_domains, `${path}.allowed_domains`, stringsAt)
  const location = optional(tool.user_location, `${path}.user_location`, recordAt) ?? {}
  const userLocation: NonNullable<WebSearchTool['userLocation']> = {}
  for (const key of ['city', 'country', 'region', 'timezone'] as const) {
    const text = optional(location[key], `${path}.user_location.${key}`, stringAt)
    if (text !== undefined) userLocation[key] = text
  }
  return {
    type: 'web-search',
    ...(allowedDomains !== undefined && { allowedDomains }),
    ...(Object.keys(userLocation).length > 0 && { userLocation }),
    ...keep(HERE, tool, SEARCH_FIELDS),
  }
}

/** Decodes `tool_choice`, with its flag against parallel calls. Adds its other fields to `more`. */
export function decodeToolChoice(
  value: unknown,
  tools: readonly Tool[],
  more: Fields,
): { toolChoice?: ToolChoice; parallelToolCalls?: boolean } {
  const choice = optional(value, 'tool_choice', recordAt)
  if (choice === undefined) return {}
  const type = oneOf(CHOICES)(choice.type, 'tool_choice.type')
  const path = 'tool_choice.disable_parallel_tool_use'
  const oneByOne = optional(choice.disable_parallel_tool_use, path, booleanAt)
  const typed = ['type', 'disable_parallel_tool_use', ...(type === 'tool' ? ['name'] : [])]
  Object.assign(more, inside('tool_choice', choice, typed))
  const parallel = oneByOne && type !== 'none' ? { parallelToolCalls: false } : {}
  if (type === 'any') return { toolChoice: { type: 'required' }, ...parallel }
  if (type !== 'tool') return { toolChoice: { type }, ...parallel }
  const name = stringAt(choice.name, 'tool_choice.name')
  return { toolChoice: chosenTool(name, choice, tools), ...parallel }
}

/** A choice forces a tool by its name, whether the client or the vendor runs it. */
function chosenTool(name: string, choice: Fields, tools: readonly Tool[]): ToolChoice {
  for (const tool of tools) {
    if (tool.type === 'web-search' && name === 'web_search') return { type: 'web-search' }
    if (tool.type === 'hosted' && tool.tool.name === name) {
      return {
        type: 'hosted',
        dialect: 'messages',
        name: tool.name,
        choice: { type: 'tool', name: choice.name },
      }
    }
  }
  return { type: 'tool', kind: 'function', name }
}
