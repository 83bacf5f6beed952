/**
 * Gives an account back what a checkpoint counts and the store has lost. Everything that was done since the loss stays: new
 * credits and costs are added to the checkpoint's sums, and what the checkpoint has counted already is not counted again.
 * Can be repeated at any point: it corrects by the difference to the sums that should be there. The account takes no holds
 * until it is opened afterwards, so that no request is refused, or served, for the sums in between.
 */
import type { Nanos } from '../../contract/money.ts'
import type { Adjust, Balance, BudgetChange, Ledger, LedgerEntry } from '../../store/ledger/contract.ts'
import { compareEntries, timeOf } from '../../store/ledger/entry-log.ts'
import { entriesAfter } from './applied-credits.ts'
import type { Mark } from './mark.ts'

/** The account may be in use: each correction must meet the sums that it was computed from. */
const ATTEMPTS = 20
const CHANGED = 'the account changed too fast'

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
    if (known === undefined || missingSpent(await look(ledger, restore), mark).length > 0) {
      const opened = await ledger.open({ account, epoch, create: true, closed: true })
      if (opened === 'FENCED') throw new RestoreFailed('another controller has taken over')
      const view = await look(ledger, restore)
      const missing = { changes: missingSpent(view, mark), budgets: missingInBudgets(view, mark) }
      if (!(await correct(ledger, restore, view, missing))) continue
    }
    await applyCredits(ledger, restore)
    const view = await look(ledger, restore)
    if (await correct(ledger, restore, view, { changes: missingCredited(view, mark) })) return 'restored'
  }
  throw new RestoreFailed(CHANGED)
}

/** The account itself (undefined) or one of its sub-accounts. */
type Part = string | undefined

type Change = Adjust['changes'][number]

/** What an account has, and what was done since the mark; `parts` are those that either knows. */
interface View {
  balance: Balance
  added: LedgerEntry[]
  parts: Part[]
}

async function look(ledger: Ledger, { account, mark }: Restore): Promise<View> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await ledger.balance(account)
    const added = await entriesAfter(ledger, account, mark.last)
    const subs = new Set([
      ...Object.keys(mark.subs ?? {}),
      ...added.flatMap(({ sub }) => (sub === '' ? [] : [sub])),
    ])
    const balance = await ledger.balance(account, {
      subs: [...subs],
      budgets: Object.keys(mark.budgets ?? {}),
    })
    if (balance === undefined) throw new RestoreFailed('the account is missing although it was opened')
    if (balance.entries === before?.entries) return { balance, added, parts: [undefined, ...subs] }
  }
  throw new RestoreFailed(CHANGED)
}

const NOTHING = { credited: 0, posted: 0, spent: 0, credits: {} }

const sumsOf = (balance: Balance, part: Part) =>
  part === undefined ? balance : (balance.subs[part] ?? NOTHING)

const markedOf = (mark: Mark, part: Part) => (part === undefined ? mark : (mark.subs?.[part] ?? NOTHING))

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

/** What to add to what was spent. The first correction is made even by zero: it notes what was restored. */
function missingSpent({ balance, added, parts }: View, mark: Mark): Change[] {
  if (isFurther(balance, mark)) return []
  const isNoted = added.some(({ adjusted }) => adjusted?.text === textOf(mark))
  return parts.flatMap((part) => {
    const { credited, posted } = sumsOf(balance, part)
    const spent = markedOf(mark, part).spent + newlySpent(added, mark, part) - (credited - posted)
    const isDue = spent !== 0 || (part === undefined && !isNoted)
    return isDue ? [{ sub: part, credited: 0, spent }] : []
  })
}

/** What to add to the budgets, whose entries name them. A period that is over by now needs nothing. */
function missingInBudgets({ balance, added }: View, mark: Mark): BudgetChange[] {
  if (isFurther(balance, mark)) return []
  const counted = countedBefore(added, mark)
  return Object.entries(mark.budgets ?? {}).flatMap(([id, { spent: marked, until, after }]) => {
    const since = added.filter(
      ({ id: entry, ref, note }) =>
        note?.budgets?.includes(id) === true && !counted.has(ref) && timeOf(entry) < until,
    )
    const known = balance.budgets[id]
    if (known !== undefined && known.until > until) return []
    const spent = since.reduce((sum, { delta }) => sum - delta, marked) - (known?.spent ?? 0)
    return spent === 0 ? [] : [{ id, spent, until, after }]
  })
}

function missingCredited({ balance, added, parts }: View, mark: Mark): Change[] {
  return parts.flatMap((part) => {
    const marked = markedOf(mark, part)
    const missing =
      marked.credited + newlyCredited(added, marked.credits, part) - sumsOf(balance, part).credited
    const credited = isFurther(balance, mark) ? Math.max(0, missing) : missing
    return credited === 0 ? [] : [{ sub: part, credited, spent: 0 }]
  })
}

/** False: the account changed meanwhile. */
async function correct(
  ledger: Ledger,
  { account, epoch, mark }: Restore,
  { balance: { entries } }: View,
  { changes, budgets = [] }: { changes: readonly Change[]; budgets?: readonly BudgetChange[] },
): Promise<boolean> {
  if (changes.length === 0 && budgets.length === 0) return true
  const reply = await ledger.adjust({
    account,
    epoch,
    id: `restore/${mark.last}/${entries}`,
    reason: 'restore',
    text: textOf(mark),
    changes,
    budgets,
    ifEntries: entries,
    restoredTo: mark.last,
  })
  if (reply === 'OK' || reply === 'DUP') return true
  if (reply === 'CHANGED') return false
  throw new RestoreFailed(`the ledger refused the correction: ${reply}`)
}

/** Credits that the ledger has are not applied again; deleted ones are, so that they count as applied. */
async function applyCredits(ledger: Ledger, { account, epoch, mark }: Restore): Promise<void> {
  const parts: [Part, Pick<Mark, 'credits'>][] = [[undefined, mark], ...Object.entries(mark.subs ?? {})]
  for (const [sub, { credits }] of parts)
    for (const [id, amount] of Object.entries(credits)) {
      const { reply } = await ledger.topup({ account, epoch, id, amount, sub })
      if (reply !== 'OK' && reply !== 'DUP')
        throw new RestoreFailed(`the ledger refused a credit that it had applied before: ${reply}`)
    }
}

function newlySpent(added: readonly LedgerEntry[], mark: Mark, part: Part): Nanos {
  const counted = countedBefore(added, mark)
  return added.reduce((sum, { kind, ref, sub, delta, adjusted }) => {
    const ofLeader = kind === 'credit' || kind === 'adjust'
    // Requests of sub-accounts are spending of the account as well.
    if (sub !== (part ?? '') && (part !== undefined || ofLeader)) return sum
    if (kind === 'credit') return sum
    if (adjusted !== undefined) return adjusted.reason === 'restore' ? sum : sum + adjusted.credited - delta
    return counted.has(ref) ? sum : sum - delta
  }, 0)
}

/** Requests that the mark counts: proxies repeat settles that the store may have lost. Their holds may have expired again. */
function countedBefore(added: readonly LedgerEntry[], mark: Mark): Set<string> {
  return new Set(added.filter((entry) => isCounted(entry, mark)).map(({ ref }) => ref))
}

const isCounted = ({ postedAs }: LedgerEntry, { last }: Mark) =>
  postedAs !== undefined && last !== undefined && compareEntries(postedAs, last) <= 0

function newlyCredited(added: readonly LedgerEntry[], known: Mark['credits'], part: Part): Nanos {
  return added.reduce((sum, { kind, ref, sub, delta, adjusted }) => {
    if (sub !== (part ?? '')) return sum
    if (kind === 'credit') return Object.hasOwn(known, ref) ? sum : sum + delta
    return adjusted?.reason === 'operator' ? sum + adjusted.credited : sum
  }, 0)
}

const textOf = ({ last }: Mark) => `up to the entry ${last}`
