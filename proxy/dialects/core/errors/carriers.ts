/**
 * Recognises that an upstream refuses what an earlier answer gave for it alone: signatures, encrypted reasoning and
 * ids of items that it does not know (any more).
 */
import type { UpstreamError } from './upstream-error.ts'
import { WORDS } from './words.ts'

const SIGNATURE = [
  // Anthropic
  /invalid .?(?:signature|data).? in .?(?:redacted_)?thinking.? block/i,
  /thinking.? blocks.{0,60}(?:cannot be modified|must remain as they were)/i,
  /thinking\.signature: /i,
  // Gemini
  /thought.?signature is (?:not valid|invalid)|(?:invalid|corrupted) thought.?signature/i,
]
const ENCRYPTED = [/encrypted.content.{0,2000}could not be (?:verified|decrypted|parsed)/is]
const ITEM = [
  /item (?:with id )?'?[a-z]{2,5}_\w{1,128}'? not found/i,
  /item '?rs_\w{1,128}'?.{0,40} was provided without its required/i,
  /without its required 'reasoning' item/i,
]

/** The sentence for the caller; undefined when the error is another one. */
export function carrierRefusal({ words, text }: UpstreamError): string | undefined {
  const says = (wordings: readonly RegExp[]) => wordings.some((wording) => wording.test(text))
  if (says(SIGNATURE)) {
    return 'The upstream refused the reasoning of an earlier answer: invalid `signature` in `thinking` block.'
  }
  if (says(ENCRYPTED) || words.some((word) => WORDS.carrier.includes(word))) {
    return 'The upstream refused the reasoning of an earlier answer: its encrypted content could not be verified.'
  }
  if (says(ITEM)) {
    return 'The upstream does not know an item of the input, or misses the one that belongs to it.'
  }
  return undefined
}
