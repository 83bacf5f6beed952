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
  sub: z.string().optional(),
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
export interface Written {
  name: string | undefined
  credited: Nanos
  spent: Nanos
  /** Ids of its entries. */
  entries: ReadonlySet<string>
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
        const { credited, spent } = sumOf([...entries.values()])
        const written = {
          name,
          credited: credited + (opening?.credited ?? 0),
          spent: spent + (opening?.spent ?? 0),
          entries: new Set(entries.keys()),
          credits: creditsOf([...entries.values()]),
        }
        return [id, written]
      }),
    )
  }
}

function creditsOf(entries: readonly Entry[]): Record<string, Nanos> {
  const credits = entries.flatMap(({ type, ref, sub, delta }) =>
    type === 'credit' && sub === undefined ? [[ref, delta] as const] : [],
  )
  return Object.fromEntries(credits)
}

/**
 * Counts every credit and every request once. After a loss, proxies repeat settles, the leader applies credits again, and it
 * restores the rest by a correction: the lines of the lost entries say all of that already.
 */
function sumOf(entries: readonly Entry[]): { credited: Nanos; spent: Nanos } {
  const ids = new Set(entries.map(({ entry }) => entry))
  /** The first closing entry of requests that were repeated. */
  const first = new Map<string, string>()
  for (const { ref, postedAs } of entries)
    if (postedAs !== undefined && ids.has(postedAs)) first.set(ref, postedAs)
  const credits = new Set<string>()
  const sums = { credited: 0, spent: 0 }
  for (const { type, entry, ref, sub, delta, credited = 0, reason } of entries) {
    const ofLeader = type === 'credit' || type === 'adjust'
    if (ofLeader && sub !== undefined) continue
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
