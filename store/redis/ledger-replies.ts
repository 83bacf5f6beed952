/** Parsers for the replies of Redis to the ledger's commands. Other replies throw ZodError. */
import { z } from 'zod'
import type { Balance, LedgerEntry, Reaped } from '../ledger/contract.ts'
import { integer, pairs } from './replies.ts'

export const openReply = z.union([
  z.literal(1).transform(() => 'OK' as const),
  z.literal(0).transform(() => 'DUP' as const),
])

export const topupReply = z.enum(['OK', 'DUP', 'CONFLICT', 'LIMIT', 'NOACCT'])

export const reserveReply = z.union([
  z.tuple([z.literal('OK'), integer]).transform(([reply, reservedAt]) => ({ reply, reservedAt })),
  z
    .tuple([z.literal('NOFUNDS'), z.enum(['account', 'sub']), z.enum(['empty', 'hold'])])
    .transform(([reply, of, reason]) => ({ reply, of, reason })),
  z
    .tuple([z.literal('DUP'), integer, z.enum(['P', 'S', 'V', 'E', 'L'])])
    .transform(([reply, reservedAt, state]) => ({ reply, reservedAt, state })),
  z.tuple([z.enum(['CONFLICT', 'NOACCT'])]).transform(([reply]) => ({ reply })),
])

export const renewReply = z.enum(['OK', 'NOFUNDS', 'GONE', 'UNKNOWN', 'NOACCT'])

export const settleReply = z.enum(['OK', 'DUP', 'CONFLICT', 'LATE', 'LOST', 'STALE', 'NOACCT'])

export const accountIds = z.array(z.string())

/** Alternating names and values. */
const flat = z.array(z.string())

export function readReaped(account: string, reply: unknown): Reaped[] {
  return [...pairs(flat.parse(reply))].map(([id, charged]) => ({
    account,
    id,
    charged: integer.parse(charged),
  }))
}

/** `reply`: all fields of the hash `bal`. */
export function readBalance(reply: unknown): Balance | undefined {
  let known = false
  const total = { posted: 0, held: 0 }
  const subs: Balance['subs'] = {}
  for (const [name, value] of pairs(flat.parse(reply))) {
    const [, letter, sub] = /^([ph])(?::(.+))?$/.exec(name) ?? []
    if (letter === undefined) continue
    known ||= name === 'p'
    if (sub !== undefined) subs[sub] ??= { posted: 0, held: 0 }
    const funds = (sub !== undefined && subs[sub]) || total
    funds[letter === 'p' ? 'posted' : 'held'] = integer.parse(value)
  }
  return known ? { ...total, subs } : undefined
}

/** XRANGE replies nil for COUNT 0. */
const streamItems = z
  .array(z.tuple([z.string(), flat]))
  .nullable()
  .transform((items) => items ?? [])

const storedEntry = z.object({
  k: z.enum(['credit', 'settle', 'expire', 'late', 'lost', 'adjust']),
  r: z.string(),
  s: z.string(),
  d: integer,
})

const storedNote = z.object({
  reason: z.enum(['usage', 'estimate', 'input_only', 'checkpoint']),
  model: z.string(),
  channel: z.string(),
  key: z.string(),
  tok: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.record(z.string(), z.number())),
})

/** `reply`: items of the stream `led`. */
export function readEntries(reply: unknown): LedgerEntry[] {
  return streamItems.parse(reply).map(([id, fields]) => readEntry(id, Object.fromEntries(pairs(fields))))
}

function readEntry(id: string, fields: Record<string, string>): LedgerEntry {
  const { k: kind, r: ref, s: sub, d: delta } = storedEntry.parse(fields)
  const entry = { id, kind, ref, sub, delta }
  if (fields.reason === undefined) return entry
  const { tok: tokens, ...note } = storedNote.parse(fields)
  return { ...entry, note: { ...note, tokens } }
}
