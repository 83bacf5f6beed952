/** Parsers for the replies of Redis to the ledger's commands. Other replies throw ZodError. */
import { z } from 'zod'
import type {
  Balance,
  BudgetSums,
  LedgerEntry,
  Meter,
  MeterLevel,
  NamedSums,
  Reaped,
  Reserve,
  ReserveReply,
  SettleReply,
  Sums,
} from '../ledger/contract.ts'
import { roomAt } from '../ledger/meters.ts'
import type { OldSettle } from '../ledger/settle.ts'
import { unpackAdjustment, unpackNote } from './packed-note.ts'
import { integer, pairs, stored } from './replies.ts'

const ENTRY_ID = /^\d+-\d+$/
const entryId = z.string().regex(ENTRY_ID)

export const openReply = z.enum(['OK', 'DUP', 'FENCED', 'NOACCT'])

export const topupReply = z.union([
  z.tuple([z.literal('OK'), entryId]).transform(([reply, entry]) => ({ reply, entry })),
  z.tuple([z.enum(['DUP', 'CONFLICT', 'LIMIT', 'FENCED', 'NOACCT'])]).transform(([reply]) => ({ reply })),
])

export const countReply = z.enum(['OK', 'MOVED'])

export const adjustReply = z.enum(['OK', 'DUP', 'CHANGED', 'LIMIT', 'FENCED', 'NOACCT'])

const notHeld = z.union([
  z
    .tuple([z.literal('LIMITED'), z.int(), z.int()], z.int())
    .transform(([reply, meter, waitMs, ...levels]) => ({ reply, meter, waitMs, levels })),
  z
    .tuple([z.literal('NOFUNDS'), z.enum(['account', 'sub']), z.enum(['empty', 'hold'])])
    .transform(([reply, of, reason]) => ({ reply, of, reason })),
  z
    .tuple([z.literal('NOFUNDS'), z.literal('budget'), z.enum(['empty', 'hold']), z.int()])
    .transform(([reply, of, reason, budget]) => ({ reply, of, reason, budget })),
  z.tuple([z.enum(['OVER', 'CONFLICT', 'NOACCT'])]).transform(([reply]) => ({ reply })),
])

export function readReserved(
  { sub, budgets = [], meters = [] }: Pick<Reserve, 'sub' | 'budgets' | 'meters'>,
  reply: unknown,
): ReserveReply {
  const roomsOf = (levels: readonly number[]) => meters.map((meter, i) => roomAt(levels[i] ?? 0, meter))
  if (isHeld(reply)) {
    const [status, reservedAt, free, posted, ...more] = reply
    const numbers = more.map(numberIn)
    const subs = sub === undefined ? 0 : 1
    const held = {
      reply: status,
      reservedAt: numberIn(reservedAt),
      free: numberIn(free),
      posted: numberIn(posted),
      spent: numbers.slice(subs, subs + budgets.length),
      room: roomsOf(numbers.slice(subs + budgets.length)),
    }
    return subs === 0 ? held : { ...held, subPosted: numberIn(more[0]) }
  }
  const read = notHeld.parse(reply)
  if (!('levels' in read)) return read
  const { levels, ...refusal } = read
  return { ...refusal, room: roomsOf(levels) }
}

// Two replies of almost every request are read by hand: zod takes 2 to 3 µs for each.

function isHeld(reply: unknown): reply is ['OK' | 'DUP', ...unknown[]] {
  return Array.isArray(reply) && (reply[0] === 'OK' || reply[0] === 'DUP')
}

function numberIn(part: unknown): number {
  const number = typeof part === 'string' ? Number(part) : part
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : integer.parse(part)
}

const renewReply = z.enum(['OK', 'NOFUNDS', 'AGAIN', 'GONE', 'NOACCT'])

export const renewReplies = (count: number) => z.array(renewReply).length(count)

export function readSettled(reply: unknown): SettleReply | OldSettle {
  if (Array.isArray(reply) && reply.length === 2) {
    const [status, entry]: unknown[] = reply
    if (status === 'OK' && typeof entry === 'string' && ENTRY_ID.test(entry)) return { reply: status, entry }
  }
  return settleReply.parse(reply)
}

const settleReply = z.union([
  z.tuple([z.enum(['OK', 'LATE', 'LOST', 'DUP']), entryId]).transform(([reply, entry]) => ({ reply, entry })),
  z.tuple([z.enum(['DUP', 'CONFLICT', 'NOACCT'])]).transform(([reply]) => ({ reply })),
  z.tuple([z.literal('OLD'), integer]).transform(([reply, setBackMs]) => ({ reply, setBackMs })),
])

/** Alternating names and values. */
const flat = z.array(z.string())

export function readReaped(account: string, reply: unknown): Reaped[] {
  return [...pairs(flat.parse(reply))].map(([id, charged]) => ({
    account,
    id,
    charged: integer.parse(charged),
  }))
}

/** The fields of the hash `bal` that `readBalance` needs, in this order. */
export function balanceFields({ subs = [], budgets = [], meters = [] }: NamedSums): string[] {
  return [
    ...['ep', 'n', 'le', 'j', 'tr', 'um', 'ra'],
    ...['', ...subs].flatMap(sumFields),
    ...budgets.map((id) => `b:${id}`),
    ...meters.map(meterField),
  ]
}

export function meterField({ id, windowMs }: Pick<Meter, 'id' | 'windowMs'>): string {
  return `${windowMs > 0 ? 't' : 'r'}:${id}`
}

function sumFields(sub: string): string[] {
  return ['p', 'h', 'cr'].map((sum) => (sub === '' ? sum : `${sum}:${sub}`))
}

const number = stored.transform((text) => (text === null ? undefined : integer.parse(text)))

/** `reply`: the values of `balanceFields(named)`. */
export function readBalance(
  reply: unknown,
  { subs = [], budgets = [], meters = [] }: NamedSums,
): Balance | undefined {
  const [epoch, entries, lastEntry, journaled, trimmedTo, countedTo, restoredTo, ...sums] = z
    .array(stored)
    .parse(reply)
  const [total, ...others] = Array.from({ length: subs.length + 1 }, (_, i) =>
    readSums(sums.slice(3 * i, 3 * i + 3)),
  )
  if (total === undefined) return undefined
  const found = others.flatMap((own, i) => (own === undefined ? [] : [[subs[i] ?? '', own] as const]))
  const spending = sums.slice(3 * (subs.length + 1))
  const levels = spending.slice(budgets.length)
  return {
    ...total,
    subs: Object.fromEntries(found),
    budgets: Object.fromEntries(
      budgets.flatMap((id, i) => {
        const stored = spending[i] ?? null
        return stored === null ? [] : [[id, readBudget(stored)]]
      }),
    ),
    levels: Object.fromEntries(
      meters.flatMap(({ id }, i) => {
        const stored = levels[i] ?? null
        return stored === null ? [] : [[id, readLevel(stored)]]
      }),
    ),
    epoch: number.parse(epoch) ?? 0,
    entries: number.parse(entries) ?? 0,
    lastEntry: lastEntry ?? undefined,
    journaled: journaled ?? undefined,
    trimmedTo: trimmedTo ?? undefined,
    countedTo: countedTo ?? undefined,
    restoredTo: restoredTo ?? undefined,
  }
}

/** Undefined if there are none. What was never credited has no `cr`. */
function readSums(values: readonly (string | null)[]): Sums | undefined {
  const [posted, held, credited] = values.map((value) => number.parse(value))
  if (posted === undefined && held === undefined && credited === undefined) return undefined
  return { posted: posted ?? 0, held: held ?? 0, credited: credited ?? 0 }
}

const budget = z.tuple([integer, integer, integer, integer])

function readBudget(stored: string): BudgetSums {
  const [spent, held, until, after] = budget.parse(stored.split('|'))
  return { spent, held, until, after }
}

/** "empty at|limit", or the number of live holds. */
function readLevel(stored: string): MeterLevel {
  const [first = 0, most] = z.array(integer).parse(stored.split('|'))
  return most === undefined ? first : { emptyAt: first, most }
}

const scores = z.array(z.string())

export function readTouched(reply: unknown): { account: string; at: number }[] {
  return [...pairs(scores.parse(reply))].map(([account, at]) => ({ account, at: integer.parse(at) }))
}

const page = z.tuple([z.string(), z.array(z.string())])

export function readPage(reply: unknown): { accounts: string[]; next: string | undefined } {
  const [cursor, accounts] = page.parse(reply)
  return { accounts, next: cursor === '0' ? undefined : cursor }
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

/** `reply`: items of the stream `led`. */
export function readEntries(reply: unknown): LedgerEntry[] {
  return streamItems.parse(reply).map(([id, fields]) => readEntry(id, Object.fromEntries(pairs(fields))))
}

function readEntry(id: string, fields: Record<string, string>): LedgerEntry {
  const { k: kind, r: ref, s: sub, d: delta } = storedEntry.parse(fields)
  const entry = { id, kind, ref, sub, delta }
  if (kind === 'credit') return entry
  if (kind === 'adjust') return { ...entry, ...unpackAdjustment(fields.n ?? '') }
  return { ...entry, ...(fields.n === undefined ? previousNote(fields) : unpackNote(fields.n)) }
}

/** The previous version wrote a field for each part. */
function previousNote({ reason, model, channel, key, tok = '{}' }: Record<string, string>) {
  return unpackNote(JSON.stringify([reason, model, channel, key, '', '', '', JSON.parse(tok)]))
}
