/** What is kept of conversations, and how long. */
import { bytes, count, MIB, time } from './fields.ts'

export const conversationSettings = {
  SLUICE_CONVERSATION_TTL: time('24h').describe(
    'How long a stored conversation is kept after it was last needed.',
  ),
  SLUICE_BINDING_DAYS: count(30).describe(
    'Days for which it is known which channel keeps a response that its upstream stores.',
  ),
  SLUICE_MAX_EXCHANGE_BYTES: bytes(4 * MIB, 256 * MIB).describe(
    'Most that one request and its answer may take of a stored conversation; larger ones are served and not stored.',
  ),
  SLUICE_MAX_CONVERSATION_BYTES: bytes(64 * MIB).describe(
    'Most that the stored conversations of one account may take; beyond, answers are served and not stored.',
  ),
}
