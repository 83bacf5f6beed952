/**
 * Adapts the tools of a request to the upstream: custom tools become functions where it has none, namespaces become
 * parts of names, other vendors' tools are dropped.
 */
import { present } from '../../../../kit/present.ts'
import type { ToolRules } from '../dialect.ts'
import type { Losses } from '../neutral/losses.ts'
import type {
  AssistantPart,
  CustomTool,
  FunctionTool,
  ModelRequest,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
} from '../neutral/types.ts'
import { adaptChoice, ChoosableTools, type ToolTarget } from './tool-choice.ts'
import { keyOf, legalCallId, type ToolName, ToolNames } from './tool-names.ts'
import { wrapInput } from './tool-restore.ts'

interface AdaptedTools {
  request: ModelRequest
  names: ToolNames
  /** The calls of the answer must be mapped back. */
  restores: boolean
}

const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/** Throws GatewayError unsupported_parameter when the client forces a tool that the upstream does not support. */
export function adaptTools(original: ModelRequest, target: ToolTarget, losses: Losses): AdaptedTools {
  const request = { ...original, turns: withoutEchoes(original) }
  const names = new ToolNames(target.rules, [
    ...request.tools.filter(isCallable).map(nameOf),
    ...callsOf(request.turns),
  ])
  const adapter = new ToolAdapter(target, names, losses)
  const { tools, toolChoice } = adaptChoice(request, offered(request, target, losses), target, losses)
  const { toolChoice: _choice, parallelToolCalls, ...rest } = request
  const adapted: ModelRequest = {
    ...rest,
    turns: request.turns.map((turn) => adapter.turn(turn)),
    tools: tools.map((tool) => adapter.tool(tool)),
  }
  if (tools.length === 0) declareCalled(adapted, target)
  else {
    if (toolChoice !== undefined) adapted.toolChoice = adapter.choice(toolChoice, request.tools)
    if (parallelToolCalls !== undefined) adapted.parallelToolCalls = parallelToolCalls
  }
  return {
    request: adapted,
    names,
    restores: adapter.changed,
  }
}

/**
 * The turns with calls named as their tools are declared. Some clients repeat the name of a tool without a namespace as
 * the namespace of its calls.
 */
function withoutEchoes({ turns, tools }: ModelRequest): Turn[] {
  const declared = new Set(tools.filter(isCallable).map((tool) => keyOf(nameOf(tool))))
  const isEcho = (part: AssistantPart) => {
    if (part.type !== 'tool-call' || part.namespace !== part.name) return false
    const { kind, name } = part
    return !declared.has(keyOf(part)) && declared.has(keyOf({ kind, name }))
  }
  return turns.map((turn): Turn => {
    if (turn.role !== 'assistant' || !turn.parts.some(isEcho)) return turn
    const parts = turn.parts.map((part): AssistantPart => {
      if (part.type !== 'tool-call' || !isEcho(part)) return part
      const { namespace: _echo, ...call } = part
      return call
    })
    return { ...turn, parts }
  })
}

/** The tools that the upstream supports; the last one of duplicates. */
function offered({ tools }: ModelRequest, target: ToolTarget, losses: Losses): Tool[] {
  const last = new Map(tools.filter(isCallable).map((tool) => [keyOf(nameOf(tool)), tool]))
  return tools.filter((tool) => {
    if (isCallable(tool)) return last.get(keyOf(nameOf(tool))) === tool
    const has = tool.type === 'hosted' ? tool.dialect === target.dialect : target.features.webSearch
    if (!has) losses.lose('tools', tool)
    return has
  })
}

/** Declares called tools, with the choice `none`, for an upstream that refuses calls of undeclared tools. */
function declareCalled(request: ModelRequest, { rules }: ToolTarget): void {
  if (!rules.declaresCalled) return
  const called = new Set(Array.from(callsOf(request.turns), ({ name }) => name))
  if (called.size === 0) return
  const parameters = { type: 'object', properties: {} }
  request.tools = Array.from(called, (name) => ({ type: 'function', name, parameters }))
  request.toolChoice = { type: 'none' }
}

/** Rewrites one request's tools, calls and results for one upstream. */
class ToolAdapter {
  /** A name or a kind differs from the client's, so the answer must be mapped back. */
  changed = false
  readonly #rules: ToolRules
  readonly #wraps: boolean
  readonly #names: ToolNames
  readonly #losses: Losses

  constructor({ rules, features }: ToolTarget, names: ToolNames, losses: Losses) {
    this.#rules = rules
    this.#wraps = !rules.customTools || !features.customTools
    this.#names = names
    this.#losses = losses
  }

  tool(tool: Tool): Tool {
    if (!isCallable(tool)) return tool
    const adapted = { ...tool, ...this.#name(nameOf(tool)) }
    if (!this.#rules.namespaces) delete adapted.namespace
    if (adapted.type === 'function') delete adapted.search
    return adapted.type === 'custom' && this.#wraps ? this.#wrapped(adapted) : adapted
  }

  turn(turn: Turn): Turn {
    if (turn.role === 'assistant') return { ...turn, parts: turn.parts.map((part) => this.#part(part)) }
    if (turn.role === 'tool') return { ...turn, results: turn.results.map((result) => this.#result(result)) }
    return turn
  }

  choice(choice: ToolChoice, declared: readonly Tool[]): ToolChoice {
    const choosable = new ChoosableTools(declared)
    const adaptedName = (named: { kind: 'function' | 'custom'; name: string }) => {
      const tool = choosable.find(named)
      return { kind: this.#kind(tool?.type ?? named.kind), ...this.#name(tool ? nameOf(tool) : named) }
    }
    if (choice.type === 'tool') return { type: 'tool', ...adaptedName(choice) }
    if (choice.type === 'allowed') return { ...choice, tools: choice.tools.map(adaptedName) }
    return choice
  }

  #part(part: AssistantPart): AssistantPart {
    return part.type === 'tool-call' ? this.#call(part) : part
  }

  #call(part: ToolCallPart): ToolCallPart {
    const isWrapped = part.kind === 'custom' && this.#wraps
    const adapted: ToolCallPart = {
      ...part,
      ...this.#name(part),
      callId: legalCallId(part.callId, this.#rules),
      kind: this.#kind(part.kind),
      input: isWrapped ? wrapInput(part.input) : part.input,
    }
    if (!this.#rules.namespaces) delete adapted.namespace
    delete adapted.search
    return adapted
  }

  #result({ found, ...result }: ToolResult): ToolResult {
    const adapted = { ...result, callId: legalCallId(result.callId, this.#rules) }
    if (found !== undefined) adapted.parts = [{ type: 'text', text: this.#list(found) }]
    if (adapted.kind !== undefined) adapted.kind = this.#kind(adapted.kind)
    return adapted
  }

  /** The tools that a search found, by the names that the model can call, without their schemas. */
  #list(found: readonly (FunctionTool | CustomTool)[]): string {
    return JSON.stringify(
      found.map((tool) => ({ ...this.#name(nameOf(tool)), description: tool.description })),
    )
  }

  #name(tool: ToolName): { name: string } {
    const name = this.#names.wire(tool)
    const isPlain = name === tool.name && tool.search !== true
    if (!isPlain || (tool.kind === 'custom' && this.#wraps)) this.changed = true
    return { name }
  }

  #kind(kind: 'function' | 'custom'): 'function' | 'custom' {
    return this.#wraps ? 'function' : kind
  }

  #wrapped({ grammar, description, type: _type, ...tool }: CustomTool): FunctionTool {
    if (grammar !== undefined) this.#losses.lose('tools.format', tool)
    const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
    const text = [description, rule].filter((section) => section !== undefined && section !== '').join('\n\n')
    return {
      ...tool,
      type: 'function',
      parameters: INPUT_SCHEMA,
      ...(text !== '' && { description: text }),
    }
  }
}

function isCallable(tool: Tool): tool is FunctionTool | CustomTool {
  return tool.type === 'function' || tool.type === 'custom'
}

function nameOf(tool: FunctionTool | CustomTool): ToolName {
  const { type: kind, name, namespace } = tool
  return { kind, name, ...present({ namespace, search: 'search' in tool ? tool.search : undefined }) }
}

function* callsOf(turns: readonly Turn[]): Generator<ToolCallPart> {
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue
    for (const part of turn.parts) if (part.type === 'tool-call') yield part
  }
}
