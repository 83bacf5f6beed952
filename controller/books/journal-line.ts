/** A ledger entry as one line of JSON. docs/operations.md describes the fields. */
import { formatDollars } from '../../contract/money.ts'
import type { Balance, LedgerEntry } from '../../store/ledger/contract.ts'
import { timeOf } from '../../store/ledger/entry-log.ts'

/** Names of resources by their ids; undefined for one that no longer exists. */
export interface Names {
  account(id: string): string | undefined
  key(id: string): string | undefined
}

export function entryLine(accountId: string, entry: LedgerEntry, names: Names): string {
  const { id, kind, ref, sub, delta, note, postedAs, adjusted } = entry
  return line(accountId, names, {
    time: new Date(timeOf(id)).toISOString(),
    entry: id,
    type: kind,
    ref,
    ...(sub !== '' && { sub: names.account(sub), subId: sub }),
    delta: formatDollars(delta),
    ...note,
    key: note && (names.key(note.key) ?? note.key),
    postedAs,
    ...(adjusted && {
      credited: formatDollars(adjusted.credited),
      reason: adjusted.reason,
      text: adjusted.text === '' ? undefined : adjusted.text,
    }),
  })
}

/** The sums before the first line of an account whose earlier entries were never written. */
export function openingLine(
  accountId: string,
  sums: { credited: number; spent: number; before: string | undefined },
  names: Names,
): string {
  return line(accountId, names, {
    entry: sums.before,
    type: 'opening',
    credited: formatDollars(sums.credited),
    spent: formatDollars(sums.spent),
  })
}

function line(accountId: string, names: Names, fields: object): string {
  return `${JSON.stringify({ kind: 'ledger', account: names.account(accountId), accountId, ...fields })}\n`
}

/** What an account had before these entries, the last of which the balance counts. */
export function sumsBefore({ credited, posted }: Balance, entries: readonly LedgerEntry[]) {
  const sums = { credited, spent: credited - posted }
  for (const { kind, sub, delta, adjusted } of entries) {
    if (sub !== '' && (kind === 'credit' || kind === 'adjust')) continue
    const raised = kind === 'credit' ? delta : (adjusted?.credited ?? 0)
    sums.credited -= raised
    sums.spent -= raised - delta
  }
  return sums
}
