/**
 * Notes what an account has: first in the journal, then in the checkpoint. Entries that a checkpoint alone has would be
 * restored as a sum, and the journal would never have them.
 */
import type { Balance, Ledger } from '../../store/ledger/contract.ts'
import { compareEntries } from '../../store/ledger/entry-log.ts'
import { creditsSince } from './applied-credits.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Journal } from './journal.ts'
import { type AppliedCredit, type Mark, markOf } from './mark.ts'

interface Books {
  ledger: Pick<Ledger, 'entries'>
  checkpoints: Pick<Checkpoints, 'mark' | 'note'>
  journal?: Pick<Journal, 'ship'> | undefined
}

interface Noting {
  /** Of the account. */
  id: string
  balance: Balance
  /** See creditsSince. */
  known: Readonly<Record<string, AppliedCredit>>
}

/**
 * Without effect if the ledger has lost the last entry meanwhile, or if a newer balance was noted. A journal that is stuck
 * does not stop checkpoints. Resolves with the sub-accounts whose sums `balance` lacks, and that must be read as well
 * before it can be noted: the leader before had them, and they have gone. Rejects with StoreUnavailable.
 */
export async function noteBalance(
  { ledger, checkpoints, journal }: Books,
  { id, balance, known }: Noting,
): Promise<readonly string[]> {
  const { lastEntry } = balance
  if (lastEntry !== undefined && (await journal?.ship(id, lastEntry)) === 'missing') return []
  for (;;) {
    const before = checkpoints.mark(id)
    if (isOlder(balance, before)) return []
    const applied = await creditsSince(ledger, id, balance, before, known)
    // Meanwhile, another balance of the account may have been noted.
    if (checkpoints.mark(id) !== before) continue
    const unread = subsOf(applied).filter((sub) => balance.subs[sub] === undefined)
    if (unread.length === 0) checkpoints.note(id, markOf(balance, applied, before))
    return unread
  }
}

/** A look at the sums alone: the account is compared whole when the store was away and when a term begins. */
export function hasLost(balance: Balance, mark: Mark | undefined): boolean {
  if (mark?.last === undefined) return false
  return balance.entries < mark.entries || isOlder(balance, mark)
}

/** Whether the mark counts entries that the balance does not. */
function isOlder({ lastEntry }: Balance, mark: Mark | undefined): boolean {
  if (mark?.last === undefined) return false
  return lastEntry === undefined || compareEntries(lastEntry, mark.last) < 0
}

function subsOf(applied: Readonly<Record<string, AppliedCredit>>): string[] {
  return Object.values(applied).flatMap(({ sub, amount }) => (sub === undefined || amount === 0 ? [] : [sub]))
}
