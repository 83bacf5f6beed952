/**
 * Vendor state in the hands of clients that speak another dialect: `slc1.<kind>.<base64url>`, sealed for one owner. A
 * client can carry it, and neither read it, nor make one up, nor use another owner's.
 */
import { z } from 'zod'
import type { KeyRing } from '../../../../store/sealing.ts'
import { tryParse } from '../json/value.ts'
import type { Carrier, Envelopes } from '../neutral/types.ts'

/** All envelopes begin with it, and no vendor's state does. */
export const MARK = 'slc1.'
const FORM = /^slc1\.[a-z_]{1,32}\.([\w-]+)$/

const carrier: z.ZodType<Carrier> = z.union([
  z.object({ dialect: z.literal('messages'), kind: z.enum(['signature', 'redacted']), value: z.string() }),
  z.object({
    dialect: z.literal('responses'),
    kind: z.literal('encrypted'),
    value: z.string(),
    id: z.string().optional(),
  }),
  z.object({ dialect: z.literal('responses'), kind: z.literal('compaction'), value: z.string() }),
  z.object({ dialect: z.literal('chat'), kind: z.literal('details'), value: z.string() }),
  z.object({
    dialect: z.literal('chat'),
    kind: z.literal('extra_content'),
    value: z.string(),
    callId: z.string().optional(),
  }),
])

/** `owner` tells accounts apart: what is sealed for one opens for no other. */
export function createEnvelopes(ring: KeyRing, owner: string): Envelopes {
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
        return parsed.success ? parsed.data : 'broken'
      } catch {
        // Forged, changed, another owner's, or under keys that are gone: to the client all the same.
        return 'broken'
      }
    },
  }
}
