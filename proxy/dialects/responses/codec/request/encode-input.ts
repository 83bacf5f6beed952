/** Writes the turns of a conversation from another dialect as the items of an input. */

import { type Fields, tryParse } from '../../../core/json/value.ts'
import type {
  AssistantPart,
  AssistantTurn,
  ReasoningPart,
  SystemTurn,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
  UserPart,
} from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import type * as wire from '../../wire.ts'
import { writeHosted, writeParts } from './content.ts'

/** Fields: an item of a hosted tool. */
type Item = wire.InputItem | Fields

interface WrittenInput {
  items: Item[]
  instructions?: string
}

export function writeInput(turns: readonly Turn[], writer: Writer): WrittenInput {
  const kinds = callKinds(turns)
  const instructions: string[] = []
  const items: Item[] = []
  for (const turn of turns) {
    if (turn.role === 'system' && isInstruction(turn, writer)) instructions.push(...textsOf(turn, writer))
    else for (const item of writeTurn(turn, kinds, writer)) items.push(item)
  }
  return { items, ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }) }
}

type CallKinds = ReadonlyMap<string, ToolCallPart['kind']>

function writeTurn(turn: Turn, kinds: CallKinds, writer: Writer): Item[] {
  switch (turn.role) {
    case 'system':
      return message(systemRole(writer), writeParts(turn.parts, writer))
    case 'user':
      return message('user', writeParts(turn.parts, writer))
    case 'assistant':
      return writeAssistant(turn, writer)
    case 'tool':
      return turn.results.map((result) =>
        writeResult(result, result.kind ?? kinds.get(result.callId) ?? 'function', writer),
      )
  }
}

function callKinds(turns: readonly Turn[]): CallKinds {
  const kinds = new Map<string, ToolCallPart['kind']>()
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue
    for (const part of turn.parts) if (part.type === 'tool-call') kinds.set(part.callId, part.kind)
  }
  return kinds
}

/** False for a text with cache marks, because `instructions` has no parts to carry them. */
function isInstruction({ placement, parts }: SystemTurn, writer: Writer): boolean {
  if (placement !== 'top') return false
  return writer.features.cacheMarks !== true || !parts.some((part) => part.type === 'text' && part.cache)
}

function textsOf({ parts }: SystemTurn, writer: Writer): string[] {
  return parts.flatMap((part) => {
    if (part.type === 'hosted') writer.lose('hosted', part)
    else if (part.cache !== undefined) writer.lose('cacheMark', part)
    return part.type === 'text' ? [part.text] : []
  })
}

function systemRole({ features }: Writer): 'developer' | 'system' {
  return features.developerRole === true ? 'developer' : 'system'
}

function message(role: wire.Message['role'], content: wire.Message['content']): wire.Message[] {
  return content.length === 0 ? [] : [{ type: 'message', role, content }]
}

/** Only user messages can contain media, so media that the model made become one. */
function writeAssistant({ parts }: AssistantTurn, writer: Writer): Item[] {
  const media: UserPart[] = []
  const items: Item[] = []
  const lastOutput = parts.findLastIndex(isOutput)
  parts.forEach((part, i) => {
    if (part.type === 'image' || part.type === 'file' || part.type === 'audio') media.push(part)
    else if (part.type === 'reasoning') items.push(...writeReasoningPart(part, i < lastOutput, writer))
    else items.push(...writeOther(part, writer))
  })
  return [...items, ...message('user', writeParts(media, writer))]
}

/** True for a part that becomes output; an empty text has no item. */
function isOutput(part: AssistantPart): boolean {
  if (part.type === 'text') return part.text !== ''
  return part.type === 'refusal' || part.type === 'tool-call'
}

type OtherPart = Exclude<AssistantPart, { type: 'image' | 'file' | 'audio' | 'reasoning' }>

function writeOther(part: OtherPart, writer: Writer): Item[] {
  switch (part.type) {
    case 'text':
      loseMarks(part, writer)
      return message('assistant', part.text)
    case 'refusal':
      return message('assistant', [{ type: 'refusal', refusal: part.text } satisfies wire.Refusal])
    case 'tool-call':
      if (part.carrier !== undefined) writer.lose('callState', part)
      return [writeCall(part)]
    case 'hosted':
      return writeHosted(part, writer)
  }
}

function loseMarks(part: TextPart, writer: Writer): void {
  if (part.annotations?.length) writer.lose('annotations', part)
  if (part.logprobs?.length) writer.lose('text.logprobs', part)
  if (part.cache !== undefined) writer.lose('cacheMark', part)
}

/** Sends reasoning back only to the vendor that encrypted it and only with the output after it: alone it is refused. */
function writeReasoningPart(part: ReasoningPart, hasResult: boolean, writer: Writer): Item[] {
  const thinks = writer.features.reasoning !== 'None'
  if (part.carrier?.kind === 'encrypted' && hasResult && thinks) return [writeReasoningItem(part)]
  const hasText = part.texts.some((text) => text !== '')
  if (hasText) writer.lose('reasoning', part)
  if (part.carrier !== undefined || part.lostCarrier === true) writer.lose('reasoning.state', part)
  return []
}

function writeResult(
  result: ToolResult,
  kind: ToolCallPart['kind'],
  writer: Writer,
): wire.FunctionCallOutput | wire.CustomCallOutput {
  const { callId, cache, names } = result
  const parts = markError(result, writer)
  const last = parts.at(-1)
  const marked = cache === undefined || last === undefined || last.type === 'hosted'
  const withMark = marked ? parts : [...parts.slice(0, -1), { ...last, cache, ...(names && { names }) }]
  if (marked && cache !== undefined) writer.lose('cacheMark', result)
  const output = plainOutput(writeParts(withMark, writer))
  return kind === 'custom'
    ? { type: 'custom_tool_call_output', call_id: callId, output }
    : { type: 'function_call_output', call_id: callId, output }
}

/** A single text is written as a string. */
function plainOutput(list: (wire.InputPart | Fields)[]): wire.CallOutput {
  const [only, ...others] = list
  if (only === undefined) return ''
  const isText = only.type === 'input_text' && only.prompt_cache_breakpoint === undefined
  return others.length === 0 && isText && typeof only.text === 'string' ? only.text : list
}

const ERROR_MARK = 'Error: '

/** Responses has no field for a failed tool, so the text reports it. */
function markError({ parts, isError }: ToolResult, writer: Writer): ToolResult['parts'] {
  if (isError !== true) return parts
  writer.lose('results.isError')
  const [first, ...others] = parts
  if (first?.type !== 'text') return [{ type: 'text', text: ERROR_MARK.trim() }, ...parts]
  return first.text.startsWith(ERROR_MARK) ? parts : [{ ...first, text: ERROR_MARK + first.text }, ...others]
}

function writeCall(call: ToolCallPart): wire.FunctionCall | wire.CustomCall | wire.SearchCall {
  const { kind, callId, name, namespace, search, input } = call
  if (kind === 'custom') return { type: 'custom_tool_call', call_id: callId, name, namespace, input }
  const text = input === '' ? '{}' : input
  return search
    ? { type: 'tool_search_call', call_id: callId, execution: 'client', arguments: tryParse(text) }
    : { type: 'function_call', call_id: callId, name, namespace, arguments: text }
}

function writeReasoningItem({ texts, raw, carrier }: ReasoningPart): wire.Reasoning {
  return {
    type: 'reasoning',
    id: carrier?.id,
    summary: raw === true ? [] : texts.map((text) => ({ type: 'summary_text', text })),
    content: raw === true ? texts.map((text) => ({ type: 'reasoning_text', text })) : undefined,
    encrypted_content: carrier?.value,
  }
}
