/** Opens vendor state in a request on the byte lane: encrypted reasoning and compactions. */

import type { StateAccess } from '../../core/byte-lane.ts'
import { bodyOf } from '../../core/json/body-value.ts'
import type { Change } from '../../core/json/edit.ts'
import { type Fields, isRecord, listOf } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { readCompaction } from '../codec/request/compactions.ts'

/** Throws GatewayError invalid_request for a compaction of the gateway that does not open. */
export function openState(request: ParsedRequest, access: StateAccess): Change[] {
  return listOf(bodyOf(request).input).flatMap((item, i): Change[] => {
    if (!isRecord(item)) return []
    if (item.type === 'compaction') return openCompaction(item, i, access)
    return item.type === 'reasoning' ? openReasoning(item, i, access) : []
  })
}

/** Upstreams get a compaction of the gateway as text. */
function openCompaction(item: Fields, i: number, { envelopes }: StateAccess): Change[] {
  const text = readCompaction(item, `input[${i}]`, envelopes)
  if (text === undefined) return []
  const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
  return [{ path: ['input', i], to: JSON.stringify(message) }]
}

/** Drops an item whose state this upstream cannot read: without it, the item means nothing. */
function openReasoning(
  { encrypted_content: state }: Fields,
  i: number,
  { envelopes, withoutCarriers, losses }: StateAccess,
): Change[] {
  if (typeof state !== 'string' || state === '') return []
  const opened = envelopes.open(state)
  if (!withoutCarriers) {
    if (opened === 'foreign') return []
    if (opened !== 'broken' && opened.dialect === 'responses' && opened.kind === 'encrypted')
      return [{ path: ['input', i, 'encrypted_content'], to: JSON.stringify(opened.value) }]
  }
  losses.add('input.encrypted_content')
  return [{ path: ['input', i] }]
}
