/** Reads the items of an input as the turns of a conversation. */

import { refusal } from '../../../core/json/fields.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type {
  AssistantTurn,
  Envelopes,
  Ext,
  HostedPart,
  ReasoningPart,
  ResultPart,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResult,
  ToolTurn,
  Turn,
  UserPart,
} from '../../../core/neutral/types.ts'
import { readCompaction } from './compactions.ts'
import { type ContentPart, readContent } from './content.ts'
import * as schema from './schema.ts'
import { isClientSearch, readSearch, readSearchOutput } from './searches.ts'
import { readTools } from './tools.ts'

const AT = 'input'
const HERE = { dialect: 'responses', at: AT } as const
/** Fields that mean something only to the vendor that wrote the item. */
const IDENTITY = ['id', 'status']

export interface DecodedInput {
  turns: Turn[]
  /** Tools that items contain. */
  tools: Tool[]
}

/** Throws GatewayError naming the field of a malformed item. */
export function readInput(items: readonly unknown[], envelopes: Envelopes): DecodedInput {
  const reader = new InputReader(envelopes)
  items.forEach((item, i) => {
    reader.read(item, i, i === items.length - 1)
  })
  return reader
}

class InputReader implements DecodedInput {
  readonly turns: Turn[] = []
  readonly tools: Tool[] = []
  readonly #envelopes: Envelopes

  constructor(envelopes: Envelopes) {
    this.#envelopes = envelopes
  }

  read(item: unknown, index: number, isLast: boolean): void {
    const path = `input[${index}]`
    if (!isRecord(item)) throw refusal(path, 'must be an object')
    switch (typeOf(item, path)) {
      case 'message':
        this.#message(item, path)
        break
      case 'function_call':
      case 'custom_tool_call':
        this.#assistant().parts.push(readCall(item, path))
        break
      case 'tool_search_call':
        this.#assistant().parts.push(isClientSearch(item) ? readSearch(item) : hosted(item, path))
        break
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#results().push(readResult(item, path))
        break
      case 'reasoning':
        this.#assistant().parts.push(readReasoningItem(item, path, this.#envelopes))
        break
      case 'additional_tools':
        this.#addTools(item, path)
        this.turns.push({ role: 'system', placement: 'message', parts: [] })
        break
      case 'tool_search_output':
        this.#searchOutput(item, path)
        break
      case 'compaction':
        this.#compaction(item, path)
        break
      case 'compaction_trigger':
        if (!isLast)
          throw refusal(path, 'must be the last item: it requests a compaction of all items before it')
        break
      default:
        this.#assistant().parts.push(hosted(item, path))
    }
  }

  #message(item: Fields, path: string): void {
    const { role } = schema.check(schema.message, item, path)
    const place = { path: `${path}.content`, at: `${AT}.content` }
    const kept = keep(HERE, item, ['type', 'role', 'content', ...IDENTITY])
    switch (role) {
      case 'user':
        this.turns.push({
          role,
          parts: readContent(item.content, place, isUserPart),
          ...kept,
        })
        break
      case 'assistant': {
        const parts = readContent(item.content, place, isAny)
        const turn = this.#assistant()
        if (kept.ext !== undefined) turn.ext = joinExt(turn.ext, kept.ext)
        for (const part of parts) turn.parts.push(part)
        break
      }
      default:
        this.turns.push({
          role: 'system',
          placement: 'message',
          parts: readContent(item.content, place, isText),
          ...kept,
        })
    }
  }

  #searchOutput(item: Fields, path: string): void {
    const tools = this.#addTools(item, path)
    if (isClientSearch(item)) this.#results().push(readSearchOutput(item, tools))
    else this.#assistant().parts.push(hosted(item, path))
  }

  #compaction(item: Fields, path: string): void {
    const text = readCompaction(item, path, this.#envelopes)
    if (text === undefined) this.#assistant().parts.push(hosted(item, path))
    else this.turns.push({ role: 'user', parts: [{ type: 'text', text }] })
  }

  /** The current turn of the model, or a new one. */
  #assistant(): AssistantTurn {
    const last = this.turns.at(-1)
    if (last?.role === 'assistant') return last
    const turn: AssistantTurn = { role: 'assistant', parts: [] }
    this.turns.push(turn)
    return turn
  }

  #results(): ToolResult[] {
    const last = this.turns.at(-1)
    if (last?.role === 'tool') return last.results
    const turn: ToolTurn = { role: 'tool', results: [] }
    this.turns.push(turn)
    return turn.results
  }

  /** Adds the tools of an item. */
  #addTools(item: Fields, path: string): Tool[] {
    const tools = readTools(item.tools, `${path}.tools`)
    for (const tool of tools) this.tools.push(tool)
    return tools
  }
}

/** Without a type, a role means a message, and an id alone refers to a stored item. */
function typeOf(item: Fields, path: string): string {
  if (typeof item.type === 'string') return item.type
  const isAbsent = item.type === undefined || item.type === null
  if (isAbsent && item.role !== undefined) return 'message'
  if (isAbsent && typeof item.id === 'string') return 'item_reference'
  throw refusal(`${path}.type`, 'must be a string')
}

/** Joins the fields of several messages in one turn. */
function joinExt(known: Ext | undefined, more: Ext): Ext {
  return known === undefined ? more : { ...known, fields: { ...known.fields, ...more.fields } }
}

function hosted(item: Fields, path: string): HostedPart {
  const name = typeof item.type === 'string' ? item.type : 'item_reference'
  return { type: 'hosted', dialect: 'responses', name, item, path }
}

function readCall(item: Fields, path: string): ToolCallPart {
  const call: ToolCallPart =
    item.type === 'function_call'
      ? named('function', schema.check(schema.functionCall, item, path), String(item.arguments))
      : named('custom', schema.check(schema.customCall, item, path), String(item.input))
  const input = call.kind === 'custom' ? 'input' : 'arguments'
  return { ...call, ...keep(HERE, item, ['type', 'call_id', 'name', 'namespace', input, ...IDENTITY]) }
}

function named(
  kind: 'function' | 'custom',
  item: { call_id: string; name: string; namespace?: string | null | undefined },
  input: string,
): ToolCallPart {
  const { call_id: callId, name, namespace } = item
  return { type: 'tool-call', callId, name, ...(namespace && { namespace }), kind, input }
}

function readResult(item: Fields, path: string): ToolResult {
  const { call_id: callId } = schema.check(schema.callOutput, item, path)
  const place = { path: `${path}.output`, at: `${AT}.output` }
  const result: ToolResult = {
    callId,
    kind: item.type === 'custom_tool_call_output' ? 'custom' : 'function',
    parts: readContent(item.output, place, isResultPart),
  }
  return { ...result, ...keep(HERE, item, ['type', 'call_id', 'name', 'namespace', 'output', ...IDENTITY]) }
}

function readReasoningItem(item: Fields, path: string, envelopes: Envelopes): ReasoningPart {
  const {
    id,
    summary,
    content,
    encrypted_content: encrypted,
  } = schema.check(schema.reasoningItem, item, path)
  const summaries = (summary ?? []).map(({ text }) => text)
  const thoughts = (content ?? []).map(({ text }) => text)
  const raw = summaries.length === 0 && thoughts.length > 0
  const part: ReasoningPart = { type: 'reasoning', texts: raw ? thoughts : summaries }
  if (part.texts.length > 0) part.raw = raw
  if (raw) part.names = { reasoning: `${AT}.content` }
  const opened = encrypted ? envelopes.open(encrypted) : undefined
  if (opened === 'foreign' && encrypted) {
    part.carrier = { dialect: 'responses', kind: 'encrypted', value: encrypted, ...(id && { id }) }
  } else if (typeof opened === 'string' || opened?.kind === 'compaction') part.lostCarrier = true
  else if (opened !== undefined) part.carrier = opened

  const typed = ['type', 'summary', 'encrypted_content', ...(raw ? ['content'] : []), ...IDENTITY]
  return { ...part, ...keep(HERE, item, typed) }
}

function isUserPart(part: ContentPart): part is UserPart {
  return part.type !== 'refusal'
}

function isResultPart(part: ContentPart): part is ResultPart {
  return part.type !== 'refusal' && part.type !== 'audio'
}

function isText(part: ContentPart): part is TextPart {
  return part.type === 'text'
}

function isAny(_part: ContentPart): _part is ContentPart {
  return true
}
