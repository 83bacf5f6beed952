/** Items that stand for a conversation which was compacted. */
import { recall } from '../../../core/hub/compaction-words.ts'
import { refusal } from '../../../core/json/fields.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { Envelopes, UserTurn } from '../../../core/neutral/types.ts'

/**
 * A compaction of the gateway, as what the user says of it; `foreign` for one that its vendor alone can read. Throws
 * GatewayError invalid_request for one of ours that was forged, changed, or made for somebody else.
 */
export function readCompaction(item: Fields, path: string, envelopes: Envelopes): UserTurn | 'foreign' {
  const { encrypted_content: encrypted } = item
  const opened = typeof encrypted === 'string' ? envelopes.open(encrypted) : 'foreign'
  if (opened === 'foreign') return opened
  if (opened === 'broken' || opened.kind !== 'compaction') {
    throw refusal(`${path}.encrypted_content`, 'is no compaction that was made here for this account')
  }
  return { role: 'user', parts: [{ type: 'text', text: recall(opened.value) }] }
}
