/** Reads the lines of a ledger journal, and adds them up for each account. */
import { z } from 'zod'
import { type Nanos, parseDollars } from '../../contract/money.ts'
import { jsonOf } from '../../contract/text.ts'
import { compareEntries } from '../../store/ledger/entry-log.ts'

const dollars = z.string().transform((text, context): Nanos => {
  try {
    return parseDollars(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
    return z.NEVER
  }
})
const about = { kind: z.literal('ledger'), account: z.string().optional(), accountId: z.string() }
const entry = z.object({
  ...about,
  type: z.enum(['credit', 'settle', 'expire', 'late', 'lost', 'adjust']),
  entry: z.string().regex(/^\d+-\d+$/),
  ref: z.string(),
  subId: z.string().optional(),
  delta: dollars,
  postedAs: z.string().optional(),
  /** Of a correction. */
  credited: dollars.optional(),
  reason: z.string().optional(),
})
const opening = z.object({ ...about, type: z.literal('opening'), credited: dollars, spent: dollars })
const line = z.discriminatedUnion('type', [entry, opening])
type Entry = z.output<typeof entry>

/** What the lines say of one account. */
export interface Written extends WrittenSums {
  name: string | undefined
  /** Ids of its entries. */
  entries: ReadonlySet<string>
  /** Sub-accounts by id. */
  subs: Readonly<Record<string, WrittenSums>>
}

interface WrittenSums {
  credited: Nanos
  spent: Nanos
  /** Credits that were applied: "namespace/name" and amount. */
  credits: Readonly<Record<string, Nanos>>
}

interface Account {
  name?: string | undefined
  opening?: z.output<typeof opening>
  entries: Map<string, Entry>
}

export class JournalLines {
  readonly #accounts = new Map<string, Account>()
  /** Lines of the journal that are cut off or changed. */
  bad = 0

  /** Other lines, such as those of a log, are skipped. */
  add(text: string): void {
    if (!text.includes('"ledger"')) return
    const value = jsonOf(text)
    if (value === undefined) this.bad++
    const isLedger = z.object({ kind: z.literal('ledger') }).safeParse(value).success
    if (!isLedger) return
    const { data } = line.safeParse(value)
    if (data === undefined) {
      this.bad++
      return
    }
    const known: Account = this.#accounts.get(data.accountId) ?? { entries: new Map() }
    this.#accounts.set(data.accountId, known)
    known.name ??= data.account
    if (data.type === 'opening') known.opening ??= data
    else known.entries.set(data.entry, data)
  }

  /** By account id. */
  sums(): Map<string, Written> {
    return new Map(
      [...this.#accounts].map(([id, { name, opening, entries }]) => {
        const all = [...entries.values()]
        const { credited, spent } = sumOf(all)
        const subs = new Set(all.flatMap(({ subId }) => (subId === undefined ? [] : [subId])))
        const written = {
          name,
          credited: credited + (opening?.credited ?? 0),
          spent: spent + (opening?.spent ?? 0),
          entries: new Set(entries.keys()),
          credits: creditsOf(all),
          subs: Object.fromEntries(
            [...subs].map((sub) => [sub, { ...sumOf(all, sub), credits: creditsOf(all, sub) }]),
          ),
        }
        return [id, written]
      }),
    )
  }
}

/** Of a sub-account, or (without `part`) of the account itself. */
function creditsOf(entries: readonly Entry[], part?: string): Record<string, Nanos> {
  const credits = entries.flatMap(({ type, ref, subId, delta }) =>
    type === 'credit' && subId === part ? [[ref, delta] as const] : [],
  )
  return Object.fromEntries(credits)
}

/**
 * Counts every credit and every request once. After a loss, proxies repeat settles, the leader applies credits again, and it
 * restores the rest by a correction: the lines of the lost entries say all of that already.
 */
function sumOf(entries: readonly Entry[], part?: string): { credited: Nanos; spent: Nanos } {
  const ids = new Set(entries.map(({ entry }) => entry))
  /** The first closing entry of requests that were repeated. */
  const first = new Map<string, string>()
  for (const { ref, postedAs } of entries)
    if (postedAs !== undefined && ids.has(postedAs)) first.set(ref, postedAs)
  const credits = new Set<string>()
  const sums = { credited: 0, spent: 0 }
  for (const { type, entry, ref, subId, delta, credited = 0, reason } of entries) {
    const ofLeader = type === 'credit' || type === 'adjust'
    // Requests of sub-accounts are spending of the account as well.
    if (subId !== part && (part !== undefined || ofLeader)) continue
    if (type === 'credit') {
      if (!credits.has(ref)) sums.credited += delta
      credits.add(ref)
    } else if (type === 'adjust') {
      if (reason === 'restore') continue
      sums.credited += credited
      sums.spent += credited - delta
    } else {
      const closed = first.get(ref)
      if (closed === undefined || compareEntries(entry, closed) <= 0) sums.spent -= delta
    }
  }
  return sums
}
