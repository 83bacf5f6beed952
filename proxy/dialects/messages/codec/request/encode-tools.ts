/** Encodes tools and the tool choice for the messages API. */

import type { Fields } from '../../../core/json/value.ts'
import type {
  FunctionTool,
  ModelRequest,
  Tool,
  ToolChoice,
  WebSearchTool,
} from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { writeCache } from './cache.ts'
import type { Writer } from './writer.ts'

/** The oldest web search tool, which every model with web search supports. */
const WEB_SEARCH = 'web_search_20250305'
const AUTO: wire.ToolChoiceParam = { type: 'auto' }
const ONE_BY_ONE: wire.OneByOne = { disable_parallel_tool_use: true }

/** `tools` and `tool_choice`; neither without a tool. `thinking`: the encoded field. */
export function encodeTools(
  request: ModelRequest,
  thinking: wire.Thinking | undefined,
  writer: Writer,
): Pick<wire.Request, 'tools' | 'tool_choice'> {
  const tools = request.tools.map((tool) => encodeTool(tool, writer)).filter((tool) => tool !== undefined)
  if (tools.length === 0) return {}
  return { tools, tool_choice: encodeChoice(request, thinking, writer) }
}

function encodeTool(tool: Tool, writer: Writer): wire.ToolParam | wire.WebSearchParam | Fields | undefined {
  switch (tool.type) {
    case 'function':
      return encodeFunction(tool, writer)
    case 'web-search':
      return encodeWebSearch(tool)
    case 'hosted':
      if (tool.dialect === 'messages') return tool.tool
  }
  // Not reached by custom tools: the hub has wrapped them as functions.
  writer.lose('tools', tool)
  return undefined
}

function encodeFunction(tool: FunctionTool, writer: Writer): wire.ToolParam {
  const { name, description, parameters, strict } = tool
  if (parameters?.type !== undefined && parameters.type !== 'object') writer.lose('tools.parameters', tool)
  const enforced = strict === true && writer.features.structuredOutput
  if (strict === true && !enforced) writer.lose('tools.strict', tool)
  return {
    name,
    description,
    input_schema: objectSchema(parameters),
    strict: enforced || undefined,
    cache_control: writeCache(tool, writer),
  }
}

/** The API requires the schema of an object. */
function objectSchema(schema: Fields | undefined): Fields {
  if (schema === undefined) return { type: 'object', properties: {} }
  return schema.type === 'object' ? schema : { ...schema, type: 'object' }
}

function encodeWebSearch({ allowedDomains, userLocation }: WebSearchTool): wire.WebSearchParam {
  return {
    type: WEB_SEARCH,
    name: 'web_search',
    allowed_domains: allowedDomains,
    user_location: userLocation && { type: 'approximate', ...userLocation },
  }
}

function encodeChoice(
  request: ModelRequest,
  thinking: wire.Thinking | undefined,
  writer: Writer,
): wire.Request['tool_choice'] {
  const { toolChoice, parallelToolCalls } = request
  let choice = toolChoice && choiceOf(toolChoice, writer)
  const forced = choice?.type === 'any' || choice?.type === 'tool'
  // The API refuses a forced call together with a thinking budget.
  if (forced && thinking?.type === 'enabled') {
    writer.lose('toolChoice')
    choice = AUTO
  }
  const oneByOne = parallelToolCalls === false && choice?.type !== 'none'
  return oneByOne ? { ...(choice ?? AUTO), ...ONE_BY_ONE } : choice
}

function choiceOf(choice: ToolChoice, writer: Writer): wire.ToolChoiceParam | Fields {
  if (choice.type !== 'hosted') return plainChoice(choice, writer)
  if (choice.dialect === 'messages') return choice.choice
  throw writer.refuse('toolChoice', 'names a tool that this model does not have')
}

function plainChoice(choice: Exclude<ToolChoice, { type: 'hosted' }>, writer: Writer): wire.ToolChoiceParam {
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
    default:
      return { type: choice.type }
  }
}
