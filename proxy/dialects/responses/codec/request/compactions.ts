/** Compaction items in a request. */
import { refusal } from '../../../core/json/fields.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { Envelopes } from '../../../core/neutral/types.ts'
import { summaryMessage } from '../../compact/prompts.ts'

/**
 * The user message for a compaction that the gateway made; undefined for a vendor's compaction. Throws GatewayError
 * invalid_request for an envelope that was forged, changed, or made for another account.
 */
export function readCompaction(item: Fields, path: string, envelopes: Envelopes): string | undefined {
  const { encrypted_content: encrypted } = item
  const opened = typeof encrypted === 'string' ? envelopes.open(encrypted) : 'foreign'
  if (opened === 'foreign') return undefined
  if (opened === 'broken' || opened.kind !== 'compaction') {
    throw refusal(`${path}.encrypted_content`, 'is not a compaction that this gateway made for this account')
  }
  return summaryMessage(opened.value)
}
