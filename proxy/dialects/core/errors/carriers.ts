/**
 * Recognises that an upstream refuses the opaque state of an earlier answer: signatures, encrypted reasoning, and ids of
 * items that it does not know, or no longer knows.
 */
import type { UpstreamError } from './upstream-error.ts'
import { allWordings, hasMeaning } from './wordings.ts'

/** The sentence for the client; undefined for any other error. */
export function carrierRefusal(error: UpstreamError): string | undefined {
  const isCoded = hasMeaning(error, 'carrier')
  const found = allWordings()
    .flatMap(({ carriers = [] }) => carriers)
    .find(({ wordings, coded }) => (coded && isCoded) || wordings.some((wording) => wording.test(error.text)))
  return found?.sentence
}
