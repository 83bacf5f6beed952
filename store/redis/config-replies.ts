/** Parsers for the replies of the scripts in store/lua/config and for the stream of changes. */
import { z } from 'zod'
import { jsonOf } from '../../contract/text.ts'
import { type Change, channelTrouble, type Gap, MAX_TROUBLES } from '../contract.ts'
import { integer, pairs, stored } from './replies.ts'

export const recordReply = z.tuple([stored, stored]).transform(([sealed, note]) => ({ sealed, note }))
export const intactReply = z.literal([0, 1]).transform((reply) => reply === 1)
/** Reply to HSCAN. */
export const scanReply = z.tuple([z.string(), z.array(z.string())])
export const differingReply = z.array(z.int())
export const publishReply = z.enum(['published', 'fenced', 'stale'])
export const epochReply = integer
export const positionReply = z
  .tuple([integer, integer])
  .transform(([epoch, generation]) => ({ epoch, generation }))
export const tableReply = z
  .tuple([stored, stored, integer.nullable(), integer.nullable()])
  .transform(([sealed, note, epoch, generation]) => ({ sealed, note, epoch, generation }))
/** Alternating fields and values as an object. */
const fields = z.array(z.string()).transform((flat) => Object.fromEntries(pairs(flat)))

const beat = z
  .string()
  .transform((text) => text.split(' '))
  .pipe(z.tuple([integer, integer, integer]))
  .transform(([at, epoch, generation]) => ({ at, epoch, generation }))
const troubles = z
  .string()
  .transform((text) => jsonOf(text.slice(text.indexOf(' ') + 1)))
  .pipe(z.array(channelTrouble).max(MAX_TROUBLES))

/** An unreadable heartbeat is skipped: no single proxy may keep the controller from publishing. */
export const heartbeatsReply = z.tuple([integer, z.array(z.string())]).transform(([now, flat]) => {
  const all = new Map(pairs(flat))
  const beats = [...all].flatMap(([proxy, text]) => {
    const { data } = beat.safeParse(text)
    if (data === undefined) return []
    const reported = troubles.safeParse(all.get(`${proxy} troubles`))
    return [{ proxy, ...data, ...(reported.success && { troubles: reported.data }) }]
  })
  return { now, beats }
})

/** The records that a publication changed, as announced: by id, or `everything` if there are too many. */
export const touched = z.union([
  z.object({ everything: z.literal(true) }),
  z.object({ table: z.boolean(), keys: z.array(z.string()), accounts: z.array(z.string()) }),
])

const announcement = fields.pipe(
  z.object({
    epoch: integer,
    generation: integer,
    before: integer,
    touched: z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(touched),
  }),
)

/** An announcement in the stream. */
interface Announced {
  id: string
  /** Generation of the publication before it. */
  before: number
  generation: number
  change: Change | Gap
}

/** An unknown generation, which equals no other. */
const UNKNOWN = Number.NaN

const readable = z
  .tuple([z.string(), announcement])
  .transform(([id, { epoch, generation, before, touched }]): Announced => {
    const change = 'everything' in touched ? { gap: true as const } : { epoch, generation, ...touched }
    return { id, before, generation, change }
  })
const unreadable = z
  .tuple([z.string(), z.unknown()])
  .transform(([id]): Announced => ({ id, before: UNKNOWN, generation: UNKNOWN, change: { gap: true } }))
const entry = z.union([readable, unreadable])
/** Reply to XREVRANGE. */
export const announcements = z.array(entry)
/** Reply to XREAD on one stream; nil if there was nothing new in time. */
export const nextAnnouncements = z
  .array(z.tuple([z.string(), announcements]))
  .nullable()
  .transform((streams) => streams?.[0]?.[1] ?? [])
