/** Tools and tool choice, in both directions. */

import { present } from '../../../../../kit/present.ts'
import { booleanAt, listAt, nameAt, oneOf, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { refusal } from '../../../core/json/fields.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
import type {
  CustomTool,
  FunctionTool,
  ModelRequest,
  Names,
  Tool,
  ToolChoice,
  WebSearchTool,
} from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import type * as wire from '../../wire.ts'
import { CACHE_FIELDS, decodeCache, lostControl } from './cache.ts'

const TOOL = new Set(['type', 'function', 'custom', ...CACHE_FIELDS])
const FUNCTION = new Set(['name', 'description', 'parameters', 'strict'])
const CUSTOM = new Set(['name', 'description', 'format'])
const SEARCH = new Set(['user_location'])
const LOCATION = ['city', 'country', 'region', 'timezone'] as const
/** The names of the fields of `functions`, which `tools` replaced. */
const FUNCTIONS: Names = {
  tools: 'functions',
  'tools.strict': 'functions.strict',
  'tools.parameters': 'functions.parameters',
}
/** `required` in requests of Mistral's clients. */
const ANY = 'any'
const NO_PARAMETERS = { type: 'object', properties: {} }

// --- From clients -----------------------------------------------------------------------------------------------------

export function decodeTools(body: Fields): Tool[] {
  const tools = (optional(body.tools, 'tools', listAt) ?? []).map((tool, i) =>
    decodeTool(tool, `tools[${i}]`),
  )
  const legacy = (optional(body.functions, 'functions', listAt) ?? []).map((value, i): Tool => {
    const path = `functions[${i}]`
    const fields = recordAt(value, path)
    const ext = keep({ dialect: 'chat', at: 'functions' }, fields, FUNCTION)
    return { ...functionFields(fields, path), names: FUNCTIONS, ...ext }
  })
  const search = optional(body.web_search_options, 'web_search_options', recordAt)
  return [...tools, ...legacy, ...(search === undefined ? [] : [decodeSearch(search)])]
}

function decodeTool(value: unknown, path: string): Tool {
  const tool = recordAt(value, path)
  const type = typeOf(tool, path)
  if (type !== 'function' && type !== 'custom') return { type: 'hosted', dialect: 'chat', name: type, tool }
  const inner = recordAt(tool[type], `${path}.${type}`)
  const known = type === 'function' ? FUNCTION : CUSTOM
  const more = { ...lostControl(tool), ...inside(type, inner, known) }
  const ext = keep({ dialect: 'chat', at: 'tools' }, tool, TOOL, more)
  const fields =
    type === 'function' ? functionFields(inner, `${path}.function`) : customFields(inner, `${path}.custom`)
  return { ...fields, ...decodeCache(tool, path, 'tools'), ...ext }
}

/** The type; `function` if absent, because some clients, such as Mistral's, omit it. */
function typeOf(tool: Fields, path: string): string {
  const isAbsent = tool.type === undefined || tool.type === null
  return isAbsent && isRecord(tool.function) ? 'function' : nameAt(tool.type, `${path}.type`)
}

function functionFields(fields: Fields, path: string): FunctionTool {
  return {
    type: 'function',
    name: nameAt(fields.name, `${path}.name`),
    ...present({
      description: optional(fields.description, `${path}.description`, stringAt),
      parameters: optional(fields.parameters, `${path}.parameters`, recordAt),
      strict: optional(fields.strict, `${path}.strict`, booleanAt),
    }),
  }
}

function customFields(fields: Fields, path: string): CustomTool {
  const format = optional(fields.format, `${path}.format`, recordAt)
  const description = optional(fields.description, `${path}.description`, stringAt)
  const tool: CustomTool = {
    type: 'custom',
    name: nameAt(fields.name, `${path}.name`),
    ...(description !== undefined && { description }),
  }
  if (format === undefined) return tool
  if (oneOf(['text', 'grammar'])(format.type, `${path}.format.type`) === 'text') return tool
  const grammar = recordAt(format.grammar, `${path}.format.grammar`)
  return {
    ...tool,
    grammar: {
      syntax: stringAt(grammar.syntax, `${path}.format.grammar.syntax`),
      definition: stringAt(grammar.definition, `${path}.format.grammar.definition`),
    },
  }
}

function decodeSearch(options: Fields): WebSearchTool {
  const path = 'web_search_options.user_location'
  const location = optional(options.user_location, path, recordAt)
  const place = optional(location?.approximate, `${path}.approximate`, recordAt) ?? {}
  const userLocation = present(
    Object.fromEntries(
      LOCATION.map((key) => [key, optional(place[key], `${path}.approximate.${key}`, stringAt)]),
    ),
  )
  return {
    type: 'web-search',
    names: { tools: 'web_search_options' },
    ...(location !== undefined && { userLocation }),
    ...keep({ dialect: 'chat', at: 'web_search_options' }, options, SEARCH),
  }
}

export function decodeToolChoice(body: Fields): ToolChoice | undefined {
  const choice = body.tool_choice ?? undefined
  if (choice === undefined) return decodeFunctionCall(body.function_call)
  if (typeof choice === 'string') {
    if (choice === ANY) return { type: 'required' }
    return { type: oneOf(['none', 'auto', 'required'])(choice, 'tool_choice') }
  }
  const record = isRecord(choice) ? choice : undefined
  if (record === undefined) throw refusal('tool_choice', 'must be a string or an object')
  const type = nameAt(record.type, 'tool_choice.type')
  if (type !== 'function' && type !== 'custom' && type !== 'allowed_tools')
    return { type: 'hosted', dialect: 'chat', name: type, choice: record }
  if (type !== 'allowed_tools') {
    const inner = recordAt(record[type], `tool_choice.${type}`)
    return { type: 'tool', kind: type, name: nameAt(inner.name, `tool_choice.${type}.name`) }
  }
  const path = 'tool_choice.allowed_tools'
  const allowed = recordAt(record.allowed_tools, path)
  const tools = listAt(allowed.tools, `${path}.tools`).map((value, i) => {
    const at = `${path}.tools[${i}]`
    const tool = recordAt(value, at)
    const kind = oneOf(['function', 'custom'])(tool.type, `${at}.type`)
    return { kind, name: nameAt(recordAt(tool[kind], `${at}.${kind}`).name, `${at}.${kind}.name`) }
  })
  return { type: 'allowed', mode: oneOf(['auto', 'required'])(allowed.mode, `${path}.mode`), tools }
}

function decodeFunctionCall(call: unknown): ToolChoice | undefined {
  if (call === undefined || call === null) return undefined
  if (typeof call === 'string') return { type: oneOf(['none', 'auto'])(call, 'function_call') }
  const { name } = recordAt(call, 'function_call')
  return { type: 'tool', kind: 'function', name: nameAt(name, 'function_call.name') }
}

/** True when the client declared `functions` instead of `tools`. */
export function isLegacy({ tools }: Pick<ModelRequest, 'tools'>): boolean {
  return tools.some((tool) => tool.names?.tools === FUNCTIONS.tools)
}

// --- To upstreams -----------------------------------------------------------------------------------------------------

/** The body's fields about tools. Without tools it has no choice and parallel calls, which OpenAI would refuse. */
export function encodeTools(request: ModelRequest, writer: Writer): Partial<wire.Request> {
  const tools: wire.Request['tools'] = []
  const out: Partial<wire.Request> = {}
  for (const tool of request.tools) {
    if (tool.type === 'function') {
      tools.push(functionTool(tool, writer))
    } else if (tool.type === 'custom') {
      tools.push(customTool(tool))
    } else if (tool.type === 'web-search' && writer.features.webSearch) {
      out.web_search_options = searchOptions(tool, writer)
    } else if (tool.type === 'hosted' && tool.dialect === 'chat') {
      tools.push(tool.tool)
    } else {
      writer.lose('tools', tool)
    }
  }
  if (tools.length > 0) out.tools = tools
  const { toolChoice, parallelToolCalls } = request
  const hasTools = tools.length > 0
  if (toolChoice !== undefined) {
    const choice = encodeChoice(toolChoice, writer)
    if (hasTools) {
      if (choice !== undefined) out.tool_choice = choice
    } else if (choice !== undefined && toolChoice.type !== 'auto' && toolChoice.type !== 'none') {
      writer.lose('toolChoice')
    }
  }
  // True is the default.
  if (parallelToolCalls === false && hasTools) out.parallel_tool_calls = false
  return out
}

function functionTool(tool: FunctionTool, writer: Writer): wire.FunctionTool {
  const { name, description, parameters = NO_PARAMETERS, strict = false } = tool
  if (tool.cache !== undefined) writer.lose('cacheMark', tool)
  const isEnforced = strict && writer.features.structuredOutput
  if (strict && !isEnforced) writer.lose('tools.strict', tool)
  // False is the default here.
  return { type: 'function', function: { name, description, parameters, strict: isEnforced || undefined } }
}

function customTool({ name, description, grammar }: CustomTool): wire.CustomTool {
  return { type: 'custom', custom: { name, description, format: grammar && { type: 'grammar', grammar } } }
}

function searchOptions(tool: WebSearchTool, writer: Writer): wire.SearchOptions {
  const { userLocation, allowedDomains } = tool
  if (allowedDomains !== undefined) writer.lose('tools', tool)
  return userLocation ? { user_location: { type: 'approximate', approximate: userLocation } } : {}
}

function encodeChoice(choice: ToolChoice, writer: Writer): wire.Request['tool_choice'] {
  switch (choice.type) {
    case 'tool':
      return namedTool(choice)
    case 'allowed': {
      const allowed_tools = { mode: choice.mode, tools: choice.tools.map(namedTool) }
      return { type: 'allowed_tools', allowed_tools } satisfies wire.AllowedTools
    }
    case 'web-search':
      // Chat models with web search search on every request.
      if (writer.features.webSearch) return undefined
      throw writer.refuse('toolChoice', 'requests a tool that this model does not offer')
    case 'hosted':
      if (choice.dialect === 'chat') return choice.choice
      throw writer.refuse('toolChoice', 'requests a tool that this model does not offer')
    default:
      return choice.type
  }
}

function namedTool({ kind, name }: { kind: 'function' | 'custom'; name: string }): wire.NamedTool {
  return kind === 'function' ? { type: kind, function: { name } } : { type: kind, custom: { name } }
}
