/** Items that stand for a conversation which was compacted. */
import { refusal } from '../../../core/json/fields.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { Envelopes } from '../../../core/neutral/types.ts'
import { recall } from '../../compact/words.ts'

/**
 * A compaction of the gateway, as what the user says of it; undefined for one that its vendor alone can read. Throws
 * GatewayError invalid_request for one of ours that was forged, changed, or made for another account.
 */
export function readCompaction(item: Fields, path: string, envelopes: Envelopes): string | undefined {
  const { encrypted_content: encrypted } = item
  const opened = typeof encrypted === 'string' ? envelopes.open(encrypted) : 'foreign'
  if (opened === 'foreign') return undefined
  if (opened === 'broken' || opened.kind !== 'compaction') {
    throw refusal(`${path}.encrypted_content`, 'is no compaction that was made here for this account')
  }
  return recall(opened.value)
}
