/** The leader's commands on the state of one account: credits and corrections, each once per id, fenced by its term. */
import { adjustBudgets, checkBudgetChanges } from './budgets.ts'
import type { Adjust, AdjustReply, Topup, TopupReply } from './contract.ts'
import { compareEntries } from './entry-log.ts'
import { integer, natural } from './numbers.ts'
import { append } from './postings.ts'
import type { AccountState } from './state.ts'

export function topup(state: AccountState, command: Topup, nowMs: number): TopupReply {
  const amount = integer('amount', command.amount)
  const { id, sub, epoch } = command
  if (isFenced(state, epoch)) return { reply: 'FENCED' }
  const known = state.credits.get(id)
  if (known !== undefined) return { reply: known.sub === sub && known.amount === amount ? 'DUP' : 'CONFLICT' }
  if (!isCountable(state, sub, { posted: amount, credited: amount })) return { reply: 'LIMIT' }
  state.epoch = epoch
  state.credits.set(id, { sub, amount })
  // An allowance raises only the sub-account: it adds no money to the account.
  state.add('posted', sub, amount)
  state.add('credited', sub, amount)
  const entry = append(state, { kind: 'credit', ref: id, sub: sub ?? '', delta: amount }, nowMs)
  return { reply: 'OK', entry }
}

export function adjust(state: AccountState, command: Adjust, nowMs: number): AdjustReply {
  const { id, epoch, reason, text = '', ifEntries, restoredTo } = command
  const changes = checkChanges(command.changes)
  const budgets = checkBudgetChanges(command.budgets)
  if (restoredTo !== undefined) compareEntries(restoredTo, restoredTo)
  if (isFenced(state, epoch)) return 'FENCED'
  const known = state.credits.get(`adjust:${id}`)
  if (known !== undefined) return 'DUP'
  if (ifEntries !== undefined && natural('ifEntries', ifEntries) !== state.entries) return 'CHANGED'
  if (!changes.every(({ sub, ...by }) => isCountable(state, sub, by))) return 'LIMIT'
  state.epoch = epoch
  state.credits.set(`adjust:${id}`, { sub: undefined, amount: 0 })
  for (const { sub, credited, posted } of changes) {
    state.add('posted', sub, posted)
    state.add('credited', sub, credited)
    const adjusted = { credited, reason, text }
    append(state, { kind: 'adjust', ref: id, sub: sub ?? '', delta: posted, adjusted }, nowMs)
  }
  adjustBudgets(state, budgets, nowMs)
  const before = state.restoredTo
  if (restoredTo !== undefined && (before === undefined || compareEntries(before, restoredTo) < 0))
    state.restoredTo = restoredTo
  return 'OK'
}

/** Throws RangeError for amounts that cannot be stored, and for a sub-account that is named twice. */
export function checkChanges(changes: Adjust['changes']) {
  if (new Set(changes.map(({ sub }) => sub)).size < changes.length)
    throw new RangeError('a correction names a sub-account twice')
  return changes.map(({ sub, credited, spent }) => ({
    sub,
    credited: integer('credited', credited),
    posted: integer('posted', integer('credited', credited) - integer('spent', spent)),
  }))
}

/** Whether a later leader was at work here. A command that changes something sets the epoch. */
export function isFenced(state: AccountState, epoch: number): boolean {
  return natural('epoch', epoch) < state.epoch
}

function isCountable(
  state: AccountState,
  sub: string | undefined,
  by: { posted: number; credited: number },
): boolean {
  return (['posted', 'credited'] as const).every(
    (field) => state.countable(field, sub, by[field]) === by[field],
  )
}
