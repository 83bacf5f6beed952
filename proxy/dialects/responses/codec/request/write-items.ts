/** The turns of a conversation from another dialect, as the items of an input. */

import type { Fields } from '../../../core/json/value.ts'
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
import { writeCall, writeReasoningItem, writeResult } from './write-pieces.ts'

export interface WrittenInput {
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

/** A text of many cache marks cannot be `instructions`, which has no parts. */
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

/** Media that a model made can only come back from the user. */
function writeAssistant({ parts }: AssistantTurn, target: Target): Fields[] {
  const media: UserPart[] = []
  const items: Fields[] = []
  const lastSaid = parts.findLastIndex(isSaid)
  parts.forEach((part, i) => {
    if (part.type === 'image' || part.type === 'file' || part.type === 'audio') media.push(part)
    else if (part.type === 'reasoning') items.push(...writeThought(part, i < lastSaid, target))
    else items.push(...writeSaid(part, target))
  })
  return [...items, ...message('user', writeParts(media, 'client', target))]
}

/** Text of no characters leaves no item. */
function isSaid(part: AssistantPart): boolean {
  if (part.type === 'text') return part.text !== ''
  return part.type === 'refusal' || part.type === 'tool-call'
}

function writeSaid(part: AssistantPart, target: Target): Fields[] {
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

/** Thoughts go back to the vendor that encrypted them, and only together with what they led to. */
function writeThought(part: ReasoningPart, hasResult: boolean, target: Target): Fields[] {
  const thinks = target.features.reasoning !== 'None'
  if (part.carrier?.kind === 'encrypted' && hasResult && thinks) return [writeReasoningItem(part)]
  const said = part.texts.some((text) => text !== '')
  if (said) target.lose('reasoning', part)
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

/** One text without more is written as a string. */
function plainOutput(list: Fields[]): string | Fields[] {
  const [only, ...others] = list
  if (only === undefined) return ''
  const isText = only.type === 'input_text' && only.prompt_cache_breakpoint === undefined
  return others.length === 0 && isText && typeof only.text === 'string' ? only.text : list
}

const ERROR_MARK = 'Error: '

/** Only words can say that a tool failed. */
function markError({ parts, isError }: ToolResult, target: Target): ToolResult['parts'] {
  if (isError !== true) return parts
  target.lose('results.isError')
  const [first, ...others] = parts
  if (first?.type !== 'text') return [{ type: 'text', text: ERROR_MARK.trim() }, ...parts]
  return first.text.startsWith(ERROR_MARK) ? parts : [{ ...first, text: ERROR_MARK + first.text }, ...others]
}
