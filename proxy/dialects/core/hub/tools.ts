/**
 * Says the tools of a request in what the upstream knows: custom tools become functions where there are none,
 * namespaces become parts of names, tools of other vendors go. The answer's calls are mapped back.
 */
import type { Features } from '../../../../contract/profiles.ts'
import type { Losses } from '../neutral/losses.ts'
import type {
  AssistantPart,
  CustomTool,
  DialectName,
  FunctionTool,
  ModelRequest,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResult,
  Turn,
} from '../neutral/types.ts'
import type { TakesText } from './call-guard.ts'
import type { PartFilter } from './stream.ts'
import { adaptChoice, ChoosableTools } from './tool-choice.ts'
import { keyOf, legalCallId, type ToolName, ToolNames } from './tool-names.ts'
import { restoreCalls, wrapInput } from './tool-restore.ts'

/** The upstream as far as its tools go. Its dialect is another one than the client's. */
export interface ToolTarget {
  dialect: DialectName
  features: Features
}

export interface AdaptedTools {
  request: ModelRequest
  /** Maps the calls of the answer back; absent when there is nothing to map. */
  restore?: PartFilter
  takesText: TakesText
}

const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/** Throws GatewayError unsupported_parameter when the client forces a tool that the upstream cannot have. */
export function adaptTools(original: ModelRequest, target: ToolTarget, losses: Losses): AdaptedTools {
  const request = { ...original, turns: withoutEchoes(original) }
  const names = new ToolNames(target.dialect, [
    ...request.tools.filter(isCallable).map(nameOf),
    ...callsOf(request.turns),
  ])
  const says = new Sayings(target, names, losses)
  const { tools, toolChoice } = adaptChoice(request, offered(request, target, losses), target, losses)
  const { toolChoice: _choice, parallelToolCalls, ...rest } = request
  const adapted: ModelRequest = {
    ...rest,
    turns: request.turns.map((turn) => says.turn(turn)),
    tools: tools.map((tool) => says.tool(tool)),
  }
  if (tools.length === 0) declareCalled(adapted, target)
  else {
    if (toolChoice !== undefined) adapted.toolChoice = says.choice(toolChoice, request.tools)
    if (parallelToolCalls !== undefined) adapted.parallelToolCalls = parallelToolCalls
  }
  return {
    request: adapted,
    takesText: (name) => names.tool(name)?.kind === 'custom',
    ...(says.changed && { restore: (emit) => restoreCalls(names, emit) }),
  }
}

/**
 * The turns, with calls of declared tools by the names that these were declared by: some clients write the name of a
 * tool that is in no namespace as its namespace, too.
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

/** The tools that the upstream can have at all; of several alike the last. */
function offered({ tools }: ModelRequest, target: ToolTarget, losses: Losses): Tool[] {
  const last = new Map(tools.filter(isCallable).map((tool) => [keyOf(nameOf(tool)), tool]))
  return tools.filter((tool) => {
    if (isCallable(tool)) return last.get(keyOf(nameOf(tool))) === tool
    const has = tool.type === 'hosted' ? tool.dialect === target.dialect : target.features.webSearch
    if (!has) losses.lose('tools', tool)
    return has
  })
}

/** Some messages upstreams refuse calls in the history when no tools are declared. None may be called again. */
function declareCalled(request: ModelRequest, { dialect }: ToolTarget): void {
  if (dialect !== 'messages') return
  const called = new Set(Array.from(callsOf(request.turns), ({ name }) => name))
  if (called.size === 0) return
  const parameters = { type: 'object', properties: {} }
  request.tools = Array.from(called, (name) => ({ type: 'function', name, parameters }))
  request.toolChoice = { type: 'none' }
}

/** How one upstream is told of the tools of one request. */
class Sayings {
  /** Something is said otherwise than the client did, so that the answer must be mapped back. */
  changed = false
  readonly #dialect: DialectName
  readonly #wraps: boolean
  readonly #names: ToolNames
  readonly #losses: Losses
  /** Names of the calls so far by their ids. */
  readonly #called = new Map<string, string>()

  constructor({ dialect, features }: ToolTarget, names: ToolNames, losses: Losses) {
    this.#dialect = dialect
    this.#wraps = dialect === 'messages' || !features.customTools
    this.#names = names
    this.#losses = losses
  }

  tool(tool: Tool): Tool {
    if (!isCallable(tool)) return tool
    const said = { ...tool, ...this.#name(nameOf(tool)) }
    if (this.#dialect !== 'responses') delete said.namespace
    if (said.type === 'function') delete said.search
    return said.type === 'custom' && this.#wraps ? this.#wrapped(said) : said
  }

  turn(turn: Turn): Turn {
    if (turn.role === 'assistant') return { ...turn, parts: turn.parts.map((part) => this.#part(part)) }
    if (turn.role === 'tool') return { ...turn, results: turn.results.map((result) => this.#result(result)) }
    return turn
  }

  choice(choice: ToolChoice, declared: readonly Tool[]): ToolChoice {
    const choosable = new ChoosableTools(declared)
    const said = (named: { kind: 'function' | 'custom'; name: string }) => {
      const tool = choosable.find(named)
      return { kind: this.#kind(tool?.type ?? named.kind), ...this.#name(tool ? nameOf(tool) : named) }
    }
    if (choice.type === 'tool') return { type: 'tool', ...said(choice) }
    if (choice.type === 'allowed') return { ...choice, tools: choice.tools.map(said) }
    return choice
  }

  #part(part: AssistantPart): AssistantPart {
    return part.type === 'tool-call' ? this.#call(part) : part
  }

  #call(part: ToolCallPart): ToolCallPart {
    const isWrapped = part.kind === 'custom' && this.#wraps
    const said: ToolCallPart = {
      ...part,
      ...this.#name(part),
      callId: legalCallId(part.callId, this.#dialect),
      kind: this.#kind(part.kind),
      input: isWrapped ? wrapInput(part.input) : part.input,
    }
    if (this.#dialect !== 'responses') delete said.namespace
    delete said.search
    this.#called.set(said.callId, said.name)
    return said
  }

  #result({ found, ...result }: ToolResult): ToolResult {
    const said = { ...result, callId: legalCallId(result.callId, this.#dialect) }
    if (found !== undefined) said.parts = [{ type: 'text', text: this.#list(found) }]
    if (said.kind !== undefined) said.kind = this.#kind(said.kind)
    if (said.name !== undefined) said.name = this.#called.get(said.callId) ?? said.name
    return said
  }

  /** What a search found, by the names that the model can call; where the tools are declared it reads the rest. */
  #list(found: readonly (FunctionTool | CustomTool)[]): string {
    return JSON.stringify(
      found.map((tool) => {
        const { description } = tool
        return { ...this.#name(nameOf(tool)), ...(description !== undefined && { description }) }
      }),
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
    const text = [description, rule].filter((piece) => piece !== undefined && piece !== '').join('\n\n')
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
  return {
    kind,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(tool.type === 'function' && tool.search && { search: true }),
  }
}

function* callsOf(turns: readonly Turn[]): Generator<ToolCallPart> {
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue
    for (const part of turn.parts) if (part.type === 'tool-call') yield part
  }
}
