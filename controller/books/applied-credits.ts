/** Which credits the sums of an account count, by its entries. */
import type { Balance, Ledger, LedgerEntry } from '../../store/ledger/contract.ts'
import { compareEntries } from '../../store/ledger/entry-log.ts'
import type { AppliedCredit, Mark } from './mark.ts'

const PAGE = 1_000

/** All entries of an account after this one; undefined: from the first that is kept. */
export async function entriesAfter(
  ledger: Pick<Ledger, 'entries'>,
  account: string,
  after: string | undefined,
): Promise<LedgerEntry[]> {
  const all: LedgerEntry[] = []
  for (;;) {
    const page = await ledger.entries(account, all.at(-1)?.id ?? after, PAGE)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

/**
 * The credits between the mark `before` and `balance`. A mark must name exactly the credits in its sums: after a loss, one
 * that is missing would be given twice, and one too many would be taken away. What this process has applied does not tell:
 * an earlier leader, or a call whose answer was lost, may have applied more, and the balance may be from before a call.
 * `known`: credits that this process has applied, for entries that are too old to be kept.
 */
export async function creditsSince(
  ledger: Pick<Ledger, 'entries'>,
  account: string,
  balance: Balance,
  before: Mark | undefined,
  known: Readonly<Record<string, AppliedCredit>>,
): Promise<Readonly<Record<string, AppliedCredit>>> {
  const { lastEntry, trimmedTo } = balance
  if (lastEntry === undefined || (before !== undefined && !hasNew(balance, before, known))) return {}
  const isKept =
    trimmedTo === undefined || (before?.last !== undefined && compareEntries(before.last, trimmedTo) >= 0)
  if (!isKept) return known
  const entries = await entriesAfter(ledger, account, before?.last)
  const credits = entries.filter(({ id, kind }) => kind === 'credit' && compareEntries(id, lastEntry) <= 0)
  return Object.fromEntries(
    credits.map(({ ref, sub, delta }) => [ref, { sub: sub === '' ? undefined : sub, amount: delta }]),
  )
}

/** Without new credits, and that is nearly always, no entries are read. */
function hasNew(balance: Balance, before: Mark, known: Readonly<Record<string, AppliedCredit>>): boolean {
  const subs = Object.entries(balance.subs)
  return (
    balance.credited !== before.credited ||
    subs.some(([sub, { credited }]) => credited !== (before.subs?.[sub]?.credited ?? 0)) ||
    Object.entries(known).some(([id, { sub }]) => {
      const marked = sub === undefined ? before : before.subs?.[sub]
      return marked === undefined || !Object.hasOwn(marked.credits, id)
    })
  )
}
