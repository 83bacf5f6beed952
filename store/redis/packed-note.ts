/**
 * The note of an entry as one text: a JSON array without trailing empty parts. Scripts pass it on without reading it.
 *
 *     request     [reason, model, channel, key, endpoint, tier, price, {tokens}, [flags], entry of the first settle,
 *                  [budgets], {tags}, upstream cost]
 *     adjustment  [reason, credited, words]
 */
import { z } from 'zod'
import { present } from '../../kit/present.ts'
import type { Adjust, EntryNote, LedgerEntry } from '../ledger/contract.ts'

export function packNote(note: EntryNote, postedAs?: string): string {
  const {
    reason,
    model,
    channel,
    key,
    endpoint,
    tier,
    price,
    tokens,
    flags,
    budgets = [],
    tags = {},
    upstreamCost,
  } = note
  return pack([
    reason,
    model,
    channel,
    key,
    endpoint,
    tier,
    price,
    tokens,
    flags,
    postedAs ?? '',
    budgets,
    tags,
    upstreamCost ?? '',
  ])
}

export function packAdjustment(
  { reason, text = '' }: Pick<Adjust, 'reason' | 'text'>,
  credited: number,
): string {
  return pack([reason, credited + 0, text])
}

function pack(parts: readonly unknown[]): string {
  const last = parts.findLastIndex((part) => !isEmpty(part))
  return JSON.stringify(parts.slice(0, last + 1))
}

function isEmpty(part: unknown): boolean {
  if (part === '') return true
  return typeof part === 'object' && part !== null && Object.keys(part).length === 0
}

const text = z.string().default('')
const parts = z
  .string()
  .transform((packed): unknown => JSON.parse(packed))
  .pipe(z.array(z.unknown()))

const request = z.object({
  reason: z.enum(['usage', 'estimate', 'input_only', 'checkpoint', 'unserved']),
  model: text,
  channel: text,
  key: text,
  endpoint: text,
  tier: text,
  price: text,
  tokens: z.record(z.string(), z.number()).default({}),
  flags: z.array(z.string()).default([]),
  budgets: z.array(z.string()).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  upstreamCost: z.number().optional(),
})

const adjustment = z.object({
  reason: z.enum(['restore', 'operator']),
  credited: z.number().default(0),
  text,
})

/** Throws ZodError for a text that packNote did not make. */
export function unpackNote(packed: string): Pick<LedgerEntry, 'note' | 'postedAs'> {
  const [reason, model, channel, key, endpoint, tier, price, tokens, flags, postedAs, ...rare] =
    parts.parse(packed)
  const [budgets, tags, upstreamCost] = rare.map((part) => (isEmpty(part) ? undefined : part))
  const told = { reason, model, channel, key, endpoint, tier, price, tokens, flags }
  const note = request.parse({ ...told, ...present({ budgets, tags, upstreamCost }) })
  return typeof postedAs === 'string' && postedAs !== '' ? { note, postedAs } : { note }
}

/** Throws ZodError for a text that packAdjustment did not make. */
export function unpackAdjustment(packed: string): Pick<LedgerEntry, 'adjusted'> {
  const [reason, credited, words] = parts.parse(packed)
  return { adjusted: adjustment.parse({ reason, credited, text: words }) }
}
