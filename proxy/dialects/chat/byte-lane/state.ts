/** Vendor state in a request to an upstream of this dialect: in entries of reasoning and in calls. */

import type { StateAccess } from '../../core/byte-lane.ts'
import { bodyOf } from '../../core/json/body-value.ts'
import type { Change } from '../../core/json/edit.ts'
import { type Fields, isRecord, listOf } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { isOpaque } from '../codec/reasoning.ts'

const LISTS = ['reasoning_details', 'thinking_blocks']

/** Removes sealed state: the gateway seals only state of other dialects' upstreams for clients of this one. */
export function openState(
  request: ParsedRequest,
  { envelopes, withoutCarriers, losses }: StateAccess,
): Change[] {
  const isSealed = (state: unknown) => typeof state === 'string' && envelopes.open(state) !== 'foreign'
  const isGone = (entry: Fields) =>
    [entry.signature, entry.data].some(isSealed) || (withoutCarriers && isOpaque(entry))
  return listOf(bodyOf(request).messages).flatMap((message, i): Change[] => {
    if (!isRecord(message) || message.role !== 'assistant') return []
    const entries = LISTS.flatMap((list) =>
      recordsOf(message[list]).flatMap(([j, entry]): Change[] => {
        if (!isGone(entry)) return []
        losses.add(`messages.${list}`)
        return [{ path: ['messages', i, list, j] }]
      }),
    )
    if (!withoutCarriers) return entries
    const extras = recordsOf(message.tool_calls).flatMap(([j, call]): Change[] => {
      if (!isRecord(call.extra_content)) return []
      losses.add('messages.tool_calls.extra_content')
      return [{ path: ['messages', i, 'tool_calls', j, 'extra_content'] }]
    })
    return [...entries, ...extras]
  })
}

function recordsOf(list: unknown): [number, Fields][] {
  return listOf(list).flatMap((item, i): [number, Fields][] => (isRecord(item) ? [[i, item]] : []))
}
