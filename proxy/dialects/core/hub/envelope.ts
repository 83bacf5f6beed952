/**
 * Seals vendor state for clients that speak another dialect, as `slc1.<kind>.<base64url>`. A client can send an envelope
 * back, but can neither read nor forge one, nor use another owner's.
 */
import { z } from 'zod'
import { API_NAMES, type ApiName } from '../../../../contract/apis.ts'
import type { KeyRing } from '../../../../store/sealing.ts'
import type { Dialect } from '../dialect.ts'
import { tryParse } from '../json/value.ts'
import type { Carrier, Envelopes } from '../neutral/types.ts'

/** Begins every envelope, and no vendor's own state. */
export const MARK = 'slc1.'
/** In a body an envelope begins a JSON string. */
const BEGIN = `"${MARK}`
const END_OF_MARK = '1.'
/** A text full of numbers is searched for the whole beginning instead. */
const MOST_TRIES = 50
const FORM = /^slc1\.[a-z_]{1,32}\.([\w-]+)$/

const carrier = z.object({
  dialect: z.enum(API_NAMES),
  kind: z.string(),
  value: z.string(),
  id: z.string().optional(),
  callId: z.string().optional(),
})

/**
 * An envelope opens only for the `owner` (an account) that it was sealed for. It counts as broken when none of the
 * `dialects` has its carrier.
 */
export function createEnvelopes(
  ring: KeyRing,
  owner: string,
  dialects: Readonly<Record<ApiName, Pick<Dialect, 'carriers'>>>,
): Envelopes {
  const isKnown = ({ dialect, kind }: Carrier) => dialects[dialect]?.carriers.includes(kind)
  const name = `carrier:${owner}`
  return {
    seal(content) {
      const sealed = ring.seal(name, JSON.stringify(content))
      return `${MARK}${content.kind}.${Buffer.from(sealed).toString('base64url')}`
    },
    open(text) {
      if (!text.startsWith(MARK)) return 'foreign'
      const sealed = FORM.exec(text)?.[1]
      if (sealed === undefined) return 'broken'
      try {
        const opened = ring.open(name, Buffer.from(sealed, 'base64url').toString())
        const parsed = carrier.safeParse(tryParse(opened.text))
        return parsed.success && isKnown(parsed.data) ? parsed.data : 'broken'
      } catch {
        // Forged, changed, another owner's, or sealed with a lost key: the client must not learn which.
        return 'broken'
      }
    },
  }
}

/** Whether a body may contain vendor state that the gateway sealed. */
export function mayHoldEnvelope(body: Buffer): boolean {
  let from = 0
  // Few prompts have many `1.`, but quotes and letters stop a search every few bytes: 100 kB take 3 instead of 68 µs.
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const at = body.indexOf(END_OF_MARK, from)
    if (at < 0) return false
    from = at + END_OF_MARK.length
    if (body.toString('latin1', Math.max(0, from - BEGIN.length), from) === BEGIN) return true
  }
  return body.includes(BEGIN, from - BEGIN.length)
}
