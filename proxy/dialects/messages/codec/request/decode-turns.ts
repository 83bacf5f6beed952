/** Decodes the system prompt and the messages of a request as turns. */

import { listAt, oneOf, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import type { Envelopes, SystemTurn, TextPart, Turn } from '../../../core/neutral/types.ts'
import { decodeAssistantBlock, decodeText, decodeToolResult, decodeUserBlock } from './decode-blocks.ts'

const ROLES = ['user', 'assistant', 'system'] as const
/** A client's note about itself. It changes with each build, so it would defeat other vendors' prompt caches. */
const BILLING_NOTE = 'x-anthropic-billing-header:'

/** The `system` field as a turn; undefined when it is empty. */
export function decodeSystem(system: unknown): SystemTurn | undefined {
  if (system === undefined || system === null || system === '') return undefined
  if (typeof system === 'string')
    return { role: 'system', placement: 'top', parts: [{ type: 'text', text: system }] }
  const blocks = listAt(system, 'system').map((block, i) => recordAt(block, `system[${i}]`))
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
    const ext = keep({ dialect: 'messages', at: 'messages' }, message, ['role', 'content'])
    const { content } = message
    if (typeof content === 'string') {
      const parts: TextPart[] = [{ type: 'text', text: content }]
      if (role !== 'system') return [{ role, parts, ...ext }]
      return [{ role, placement: 'message', parts, ...ext }]
    }
    const blocks = listAt(content, `${path}.content`).map((block, j) => {
      const blockPath = `${path}.content[${j}]`
      const record = recordAt(block, blockPath)
      stringAt(record.type, `${blockPath}.type`)
      return { block: record, path: blockPath }
    })
    if (role === 'user') return userTurns(blocks, ext)
    if (role === 'assistant') {
      const parts = blocks.map((at) => decodeAssistantBlock(at.block, at.path, envelopes))
      return [{ role, parts, ...ext }]
    }
    const parts = blocks.map((at) => decodeSystemBlock(at.block, at.path, 'messages.content'))
    return [{ role, placement: 'message', parts, ...ext }]
  })
}

/** Puts results of calls into a turn of their own, followed by the rest of the message. */
function userTurns(blocks: { block: Fields; path: string }[], ext: Pick<Turn, 'ext'>): Turn[] {
  const results = blocks.filter(({ block }) => block.type === 'tool_result')
  const parts = blocks
    .filter(({ block }) => block.type !== 'tool_result')
    .map(({ block, path }) => decodeUserBlock(block, path))
  if (results.length === 0) return [{ role: 'user', parts, ...ext }]
  const turn: Turn = {
    role: 'tool',
    results: results.map(({ block, path }) => decodeToolResult(block, path)),
    ...ext,
  }
  return parts.length === 0 ? [turn] : [turn, { role: 'user', parts }]
}

function decodeSystemBlock(block: Fields, path: string, at: string): SystemTurn['parts'][number] {
  const type = optional(block.type, `${path}.type`, stringAt) ?? 'text'
  if (type === 'text') return decodeText(block, path, at)
  const names = at === 'system' ? { names: { hosted: at } } : {}
  return { type: 'hosted', dialect: 'messages', name: type, item: block, ...names }
}

function isBillingNote(block: unknown): boolean {
  return isRecord(block) && typeof block.text === 'string' && block.text.startsWith(BILLING_NOTE)
}
