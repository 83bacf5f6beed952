/** The turns of a conversation that came in this dialect, as the items that they were. */

import { type Fields, isRecord } from '../../../core/json/value.ts'
import type {
  AssistantTurn,
  ReasoningPart,
  SystemTurn,
  ToolResult,
  Turn,
  UserTurn,
} from '../../../core/neutral/types.ts'
import { type ContentPart, type Speaker, writeParts } from './content.ts'
import type { MessageSpan } from './read-items.ts'
import { respell, shapeOf } from './spelling.ts'
import { SAME, type Target } from './target.ts'
import type { WrittenInput } from './write-items.ts'
import { writeCall, writeReasoningItem, writeResult } from './write-pieces.ts'

export function restoreInput(turns: readonly Turn[], target: Target): WrittenInput {
  const texts: string[] = []
  const items = turns.flatMap((turn) => {
    if (turn.role !== 'system' || turn.placement !== 'top') return restoreTurn(turn, target)
    for (const part of turn.parts) if (part.type === 'text') texts.push(part.text)
    return []
  })
  return { items, ...(texts.length > 0 && { instructions: texts.join('\n\n') }) }
}

function restoreTurn(turn: Turn, target: Target): Fields[] {
  switch (turn.role) {
    case 'system':
      return restoreSystem(turn)
    case 'user':
      return [restoreMessage(turn.role, turn)]
    case 'assistant':
      return restoreAssistant(turn, target)
    case 'tool':
      return turn.results.map(restoreResult)
  }
}

function restoreSystem(turn: SystemTurn): Fields[] {
  const item = shapeOf(turn.ext, 'item')
  if (isRecord(item)) return [item]
  return [restoreMessage(turn.developer === true ? 'developer' : 'system', turn)]
}

function restoreMessage(role: string, { parts, ext }: SystemTurn | UserTurn): Fields {
  const content = restoreContent(parts, 'client', shapeOf(ext, 'list'))
  return respell({ type: 'message', role, content }, ext)
}

/** A list of parts unless the client wrote a string. */
function restoreContent(parts: readonly ContentPart[], speaker: Speaker, list: unknown): string | Fields[] {
  if (list !== false) return writeParts(parts, speaker, SAME)
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function restoreAssistant(turn: AssistantTurn, target: Target): Fields[] {
  const spans = spansOf(turn)
  const items: Fields[] = []
  const message = (from: number, count: number, span?: MessageSpan) => {
    const parts = turn.parts.slice(from, from + count).filter(isContent)
    const content = restoreContent(parts, 'model', span?.list)
    items.push(respell({ type: 'message', role: 'assistant', content }, span?.ext))
  }
  let next = 0
  for (let at = 0; at < turn.parts.length || next < spans.length; ) {
    const span = spans[next]
    if (span?.from === at) {
      message(at, span.count, span)
      at += span.count
      next++
      continue
    }
    const part = turn.parts[at]
    if (part === undefined) break
    if (part.type === 'tool-call') items.push(respell(writeCall(part), part.ext))
    else if (part.type === 'reasoning') items.push(...restoreThought(part, target))
    else if (part.type === 'hosted') items.push(part.item)
    else message(at, 1)
    at++
  }
  return items
}

function spansOf({ ext }: AssistantTurn): MessageSpan[] {
  const spans = shapeOf(ext, 'messages')
  return Array.isArray(spans) ? spans : []
}

function isContent(part: AssistantTurn['parts'][number]): part is ContentPart {
  return part.type !== 'tool-call' && part.type !== 'reasoning'
}

/** What the client sent encrypted goes back to the upstream that made it; without it the item would mean nothing. */
function restoreThought(part: ReasoningPart, target: Target): Fields[] {
  const wasEncrypted = shapeOf(part.ext, 'encrypted') !== undefined
  const isDropped = wasEncrypted && part.carrier?.kind !== 'encrypted'
  if (isDropped || part.lostCarrier === true) {
    target.lose('reasoning.state', part)
    return []
  }
  return [respell(writeReasoningItem(part), part.ext)]
}

function restoreResult(result: ToolResult): Fields {
  const { parts, ext } = result
  const item = shapeOf(ext, 'item')
  if (isRecord(item)) return item
  const isPlain = ext === undefined && parts.length < 2 && parts.every((part) => part.type === 'text')
  const output = restoreContent(parts, 'client', isPlain ? false : shapeOf(ext, 'list'))
  return respell({ ...writeResult(result), output }, ext)
}
