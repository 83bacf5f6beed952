/** The system prompt and the messages of a request as turns. */

import { listAt, oneOf, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { isRecord } from '../../../core/json/value.ts'
import type { Envelopes, SystemTurn, TextPart, Turn } from '../../../core/neutral/types.ts'
import { decodeAssistantBlock, decodeText, decodeToolResult, decodeUserBlock } from './decode-blocks.ts'
import { type Json, Keeper } from './keeper.ts'

const ROLES = ['user', 'assistant', 'system'] as const
/** A note of a client about itself. It changes with each build, so it would spoil every prompt cache elsewhere. */
const BILLING_NOTE = 'x-anthropic-billing-header:'

/** The `system` field as a turn, when it says anything. `top` keeps the rest of it. */
export function decodeSystem(system: unknown, top: Keeper): SystemTurn | undefined {
  if (system === undefined || system === null) return undefined
  if (system === '') {
    top.rest.system = ''
    return undefined
  }
  if (typeof system === 'string') {
    const shape = new Keeper()
    shape.shape.string = true
    const parts: TextPart[] = [{ type: 'text', text: system }]
    return { role: 'system', placement: 'top', parts, ...shape.ext('system') }
  }
  const blocks = listAt(system, 'system').map((block, i) => recordAt(block, `system[${i}]`))
  if (blocks.length === 0) top.rest.system = []
  const notes = blocks.flatMap((block, index) => (isBillingNote(block) ? [{ index, block }] : []))
  if (notes.length > 0) top.shape.notes = notes
  const parts = blocks.flatMap((block, i) =>
    isBillingNote(block) ? [] : [decodeSystemBlock(block, `system[${i}]`, 'system')],
  )
  return parts.length === 0 ? undefined : { role: 'system', placement: 'top', parts }
}

export function decodeTurns(messages: unknown, envelopes: Envelopes): Turn[] {
  return listAt(messages, 'messages').flatMap((item, i): Turn[] => {
    const path = `messages[${i}]`
    const message = recordAt(item, path)
    const role = oneOf(ROLES)(message.role, `${path}.role`)
    const keeper = new Keeper().take(message, ['role', 'content'])
    // Set for every message, so that two that stand side by side are not written as one.
    keeper.shape.message = true
    const { content } = message
    if (typeof content === 'string') {
      keeper.shape.string = true
      const parts: TextPart[] = [{ type: 'text', text: content }]
      if (role !== 'system') return [{ role, parts, ...keeper.ext('messages') }]
      return [{ role, placement: 'message', parts, ...keeper.ext('messages') }]
    }
    const blocks = listAt(content, `${path}.content`).map((block, j) => {
      const blockPath = `${path}.content[${j}]`
      const record = recordAt(block, blockPath)
      stringAt(record.type, `${blockPath}.type`)
      return { block: record, path: blockPath }
    })
    if (role === 'user') return userTurns(blocks, keeper)
    if (role === 'assistant') {
      const parts = blocks.map((at) => decodeAssistantBlock(at.block, at.path, envelopes))
      return [{ role, parts, ...keeper.ext('messages') }]
    }
    const parts = blocks.map((at) => decodeSystemBlock(at.block, at.path, 'messages.content'))
    return [{ role, placement: 'message', parts, ...keeper.ext('messages') }]
  })
}

/** Results of calls are a turn of their own; what else the message says follows it. */
function userTurns(blocks: { block: Json; path: string }[], keeper: Keeper): Turn[] {
  const results = blocks.filter(({ block }) => block.type === 'tool_result')
  const parts = blocks
    .filter(({ block }) => block.type !== 'tool_result')
    .map(({ block, path }) => decodeUserBlock(block, path))
  if (results.length === 0) return [{ role: 'user', parts, ...keeper.ext('messages') }]
  const order = blocks.map(({ block }) => block.type === 'tool_result')
  if (parts.length > 0) keeper.shape.isResult = order
  const turn: Turn = {
    role: 'tool',
    results: results.map(({ block, path }) => decodeToolResult(block, path)),
    ...keeper.ext('messages'),
  }
  if (parts.length === 0) return [turn]
  const joined = new Keeper()
  joined.shape.joined = true
  return [turn, { role: 'user', parts, ...joined.ext('messages') }]
}

function decodeSystemBlock(block: Json, path: string, at: string): SystemTurn['parts'][number] {
  const type = optional(block.type, `${path}.type`, stringAt) ?? 'text'
  if (type === 'text') return decodeText(block, path, at)
  const names = at === 'system' ? { names: { hosted: at } } : {}
  return { type: 'hosted', dialect: 'messages', name: type, item: block, ...names }
}

function isBillingNote(block: unknown): boolean {
  return isRecord(block) && typeof block.text === 'string' && block.text.startsWith(BILLING_NOTE)
}
