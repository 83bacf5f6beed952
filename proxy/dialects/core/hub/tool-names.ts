/** Maps the names and ids of tools to ones that the upstream accepts, and back. */
import { createHash } from 'node:crypto'
import { present } from '../../../../kit/present.ts'
import type { ToolRules } from '../dialect.ts'

/** Length of call ids made here. Every dialect accepts it. */
const MAX_CALL_ID = 64
const LEGAL = /^[a-zA-Z0-9_-]+$/

/** Identifies a tool to the client. */
export interface ToolName {
  kind: 'function' | 'custom'
  name: string
  namespace?: string
  search?: true
}

/** The names of one request's tools at the upstream: legal and unique. */
export class ToolNames {
  readonly #rules: ToolRules
  readonly #wire = new Map<string, string>()
  readonly #tools = new Map<string, ToolName>()

  constructor(rules: ToolRules, tools: Iterable<ToolName>) {
    this.#rules = rules
    const changed: ToolName[] = []
    for (const tool of tools) {
      if (this.#wire.has(keyOf(tool))) continue
      const isFree = this.#legal(this.#flat(tool)) === tool.name && !this.#tools.has(tool.name)
      if (isFree) this.#set(tool, tool.name)
      else changed.push(tool)
    }
    for (const tool of changed) if (!this.#wire.has(keyOf(tool))) this.#set(tool, this.#free(tool))
  }

  /** The tool's name at the upstream. */
  wire(tool: ToolName): string {
    return this.#wire.get(keyOf(tool)) ?? this.#legal(this.#flat(tool))
  }

  /** The tools, in an order in which they get the same names again. */
  get tools(): ToolName[] {
    return [...this.#tools.values()]
  }

  /** The tool that has this name at the upstream. */
  tool(wire: string): ToolName | undefined {
    return this.#tools.get(wire)
  }

  #set(tool: ToolName, wire: string): void {
    const { kind, name, namespace, search } = tool
    this.#wire.set(keyOf(tool), wire)
    this.#tools.set(wire, { kind, name, ...present({ namespace, search }) })
  }

  #flat({ name, namespace }: ToolName): string {
    return namespace === undefined || this.#rules.namespaces ? name : `${namespace}__${name}`
  }

  #legal(name: string): string {
    const max = this.#rules.maxNameLength
    return name.length <= max && LEGAL.test(name) ? name : hashed(name, name, max)
  }

  #free(tool: ToolName): string {
    const flat = this.#flat(tool)
    let wire = this.#legal(flat)
    for (let n = 0; this.#tools.has(wire); n++) {
      wire = hashed(flat, `${keyOf(tool)} ${n}`, this.#rules.maxNameLength)
    }
    return wire
  }
}

/**
 * Differs for tools that share a name but not the namespace or kind, and for a function and a tool search of the same
 * name.
 */
export function keyOf({ kind, name, namespace, search }: ToolName): string {
  return JSON.stringify([kind, namespace, name, search])
}

/** An id that the upstream accepts for a call and its result: always the same for the same `callId`. */
export function legalCallId(callId: string, { isCallId }: ToolRules): string {
  return isCallId(callId) ? callId : hashed(callId, callId, MAX_CALL_ID)
}

/** `text` with legal characters, cut, followed by a short hash of `seed`: at most `max` characters. */
function hashed(text: string, seed: string, max: number): string {
  const hash = createHash('sha256').update(seed).digest('hex').slice(0, 8)
  const legal = text.slice(0, max - hash.length - 1).replace(/[^a-zA-Z0-9_-]/g, '_')
  return `${legal}_${hash}`
}
