/**
 * Gives an account back what a checkpoint counts and the store has lost. Everything that was done since the loss stays: new
 * credits and costs are added to the checkpoint's sums, and what the checkpoint has counted already is not counted again.
 * Can be repeated at any point: it corrects by the difference to the sums that should be there. The account takes no holds
 * until it is opened afterwards, so that no request is refused, or served, for the sums in between.
 */
import type { Nanos } from '../../contract/money.ts'
import type { Adjust, Balance, Ledger, LedgerEntry } from '../../store/ledger/contract.ts'
import { compareEntries, timeOf } from '../../store/ledger/entry-log.ts'
import type { Mark } from './mark.ts'

const PAGE = 1_000
/** The account may be in use: each correction must meet the sums that it was computed from. */
const ATTEMPTS = 20

export class RestoreFailed extends Error {
  override name = 'RestoreFailed'
}

interface Restore {
  account: string
  /** The leader's term. */
  epoch: number
  mark: Mark
}

/**
 * `intact`: the ledger has all that the mark counts. Rejects with StoreUnavailable, and with RestoreFailed when the ledger
 * refuses the correction.
 */
export async function restoreAccount(ledger: Ledger, restore: Restore): Promise<'intact' | 'restored'> {
  const { account, epoch, mark } = restore
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const known = await ledger.balance(account)
    if (known !== undefined && (await hasAll(ledger, account, known, mark))) return 'intact'
    // Spending first: an account must not be able to spend what it has spent before.
    if (known === undefined || (await missingSpent(ledger, restore, known)) !== undefined) {
      const opened = await ledger.open({ account, epoch, create: true, closed: true })
      if (opened === 'FENCED') throw new RestoreFailed('another controller has taken over')
      const before = await read(ledger, account)
      const spent = await missingSpent(ledger, restore, before)
      if (spent !== undefined && !(await correct(ledger, restore, before, { credited: 0, spent }))) continue
    }
    await applyCredits(ledger, restore)
    const after = await read(ledger, account)
    const added = await entriesAfter(ledger, account, mark.last)
    const missing = mark.credited + newlyCredited(added, mark) - after.credited
    const credited = isFurther(after, mark) ? Math.max(0, missing) : missing
    if (credited === 0 || (await correct(ledger, restore, after, { credited, spent: 0 }))) return 'restored'
  }
  throw new RestoreFailed('the account changed too fast')
}

async function read(ledger: Ledger, account: string): Promise<Balance> {
  const balance = await ledger.balance(account)
  if (balance === undefined) throw new RestoreFailed('the account is missing although it was opened')
  return balance
}

/** Whether the last entry that the mark counts is still there, or has only grown old. */
export async function hasAll(
  ledger: Pick<Ledger, 'entries'>,
  account: string,
  { entries, lastEntry, trimmedTo }: Balance,
  mark: Mark,
): Promise<boolean> {
  const { last } = mark
  if (last === undefined) return true
  if (lastEntry === undefined || entries < mark.entries || compareEntries(lastEntry, last) < 0) return false
  if (lastEntry === last) return true
  if (trimmedTo !== undefined && compareEntries(last, trimmedTo) < 0) return true
  const [found] = await ledger.entries(account, justBefore(last), 1)
  return found?.id === last
}

function justBefore(id: string): string {
  const number = Number(id.slice(id.indexOf('-') + 1))
  return number > 0 ? `${timeOf(id)}-${number - 1}` : `${timeOf(id) - 1}-${Number.MAX_SAFE_INTEGER}`
}

/** The leader before has restored more than the mark counts, and died before it could save that. */
function isFurther({ restoredTo }: Balance, { last }: Mark): boolean {
  return restoredTo !== undefined && last !== undefined && compareEntries(restoredTo, last) > 0
}

/** What to add to what was spent, 0 to note the restore alone; undefined if a restore has done that. */
async function missingSpent(
  ledger: Ledger,
  { account, mark }: Restore,
  balance: Balance,
): Promise<Nanos | undefined> {
  if (isFurther(balance, mark)) return undefined
  const added = await entriesAfter(ledger, account, mark.last)
  const spent = mark.spent + newlySpent(added, mark) - (balance.credited - balance.posted)
  const isNoted = added.some(({ adjusted }) => adjusted?.text === textOf(mark))
  return spent === 0 && isNoted ? undefined : spent
}

/** False: the account changed meanwhile. */
async function correct(
  ledger: Ledger,
  { account, epoch, mark }: Restore,
  { entries }: Balance,
  change: Adjust['changes'][number],
): Promise<boolean> {
  const reply = await ledger.adjust({
    account,
    epoch,
    id: `restore/${mark.last}/${entries}`,
    reason: 'restore',
    text: textOf(mark),
    changes: [change],
    ifEntries: entries,
    restoredTo: mark.last,
  })
  if (reply === 'OK' || reply === 'DUP') return true
  if (reply === 'CHANGED') return false
  throw new RestoreFailed(`the ledger refused the correction: ${reply}`)
}

/** Credits that the ledger has are not applied again; deleted ones are, so that they count as applied. */
async function applyCredits(ledger: Ledger, { account, epoch, mark }: Restore): Promise<void> {
  for (const [id, amount] of Object.entries(mark.credits)) {
    const { reply } = await ledger.topup({ account, epoch, id, amount })
    if (reply !== 'OK' && reply !== 'DUP')
      throw new RestoreFailed(`the ledger refused a credit that it had applied before: ${reply}`)
  }
}

function newlySpent(added: readonly LedgerEntry[], mark: Mark): Nanos {
  // A proxy repeats settles that the store may have lost. Its hold may have expired again before.
  const counted = new Set(added.filter((entry) => isCounted(entry, mark)).map(({ ref }) => ref))
  return added.reduce((sum, { kind, ref, sub, delta, adjusted }) => {
    if (sub !== '' && (kind === 'credit' || kind === 'adjust')) return sum
    if (kind === 'credit') return sum
    if (adjusted !== undefined) return adjusted.reason === 'restore' ? sum : sum + adjusted.credited - delta
    return counted.has(ref) ? sum : sum - delta
  }, 0)
}

const isCounted = ({ postedAs }: LedgerEntry, { last }: Mark) =>
  postedAs !== undefined && last !== undefined && compareEntries(postedAs, last) <= 0

function newlyCredited(added: readonly LedgerEntry[], { credits }: Mark): Nanos {
  return added.reduce((sum, { kind, ref, sub, delta, adjusted }) => {
    if (sub !== '') return sum
    if (kind === 'credit') return Object.hasOwn(credits, ref) ? sum : sum + delta
    return adjusted?.reason === 'operator' ? sum + adjusted.credited : sum
  }, 0)
}

const textOf = ({ last }: Mark) => `up to the entry ${last}`

async function entriesAfter(
  ledger: Ledger,
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
