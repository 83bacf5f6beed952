/** How much of conversations the gateway stores, and for how long. */
import { bytes, count, MIB, time } from './fields.ts'

export const conversationSettings = {
  SLUICE_CONVERSATION_TTL: time('24h').describe('How long a stored conversation is kept after its last use.'),
  SLUICE_BINDING_DAYS: count(30).describe(
    'Days for which the gateway remembers the channel of a response that is stored by its upstream.',
  ),
  SLUICE_MAX_EXCHANGE_BYTES: bytes(4 * MIB, 256 * MIB).describe(
    'Largest request and answer, together, that is added to a stored conversation. Larger ones are served but not stored.',
  ),
  SLUICE_MAX_CONVERSATION_BYTES: bytes(64 * MIB).describe(
    'Maximum size of all stored conversations of one account. Beyond it, answers are served but not stored.',
  ),
}
