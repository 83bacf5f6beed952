/**
 * Seals vendor state for clients that speak another dialect, as `slc1.<kind>.<base64url>`. A client can send an envelope
 * back, but cannot read it, forge one, or use one of another owner.
 */
import { z } from 'zod'
import { API_NAMES, type ApiName } from '../../../../contract/endpoints.ts'
import type { KeyRing } from '../../../../store/sealing.ts'
import type { Dialect } from '../dialect.ts'
import { tryParse } from '../json/value.ts'
import type { Carrier, Envelopes } from '../neutral/types.ts'

/** Every envelope begins with it. No vendor's own state does. */
export const MARK = 'slc1.'
const FORM = /^slc1\.[a-z_]{1,32}\.([\w-]+)$/

const carrier = z.object({
  dialect: z.enum(API_NAMES),
  kind: z.string(),
  value: z.string(),
  id: z.string().optional(),
  callId: z.string().optional(),
})

/**
 * An envelope opens only for the `owner`, an account, that it was sealed for. One whose carrier none of the `dialects`
 * has counts as broken.
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
        // Forged, changed, of another owner, or sealed with keys that are gone: the client need not know which.
        return 'broken'
      }
    },
  }
}
