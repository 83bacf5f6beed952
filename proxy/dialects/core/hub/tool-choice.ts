/** Adapts the client's tool choice (which tools the model may or must call) to the upstream. */
import type { ApiName } from '../../../../contract/apis.ts'
import type { Features } from '../../../../contract/features.ts'
import { GatewayError } from '../../../errors.ts'
import type { ToolRules } from '../dialect.ts'
import type { Losses } from '../neutral/losses.ts'
import type { CustomTool, FunctionTool, ModelRequest, Tool, ToolChoice } from '../neutral/types.ts'

/** The tool support of an upstream whose dialect is not the client's. */
export interface ToolTarget {
  dialect: ApiName
  rules: ToolRules
  features: Features
}

type Named = { kind: 'function' | 'custom'; name: string }

/** Tools and choice, both still with the client's names. */
interface Selection {
  tools: Tool[]
  toolChoice?: ToolChoice
}

/**
 * Fits the choice to the tools that the upstream takes. Throws GatewayError unsupported_parameter when the client forces
 * a tool that the upstream does not have.
 */
export function adaptChoice(
  request: ModelRequest,
  tools: Tool[],
  target: ToolTarget,
  losses: Losses,
): Selection {
  const loss = losses.name('toolChoice', request)
  const selection = allowedOnly(request.toolChoice, tools, target, () => losses.add(loss))
  const { toolChoice } = selection
  if (toolChoice === undefined) return selection
  if (isUnmet(toolChoice, selection.tools, target)) {
    const message = `${loss} requests a tool that this model does not offer.`
    throw new GatewayError('unsupported_parameter', message, { param: loss })
  }
  return selection.tools.length === 0 ? { tools: [] } : selection
}

/** Finds the declared tool that a choice names, in any namespace: a choice has none. */
export class ChoosableTools {
  readonly #byName = new Map<string, FunctionTool | CustomTool>()
  readonly #byKind = new Map<string, FunctionTool | CustomTool>()

  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      if (tool.type !== 'function' && tool.type !== 'custom') continue
      const key = `${tool.type} ${tool.name}`
      const before = this.#byKind.get(key)
      const isBetter = before?.namespace !== undefined && tool.namespace === undefined
      if (before === undefined || isBetter) this.#byKind.set(key, tool)
      if (!this.#byName.has(tool.name)) this.#byName.set(tool.name, tool)
    }
  }

  find({ kind, name }: Named): FunctionTool | CustomTool | undefined {
    return this.#byKind.get(`${kind} ${name}`) ?? this.#byName.get(name)
  }
}

/** Removes the tools that are not allowed, for an upstream that takes no list of allowed tools. */
function allowedOnly(
  choice: ToolChoice | undefined,
  tools: Tool[],
  target: ToolTarget,
  lose: () => void,
): Selection {
  if (choice === undefined) return { tools }
  if (choice.type !== 'allowed' || target.rules.allowedTools) return { tools, toolChoice: choice }
  lose()
  const choosable = new ChoosableTools(tools)
  const allowed = new Set<Tool | undefined>(choice.tools.map((named) => choosable.find(named)))
  return { tools: tools.filter((tool) => allowed.has(tool)), toolChoice: { type: choice.mode } }
}

function isUnmet(choice: ToolChoice, tools: readonly Tool[], target: ToolTarget): boolean {
  if (choice.type === 'hosted') return choice.dialect !== target.dialect
  if (choice.type === 'web-search') return !tools.some(({ type }) => type === 'web-search')
  return demandsCall(choice) && tools.length === 0
}

function demandsCall(choice: ToolChoice): boolean {
  if (choice.type === 'allowed') return choice.mode === 'required'
  return choice.type !== 'auto' && choice.type !== 'none'
}
