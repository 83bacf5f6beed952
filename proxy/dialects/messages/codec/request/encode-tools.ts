/** Encodes tools and the tool choice for the messages API. */

import type { Fields } from '../../../core/json/value.ts'
import type {
  FunctionTool,
  ModelRequest,
  Tool,
  ToolChoice,
  WebSearchTool,
} from '../../../core/neutral/types.ts'
import { writeCache } from './cache.ts'
import type { Writer } from './writer.ts'

/** The oldest web search tool, which every model with web search supports. */
const WEB_SEARCH = 'web_search_20250305'

/** `tools` and `tool_choice`; neither without a tool. `thinking`: the encoded field. */
export function encodeTools(
  request: ModelRequest,
  thinking: Fields | undefined,
  writer: Writer,
): { tools?: Fields[]; tool_choice?: Fields } {
  const tools = request.tools.map((tool) => encodeTool(tool, writer)).filter((tool) => tool !== undefined)
  if (tools.length === 0) return {}
  return { tools, ...encodeChoice(request, thinking, writer) }
}

function encodeTool(tool: Tool, writer: Writer): Fields | undefined {
  switch (tool.type) {
    case 'function':
      return encodeFunction(tool, writer)
    case 'web-search':
      return encodeWebSearch(tool)
    case 'hosted':
      if (tool.dialect === 'messages') return tool.tool
      writer.lose('tools', tool)
      return undefined
    case 'custom':
      // Not reached: the hub has wrapped custom tools as functions.
      writer.lose('tools', tool)
      return undefined
  }
}

function encodeFunction(tool: FunctionTool, writer: Writer): Fields {
  const { name, description, parameters, strict, cache } = tool
  const written: Fields = {
    name,
    ...(description !== undefined && { description }),
    input_schema: objectSchema(parameters),
  }
  if (parameters?.type !== undefined && parameters.type !== 'object') writer.lose('tools.parameters', tool)
  if (strict === true && writer.features.structuredOutput) written.strict = true
  else if (strict === true) writer.lose('tools.strict', tool)
  if (cache !== undefined && writer.features.cacheMarks)
    written.cache_control = writeCache(cache, tool, writer)
  else if (cache !== undefined) writer.lose('cacheMark', tool)
  return written
}

/** The API requires the schema of an object. */
function objectSchema(schema: Fields | undefined): Fields {
  if (schema === undefined) return { type: 'object', properties: {} }
  return schema.type === 'object' ? schema : { ...schema, type: 'object' }
}

function encodeWebSearch({ allowedDomains, userLocation }: WebSearchTool): Fields {
  return {
    type: WEB_SEARCH,
    name: 'web_search',
    ...(allowedDomains !== undefined && { allowed_domains: allowedDomains }),
    ...(userLocation !== undefined && { user_location: { type: 'approximate', ...userLocation } }),
  }
}

function encodeChoice(
  request: ModelRequest,
  thinking: Fields | undefined,
  writer: Writer,
): { tool_choice?: Fields } {
  const { toolChoice, parallelToolCalls } = request
  let choice = toolChoice === undefined ? undefined : choiceOf(toolChoice, writer)
  const forced = choice?.type === 'any' || choice?.type === 'tool'
  // The API refuses a forced call together with a thinking budget.
  if (forced && thinking?.type === 'enabled') {
    writer.lose('toolChoice')
    choice = { type: 'auto' }
  }
  const oneByOne = parallelToolCalls === false && choice?.type !== 'none'
  if (!oneByOne) return choice === undefined ? {} : { tool_choice: choice }
  return { tool_choice: { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true } }
}

function choiceOf(choice: ToolChoice, writer: Writer): Fields {
  switch (choice.type) {
    case 'required':
      return { type: 'any' }
    case 'tool':
      return { type: 'tool', name: choice.name }
    case 'allowed':
      // The hub has already removed the other tools.
      writer.lose('toolChoice')
      return { type: choice.mode === 'required' ? 'any' : 'auto' }
    case 'web-search':
      return { type: 'tool', name: 'web_search' }
    case 'hosted':
      if (choice.dialect === 'messages') return choice.choice
      throw writer.refuse('toolChoice', 'names a tool that this model does not have')
    default:
      return { type: choice.type }
  }
}
