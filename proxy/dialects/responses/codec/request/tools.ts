/** Tools and the tool choice, both ways. */

import { refusal } from '../../../core/json/fields.ts'
import { type Fields, isRecord, listOf } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type {
  CustomTool,
  FunctionTool,
  HostedTool,
  Names,
  Tool,
  ToolChoice,
  WebSearchTool,
} from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import type * as wire from '../../wire.ts'
import * as schema from './schema.ts'

const AT = 'tools'
/** The name of the search for tools as a function. */
export const SEARCH = 'tool_search'

// --- Reading ----------------------------------------------------------------------------------------------------------

export function readTools(list: unknown, path: string): Tool[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw refusal(path, 'must be an array')
  return list.flatMap((value: unknown, i) => readTool(value, `${path}[${i}]`))
}

function readTool(value: unknown, path: string): Tool[] {
  const { type } = schema.check(schema.tool, value, path)
  const tool = isRecord(value) ? value : {}
  switch (type) {
    case 'function':
      return [readFunction(tool, path)]
    case 'custom':
      return [readCustom(tool, path)]
    case 'namespace':
      return readNamespace(tool, path)
    case 'tool_search':
      if (tool.execution === 'client') return [readSearch(tool, path)]
      return [hosted(type, tool, path)]
    default:
      if (type.startsWith('web_search')) return [readWebSearch(tool, path)]
      return [hosted(type, tool, path)]
  }
}

function hosted(name: string, tool: Fields, path: string): HostedTool {
  return { type: 'hosted', dialect: 'responses', name, tool, ...namesAt(familyOf(path)) }
}

/** `path` without indexes, as names of losses have it. */
function familyOf(path: string): string {
  return path.replaceAll(/\[\d+\]/g, '')
}

function placeOf(path: string) {
  return { dialect: 'responses', at: familyOf(path) } as const
}

/** Names of losses for a tool in a namespace or an item. */
function namesAt(at: string): { names?: Names } {
  if (at === AT) return {}
  const own = ['strict', 'parameters', 'format'].map((field) => [`tools.${field}`, `${at}.${field}`])
  return { names: { tools: at, ...Object.fromEntries(own) } }
}

function readFunction(value: Fields, path: string, namespace?: string): FunctionTool {
  const { name, description, parameters, strict } = schema.check(schema.functionTool, value, path)
  const tool: FunctionTool = {
    type: 'function',
    name,
    ...(namespace !== undefined && { namespace }),
    ...(description && { description }),
    ...(parameters && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
    ...namesAt(familyOf(path)),
  }
  return { ...tool, ...keep(placeOf(path), value, ['type', 'name', 'description', 'parameters', 'strict']) }
}

function readCustom(value: Fields, path: string, namespace?: string): CustomTool {
  const { name, description, format } = schema.check(schema.customTool, value, path)
  const tool: CustomTool = {
    type: 'custom',
    name,
    ...(namespace !== undefined && { namespace }),
    ...(description && { description }),
    ...namesAt(familyOf(path)),
  }
  if (format?.type === 'grammar') {
    const { syntax, definition } = schema.check(schema.grammar, format, `${path}.format`)
    tool.grammar = { syntax, definition }
  }
  const isTyped = format?.type === 'text' || format?.type === 'grammar'
  const typed = ['type', 'name', 'description', ...(isTyped ? ['format'] : [])]
  return { ...tool, ...keep(placeOf(path), value, typed) }
}

/** The tools of a namespace. A namespace that is empty or has tools of other kinds becomes one hosted tool. */
function readNamespace(value: Fields, path: string): Tool[] {
  const { name, tools } = schema.check(schema.namespaceTool, value, path)
  const isPlain = tools.every((tool) => tool.type === 'function' || tool.type === 'custom')
  if (!isPlain || tools.length === 0) {
    return [hosted('namespace', value, path)]
  }
  return listOf(value.tools)
    .filter(isRecord)
    .map((original, i) => {
      const at = `${path}.tools[${i}]`
      const tool =
        original.type === 'custom' ? readCustom(original, at, name) : readFunction(original, at, name)
      if (i > 0) return tool
      // The first tool also carries the fields of the namespace, so that they are reported as losses.
      const own = Object.entries(tool.ext?.fields ?? {}).map(([key, field]) => [`tools.${key}`, field])
      return { ...tool, ...keep(placeOf(path), value, ['type', 'name', 'tools'], Object.fromEntries(own)) }
    })
}

function readSearch(value: Fields, path: string): FunctionTool {
  const { description, parameters } = schema.check(schema.searchTool, value, path)
  const tool: FunctionTool = {
    type: 'function',
    name: SEARCH,
    ...(description && { description }),
    ...(parameters && { parameters }),
    search: true,
  }
  return { ...tool, ...keep(placeOf(path), value, ['type', 'execution', 'description', 'parameters']) }
}

function readWebSearch(value: Fields, path: string): WebSearchTool {
  const { filters, user_location: location } = schema.check(schema.webSearchTool, value, path)
  const tool: WebSearchTool = { type: 'web-search', ...namesAt(familyOf(path)) }
  if (filters?.allowed_domains) tool.allowedDomains = filters.allowed_domains
  if (location) {
    const { city, country, region, timezone } = location
    tool.userLocation = {
      ...(city && { city }),
      ...(country && { country }),
      ...(region && { region }),
      ...(timezone && { timezone }),
    }
  }
  const more = Object.keys(filters ?? {}).some((key) => key !== 'allowed_domains')
  const typed = ['type', 'user_location', ...(more ? [] : ['filters'])]
  return { ...tool, ...keep(placeOf(path), value, typed) }
}

/** `more`: the choice names tools that the neutral form cannot name. */
export function readToolChoice(value: unknown): { choice?: ToolChoice; more: boolean } {
  if (value === undefined || value === null) return { more: false }
  if (value === 'auto' || value === 'none' || value === 'required')
    return { choice: { type: value }, more: false }
  if (!isRecord(value)) throw refusal('tool_choice', 'must be auto, none, required or an object')
  const { type } = schema.check(schema.tool, value, 'tool_choice')
  if (type === 'function' || type === 'custom') {
    const { name } = schema.check(schema.namedChoice, value, 'tool_choice')
    return { choice: { type: 'tool', kind: type, name }, more: false }
  }
  if (type === 'allowed_tools') {
    const { mode, tools } = schema.check(schema.allowedTools, value, 'tool_choice')
    const named = tools.flatMap(({ type: kind, name }) =>
      (kind === 'function' || kind === 'custom') && typeof name === 'string' ? [{ kind, name } as const] : [],
    )
    return { choice: { type: 'allowed', mode, tools: named }, more: named.length < tools.length }
  }
  if (type.startsWith('web_search')) return { choice: { type: 'web-search' }, more: false }
  return { choice: { type: 'hosted', dialect: 'responses', name: type, choice: value }, more: false }
}

// --- Writing ----------------------------------------------------------------------------------------------------------

/** Groups adjacent tools of the same namespace. Fields: a tool that only this dialect has. */
export function writeTools(tools: readonly Tool[], writer: Writer): (wire.Tool | Fields)[] {
  const list: (wire.Tool | Fields)[] = []
  let group: wire.NamespaceTool | undefined
  for (const tool of tools) {
    if ((tool.type === 'function' || tool.type === 'custom') && tool.namespace !== undefined) {
      if (group?.name !== tool.namespace) {
        group = { type: 'namespace', description: '', name: tool.namespace, tools: [] }
        list.push(group)
      }
      group.tools.push(writeOwn(tool, writer))
      continue
    }
    const written = writeTool(tool, writer)
    if (written === undefined) continue
    group = undefined
    list.push(written)
  }
  return list
}

function writeTool(tool: Tool, writer: Writer): wire.Tool | Fields | undefined {
  if (tool.type === 'web-search') return writeWebSearch(tool)
  if (tool.type !== 'hosted')
    return tool.type === 'function' && tool.search ? writeSearch(tool) : writeOwn(tool, writer)
  if (tool.dialect === 'responses') return tool.tool
  writer.lose('tools', tool)
  return undefined
}

/** Writes a tool that the client runs. */
function writeOwn(tool: FunctionTool | CustomTool, writer: Writer): wire.FunctionTool | wire.CustomTool {
  if (tool.cache !== undefined) writer.lose('cacheMark', tool)
  return tool.type === 'custom' ? writeCustom(tool) : writeFunction(tool, writer)
}

function writeFunction(tool: FunctionTool, writer: Writer): wire.FunctionTool {
  const { name, description, strict } = tool
  // Responses enforces the schema if strict is absent; the other dialects do not.
  const parameters = tool.parameters ?? { type: 'object', properties: {} }
  const isOpen = strict === true && writer.features.structuredOutput === false
  if (isOpen) writer.lose('tools.strict', tool)
  return { type: 'function', name, description, parameters, strict: strict === true && !isOpen }
}

function writeSearch({ description, parameters }: FunctionTool): wire.SearchTool {
  return { type: 'tool_search', execution: 'client', description, parameters }
}

function writeCustom({ name, description, grammar }: CustomTool): wire.CustomTool {
  return { type: 'custom', name, description, format: grammar && { type: 'grammar', ...grammar } }
}

function writeWebSearch({ allowedDomains, userLocation }: WebSearchTool): wire.WebSearchTool {
  return {
    type: 'web_search',
    filters: allowedDomains && { allowed_domains: allowedDomains },
    user_location: userLocation && { type: 'approximate', ...userLocation },
  }
}

/** Fields: a choice that only this dialect has. */
export function writeToolChoice(choice: ToolChoice, writer: Writer): wire.ToolChoice | Fields | undefined {
  if (choice.type !== 'hosted') return writeChoice(choice)
  if (choice.dialect === 'responses') return choice.choice
  writer.lose('toolChoice')
  return undefined
}

function writeChoice(choice: Exclude<ToolChoice, { type: 'hosted' }>): wire.ToolChoice {
  switch (choice.type) {
    case 'tool':
      return { type: choice.kind, name: choice.name }
    case 'allowed':
      return {
        type: 'allowed_tools',
        mode: choice.mode,
        tools: choice.tools.map(({ kind, name }) => ({ type: kind, name })),
      }
    case 'web-search':
      return { type: 'web_search' }
    default:
      return choice.type
  }
}
