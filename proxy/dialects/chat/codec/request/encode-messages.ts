/** Writes the turns of a conversation as messages for an upstream. */

import { type Fields, tryParse } from '../../../core/json/value.ts'
import type {
  AssistantTurn,
  ModelRequest,
  ReasoningPart,
  SystemTurn,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
  UserTurn,
} from '../../../core/neutral/types.ts'
import { entriesOf, PARAGRAPH } from '../reasoning.ts'
import { cacheMark } from './cache.ts'
import { contentOf, encodePart, lose, type Writing } from './encode-content.ts'

const SEE_BELOW = '[see the user message that follows]'

/**
 * Only user messages may have media. Media from a model or a tool waits in `later` until the results of tool calls are
 * written, because results must directly follow their calls.
 */
export function encodeMessages(request: ModelRequest, writing: Writing): Fields[] {
  const messages: Fields[] = []
  const turns = topFirst(request.turns)
  const lastUser = turns.findLastIndex((turn) => turn.role === 'user')
  let later: Fields[] = []
  const flush = () => {
    if (later.length > 0) messages.push({ role: 'user', content: later })
    later = []
  }
  turns.forEach((turn, i) => {
    switch (turn.role) {
      case 'system':
        flush()
        messages.push(encodeSystem(turn, writing))
        break
      case 'user': {
        const message = encodeUser(turn, later, writing)
        later = []
        if (message !== undefined) messages.push(message)
        break
      }
      case 'assistant': {
        flush()
        const message = encodeAssistant(turn, keepsReasoning(writing, i > lastUser), later, writing)
        if (message !== undefined) messages.push(message)
        break
      }
      case 'tool':
        for (const result of turn.results) messages.push(encodeResult(result, later, writing))
    }
  })
  flush()
  // Upstreams refuse a conversation without messages, which a conversation of empty ones becomes.
  if (messages.length === 0) messages.push({ role: 'user', content: '' })
  return messages
}

function topFirst(turns: Turn[]): Turn[] {
  const isTop = (turn: Turn) => turn.role === 'system' && turn.placement === 'top'
  return [...turns.filter(isTop), ...turns.filter((turn) => !isTop(turn))]
}

function keepsReasoning({ features }: Writing, isCurrent: boolean): boolean {
  if (features.reasoningHistory === 'All') return true
  return features.reasoningHistory === 'CurrentTurn' && isCurrent
}

function encodeSystem(turn: SystemTurn, writing: Writing): Fields {
  const parts: Fields[] = []
  for (const part of turn.parts) {
    if (part.type === 'text') parts.push(encodePart(part, writing))
    else lose(writing, 'hosted', part)
  }
  const { developerRole } = writing.features
  const joined = parts.some((part) => Object.keys(part).length > 2) ? parts : [joinTexts(parts)]
  return { role: developerRole ? 'developer' : 'system', content: contentOf(joined) ?? '' }
}

/** One string, the only form that the simplest upstreams accept. */
function joinTexts(parts: Fields[]): Fields {
  return { type: 'text', text: parts.map((part) => part.text).join(PARAGRAPH) }
}

/** The message, beginning with `first`; undefined when it would be empty. */
function encodeUser(turn: UserTurn, first: Fields[], writing: Writing): Fields | undefined {
  const parts = [...first]
  for (const part of turn.parts) {
    if (part.type === 'hosted') lose(writing, 'hosted', part)
    else parts.push(encodePart(part, writing))
  }
  if (parts.length === 0) return undefined
  return { role: 'user', content: contentOf(parts) }
}

function encodeAssistant(
  turn: AssistantTurn,
  keepReasoning: boolean,
  later: Fields[],
  writing: Writing,
): Fields | undefined {
  const content: Fields[] = []
  const calls: Fields[] = []
  const message: Fields = { role: 'assistant' }
  const thoughts = turn.parts.filter((part) => part.type === 'reasoning')
  encodeReasoning(message, thoughts, keepReasoning, writing)
  for (const part of turn.parts) {
    switch (part.type) {
      case 'reasoning':
        break
      case 'tool-call':
        calls.push(encodeCall(part, writing))
        break
      case 'hosted':
        lose(writing, 'hosted', part)
        break
      case 'refusal':
        content.push(encodePart(part, writing))
        break
      case 'text':
        loseMarks(part, writing)
        content.push(encodePart(part, writing))
        break
      default:
        lose(writing, part.type, part)
        later.push(encodePart(part, writing))
    }
  }
  if (calls.length > 0) message.tool_calls = calls
  const { role: _role, reasoning_content: _text, reasoning_details: _details, ...rest } = message
  if (content.length === 0 && Object.keys(rest).length === 0) {
    // Thoughts alone are not a message.
    if (Object.keys(message).length > 1) for (const part of thoughts) loseThought(part, writing)
    return undefined
  }
  const empty = calls.length > 0 && writing.features.nullContent ? null : ''
  return { ...message, content: contentOf(content) ?? empty }
}

function encodeReasoning(message: Fields, thoughts: ReasoningPart[], keep: boolean, writing: Writing): void {
  const details: Fields[] = []
  for (const part of thoughts) {
    const entries = part.carrier && keep ? entriesOf(part.carrier) : []
    details.push(...entries)
    if (part.lostCarrier || (part.carrier && entries.length === 0)) lose(writing, 'reasoning.state', part)
    if (!keep && part.texts.length > 0) lose(writing, 'reasoning', part)
  }
  if (!keep) return
  const text = thoughts.flatMap((part) => part.texts).join(PARAGRAPH)
  if (text !== '') message.reasoning_content = text
  if (details.length > 0) message.reasoning_details = details
}

function loseThought({ texts, carrier, ...part }: ReasoningPart, writing: Writing): void {
  if (texts.length > 0) lose(writing, 'reasoning', part)
  if (carrier !== undefined) lose(writing, 'reasoning.state', part)
}

/** Records the loss of fields that only answers have. */
function loseMarks(part: TextPart, writing: Writing): void {
  if (part.annotations?.length) lose(writing, 'annotations', part)
  if (part.logprobs?.length) lose(writing, 'text.logprobs', part)
}

function encodeCall(part: ToolCallPart, writing: Writing): Fields {
  const { kind, name, input, callId, carrier } = part
  const body = kind === 'function' ? { name, arguments: input } : { name, input }
  const call: Fields = { id: callId, type: kind, [kind]: body }
  const extra = carrier?.kind === 'extra_content' ? tryParse(carrier.value) : undefined
  if (extra !== undefined) call.extra_content = extra
  else if (carrier !== undefined) lose(writing, 'callState', part)
  return call
}

function encodeResult(result: ToolResult, later: Fields[], writing: Writing): Fields {
  const parts: Fields[] = []
  for (const part of result.parts) {
    if (part.type === 'hosted') {
      lose(writing, 'hosted', part)
    } else if (part.type === 'text') {
      parts.push(encodePart(part, writing))
    } else {
      lose(writing, 'results', result)
      parts.push({ type: 'text', text: SEE_BELOW })
      const label = `Belongs to the result of the tool call ${result.callId}:`
      later.push({ type: 'text', text: label }, encodePart(part, writing))
    }
  }
  if (result.isError) {
    lose(writing, 'results.isError')
    markError(parts)
  }
  const mark = cacheMark(result, writing)
  const last = parts.pop()
  if (last !== undefined) parts.push({ ...last, ...mark })
  return { role: 'tool', tool_call_id: result.callId, content: contentOf(parts) ?? '' }
}

/** Adds the word "Error" to the result of a failed call, unless its text begins with it. */
function markError(parts: Fields[]): void {
  const [first] = parts
  if (first === undefined) parts.push({ type: 'text', text: 'Error' })
  else if (!/^error/i.test(String(first.text))) first.text = `Error: ${first.text}`
}
