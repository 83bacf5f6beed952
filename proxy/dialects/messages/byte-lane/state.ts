/** Vendor state in a request to an upstream of this dialect: signatures of thinking, and redacted thinking. */

import type { StateAccess } from '../../core/byte-lane.ts'
import { bodyOf } from '../../core/json/body-value.ts'
import type { Change, Path } from '../../core/json/edit.ts'
import { type Fields, isRecord, listOf } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'

const AT = 'messages.content'
/** Blocks that carry state: the field, and its kind of carrier. */
const CARRYING: Record<string, { field: string; kind: string }> = {
  thinking: { field: 'signature', kind: 'signature' },
  redacted_thinking: { field: 'data', kind: 'redacted' },
}

/** Removes a message with its last block, because the API refuses messages without content. */
export function openState(request: ParsedRequest, access: StateAccess): Change[] {
  return listOf(bodyOf(request).messages).flatMap((message, i): Change[] => {
    if (!isRecord(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return []
    const { content } = message
    const changes = content.flatMap((block, j) => openBlock(block, ['messages', i, 'content', j], access))
    const removed = changes.filter(({ to }) => to === undefined)
    return removed.length > 0 && removed.length === content.length ? [{ path: ['messages', i] }] : changes
  })
}

/** Removes the whole block if this vendor did not sign it, because it would refuse the thinking. */
function openBlock(
  block: unknown,
  path: Path,
  { envelopes, withoutCarriers, losses }: StateAccess,
): Change[] {
  if (!isRecord(block) || typeof block.type !== 'string' || !Object.hasOwn(CARRYING, block.type)) return []
  const carrying = CARRYING[block.type]
  const state = carrying && block[carrying.field]
  if (typeof state !== 'string' || state === '') return []
  const opened = envelopes.open(state)
  if (!withoutCarriers) {
    if (opened === 'foreign') return []
    if (opened !== 'broken' && opened.dialect === 'messages' && opened.kind === carrying?.kind)
      return [{ path: [...path, carrying.field], to: JSON.stringify(opened.value) }]
  }
  for (const name of lostOf(block)) losses.add(name)
  return [{ path }]
}

function lostOf({ type, thinking }: Fields): string[] {
  if (type === 'redacted_thinking') return [`${AT}.data`]
  return [...(thinking ? [`${AT}.thinking`] : []), `${AT}.signature`]
}
