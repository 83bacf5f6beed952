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
import { writeParts } from './content.ts'
import type { Target } from './target.ts'

interface WrittenInput {
  items: Fields[]
  instructions?: string
}

export function writeInput(turns: readonly Turn[], target: Target): WrittenInput {
  const kinds = callKinds(turns)
  const instructions: string[] = []
  const items: Fields[] = []
  for (const turn of turns) {
    if (turn.role === 'system' && isInstruction(turn, target)) instructions.push(...textsOf(turn, target))
    else for (const item of writeTurn(turn, kinds, target)) items.push(item)
  }
  return { items, ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }) }
}

type CallKinds = ReadonlyMap<string, ToolCallPart['kind']>

function writeTurn(turn: Turn, kinds: CallKinds, target: Target): Fields[] {
  switch (turn.role) {
    case 'system':
      return message(systemRole(target), writeParts(turn.parts, 'client', target))
    case 'user':
      return message('user', writeParts(turn.parts, 'client', target))
    case 'assistant':
      return writeAssistant(turn, target)
    case 'tool':
      return turn.results.map((result) =>
        outputItem({ ...result, kind: result.kind ?? kinds.get(result.callId) ?? 'function' }, target),
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
function isInstruction({ placement, parts }: SystemTurn, target: Target): boolean {
  if (placement !== 'top') return false
  return target.features.cacheMarks !== true || !parts.some((part) => part.type === 'text' && part.cache)
}

function textsOf({ parts }: SystemTurn, target: Target): string[] {
  return parts.flatMap((part) => {
    if (part.type === 'hosted') target.lose('hosted', part)
    else if (part.cache !== undefined) target.lose('cacheMark', part)
    return part.type === 'text' ? [part.text] : []
  })
}

function systemRole({ features }: Target): string {
  return features.developerRole === true ? 'developer' : 'system'
}

function message(role: string, content: string | Fields[]): Fields[] {
  return content.length === 0 ? [] : [{ type: 'message', role, content }]
}

/** Only user messages can contain media, so media that the model made become one. */
function writeAssistant({ parts }: AssistantTurn, target: Target): Fields[] {
  const media: UserPart[] = []
  const items: Fields[] = []
  const lastOutput = parts.findLastIndex(isOutput)
  parts.forEach((part, i) => {
    if (part.type === 'image' || part.type === 'file' || part.type === 'audio') media.push(part)
    else if (part.type === 'reasoning') items.push(...writeReasoningPart(part, i < lastOutput, target))
    else items.push(...writeOutput(part, target))
  })
  return [...items, ...message('user', writeParts(media, 'client', target))]
}

/** True for a part that becomes output; an empty text has no item. */
function isOutput(part: AssistantPart): boolean {
  if (part.type === 'text') return part.text !== ''
  return part.type === 'refusal' || part.type === 'tool-call'
}

function writeOutput(part: AssistantPart, target: Target): Fields[] {
  switch (part.type) {
    case 'text':
      loseMarks(part, target)
      return message('assistant', part.text)
    case 'refusal':
      return message('assistant', [{ type: 'refusal', refusal: part.text }])
    case 'tool-call':
      if (part.carrier !== undefined) target.lose('callState', part)
      return [
        writeCall({ ...part, input: part.input === '' && part.kind === 'function' ? '{}' : part.input }),
      ]
    default:
      return writeParts(part.type === 'hosted' ? [part] : [], 'model', target)
  }
}

function loseMarks(part: TextPart, target: Target): void {
  if (part.annotations?.length) target.lose('annotations', part)
  if (part.logprobs?.length) target.lose('text.logprobs', part)
  if (part.cache !== undefined) target.lose('cacheMark', part)
}

/** Sends reasoning back only to the vendor that encrypted it and only with the output after it: alone it is refused. */
function writeReasoningPart(part: ReasoningPart, hasResult: boolean, target: Target): Fields[] {
  const thinks = target.features.reasoning !== 'None'
  if (part.carrier?.kind === 'encrypted' && hasResult && thinks) return [writeReasoningItem(part)]
  const hasText = part.texts.some((text) => text !== '')
  if (hasText) target.lose('reasoning', part)
  if (part.carrier !== undefined || part.lostCarrier === true) target.lose('reasoning.state', part)
  return []
}

function outputItem(result: ToolResult, target: Target): Fields {
  const { callId, kind, cache, names } = result
  const parts = markError(result, target)
  const last = parts.at(-1)
  const marked = cache === undefined || last === undefined || last.type === 'hosted'
  const withMark = marked ? parts : [...parts.slice(0, -1), { ...last, cache, ...(names && { names }) }]
  if (marked && cache !== undefined) target.lose('cacheMark', result)
  const list = writeParts(withMark, 'client', target)
  return { ...writeResult({ callId, ...(kind && { kind }), parts: [] }), output: plainOutput(list) }
}

/** A single text is written as a string. */
function plainOutput(list: Fields[]): string | Fields[] {
  const [only, ...others] = list
  if (only === undefined) return ''
  const isText = only.type === 'input_text' && only.prompt_cache_breakpoint === undefined
  return others.length === 0 && isText && typeof only.text === 'string' ? only.text : list
}

const ERROR_MARK = 'Error: '

/** Responses has no field for a failed tool, so the text reports it. */
function markError({ parts, isError }: ToolResult, target: Target): ToolResult['parts'] {
  if (isError !== true) return parts
  target.lose('results.isError')
  const [first, ...others] = parts
  if (first?.type !== 'text') return [{ type: 'text', text: ERROR_MARK.trim() }, ...parts]
  return first.text.startsWith(ERROR_MARK) ? parts : [{ ...first, text: ERROR_MARK + first.text }, ...others]
}

function writeCall({ kind, callId, name, namespace, search, input }: ToolCallPart): Fields {
  if (search)
    return { type: 'tool_search_call', call_id: callId, execution: 'client', arguments: tryParse(input) }
  const base = { call_id: callId, name, ...(namespace !== undefined && { namespace }) }
  return kind === 'custom'
    ? { type: 'custom_tool_call', ...base, input }
    : { type: 'function_call', ...base, arguments: input }
}

/** Without its output. */
function writeResult({ kind, callId, name }: ToolResult): Fields {
  return {
    type: kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output',
    call_id: callId,
    ...(name !== undefined && { name }),
  }
}

function writeReasoningItem({ texts, raw, carrier }: ReasoningPart): Fields {
  const own = carrier?.kind === 'encrypted' ? carrier : undefined
  const paragraphs = (type: string) => texts.map((text) => ({ type, text }))
  return {
    type: 'reasoning',
    ...(own?.id !== undefined && { id: own.id }),
    summary: raw === true ? [] : paragraphs('summary_text'),
    ...(raw === true && { content: paragraphs('reasoning_text') }),
    ...(own && { encrypted_content: own.value }),
  }
}
