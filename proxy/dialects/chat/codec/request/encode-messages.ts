/** Writes the turns of a conversation as messages for an upstream. */

import type {
  AssistantTurn,
  ModelRequest,
  ReasoningPart,
  SystemTurn,
  TextPart,
  ToolResult,
  Turn,
  UserTurn,
} from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import { cacheMark } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'
import { writeCall } from '../answer/call-body.ts'
import { entriesOf, PARAGRAPH } from '../reasoning.ts'
import { contentOf, encodePart, encodeText } from './encode-content.ts'

const SEE_BELOW = '[see the user message that follows]'

/**
 * Only user messages may have media. Media from a model or a tool waits in `later` until the results of tool calls are
 * written, because results must directly follow their calls.
 */
export function encodeMessages(request: ModelRequest, writer: Writer): wire.Message[] {
  const messages: wire.Message[] = []
  const turns = topFirst(request.turns)
  const lastUser = turns.findLastIndex((turn) => turn.role === 'user')
  let later: wire.Part[] = []
  const flush = () => {
    if (later.length > 0) messages.push({ role: 'user', content: later })
    later = []
  }
  turns.forEach((turn, i) => {
    switch (turn.role) {
      case 'system':
        flush()
        messages.push(encodeSystem(turn, writer))
        break
      case 'user': {
        const message = encodeUser(turn, later, writer)
        later = []
        if (message !== undefined) messages.push(message)
        break
      }
      case 'assistant': {
        flush()
        const message = encodeAssistant(turn, keepsReasoning(writer, i > lastUser), later, writer)
        if (message !== undefined) messages.push(message)
        break
      }
      case 'tool':
        for (const result of turn.results) messages.push(encodeResult(result, later, writer))
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

function keepsReasoning({ features }: Writer, isCurrent: boolean): boolean {
  if (features.reasoningHistory === 'All') return true
  return features.reasoningHistory === 'CurrentTurn' && isCurrent
}

function encodeSystem(turn: SystemTurn, writer: Writer): wire.SystemMessage {
  const parts: wire.TextPart[] = []
  for (const part of turn.parts) {
    if (part.type === 'text') parts.push(encodeText(part, writer))
    else writer.lose('hosted', part)
  }
  const { developerRole } = writer.features
  const isMarked = parts.some((part) => part.prompt_cache_breakpoint !== undefined)
  // One string is the only form that the simplest upstreams accept.
  const content = isMarked ? parts : parts.map((part) => part.text).join(PARAGRAPH)
  return { role: developerRole ? 'developer' : 'system', content }
}

/** The message, beginning with `first`; undefined when it would be empty. */
function encodeUser(turn: UserTurn, first: wire.Part[], writer: Writer): wire.UserMessage | undefined {
  const parts = [...first]
  for (const part of turn.parts) {
    if (part.type === 'hosted') writer.lose('hosted', part)
    else parts.push(encodePart(part, writer))
  }
  const content = contentOf(parts)
  return content === undefined ? undefined : { role: 'user', content }
}

function encodeAssistant(
  turn: AssistantTurn,
  keepReasoning: boolean,
  later: wire.Part[],
  writer: Writer,
): wire.AssistantMessage | undefined {
  const content: (wire.TextPart | wire.RefusalPart)[] = []
  const calls: wire.ToolCall[] = []
  const message: wire.AssistantMessage = { role: 'assistant' }
  const thoughts = turn.parts.filter((part) => part.type === 'reasoning')
  encodeReasoning(message, thoughts, keepReasoning, writer)
  for (const part of turn.parts) {
    switch (part.type) {
      case 'reasoning':
        break
      case 'tool-call': {
        const call = writeCall(part)
        if (part.carrier && call.extra_content === undefined) writer.lose('callState', part)
        calls.push(call)
        break
      }
      case 'hosted':
        writer.lose('hosted', part)
        break
      case 'refusal':
        content.push({ type: 'refusal', refusal: part.text })
        break
      case 'text':
        loseMarks(part, writer)
        content.push(encodeText(part, writer))
        break
      default:
        writer.lose(part.type, part)
        later.push(encodePart(part, writer))
    }
  }
  if (content.length === 0 && calls.length === 0) {
    // Thoughts alone are not a message.
    if (Object.keys(message).length > 1) for (const part of thoughts) loseThought(part, writer)
    return undefined
  }
  if (calls.length > 0) message.tool_calls = calls
  const empty = calls.length > 0 && writer.features.nullContent ? null : ''
  message.content = contentOf(content) ?? empty
  return message
}

function encodeReasoning(
  message: wire.AssistantMessage,
  thoughts: ReasoningPart[],
  keep: boolean,
  writer: Writer,
): void {
  const details: wire.AssistantMessage['reasoning_details'] = []
  for (const part of thoughts) {
    const entries = part.carrier && keep ? entriesOf(part.carrier) : []
    details.push(...entries)
    if (part.lostCarrier || (part.carrier && entries.length === 0)) writer.lose('reasoning.state', part)
    if (!keep && part.texts.length > 0) writer.lose('reasoning', part)
  }
  if (!keep) return
  const text = thoughts.flatMap((part) => part.texts).join(PARAGRAPH)
  if (text !== '') message.reasoning_content = text
  if (details.length > 0) message.reasoning_details = details
}

function loseThought({ texts, carrier, ...part }: ReasoningPart, writer: Writer): void {
  if (texts.length > 0) writer.lose('reasoning', part)
  if (carrier !== undefined) writer.lose('reasoning.state', part)
}

/** Records the loss of fields that only answers have. */
function loseMarks(part: TextPart, writer: Writer): void {
  if (part.annotations?.length) writer.lose('annotations', part)
  if (part.logprobs?.length) writer.lose('text.logprobs', part)
}

function encodeResult(result: ToolResult, later: wire.Part[], writer: Writer): wire.ToolMessage {
  const parts: wire.TextPart[] = []
  for (const part of result.parts) {
    if (part.type === 'hosted') {
      writer.lose('hosted', part)
    } else if (part.type === 'text') {
      parts.push(encodeText(part, writer))
    } else {
      writer.lose('results', result)
      parts.push({ type: 'text', text: SEE_BELOW })
      const label = `Belongs to the result of the tool call ${result.callId}:`
      later.push({ type: 'text', text: label }, encodePart(part, writer))
    }
  }
  if (result.isError) {
    writer.lose('results.isError')
    markError(parts)
  }
  const mark = cacheMark(result, writer)
  const last = parts.at(-1)
  if (last !== undefined && mark !== undefined) last.prompt_cache_breakpoint = mark
  return { role: 'tool', tool_call_id: result.callId, content: contentOf(parts) ?? '' }
}

/** Adds the word "Error" to the result of a failed call, unless its text begins with it. */
function markError(parts: wire.TextPart[]): void {
  const [first] = parts
  if (first === undefined) parts.push({ type: 'text', text: 'Error' })
  else if (!/^error/i.test(first.text)) first.text = `Error: ${first.text}`
}
