/**
 * Budgets: how much may be spent in a period. A budget renews with the first command after the end of its period. What is held
 * then stays held, and is charged to the period in which it is settled.
 */
import type { Nanos } from '../../contract/money.ts'
import type { Budget, BudgetChange, BudgetSums, Periods } from './contract.ts'
import { integer, natural } from './numbers.ts'

/** By id. */
export interface Budgets {
  readonly budgets: Map<string, BudgetSums>
}

/** The budget that does not cover `amount`, the first that is used up before others; undefined if all do. */
export function findSpent(
  state: Budgets,
  budgets: readonly Budget[],
  amount: Nanos,
  nowMs: number,
): { budget: number; reason: 'empty' | 'hold' } | undefined {
  const left = leftIn(state, budgets, nowMs)
  const empty = left.findIndex(({ spent }, i) => spent >= (budgets[i]?.most ?? 0))
  if (empty >= 0) return { budget: empty, reason: 'empty' }
  const short = left.findIndex(({ free }) => free < amount)
  return short >= 0 ? { budget: short, reason: 'hold' } : undefined
}

/** What is spent in each budget, and what is left for other holds. */
export function leftIn(
  state: Budgets,
  budgets: readonly Budget[],
  nowMs: number,
): { spent: Nanos; free: Nanos }[] {
  return budgets.map(({ id, most, periods }) => {
    const { spent, held } = sumsAt(state, id, nowMs, periods)
    return { spent, free: most - spent - held }
  })
}

/** Holds `amount` in the budgets, or with a negative one releases it. `periods` of those that the command names. */
export function holdIn(
  state: Budgets,
  ids: readonly string[],
  amount: Nanos,
  nowMs: number,
  named: readonly Periods[] = [],
): void {
  for (const id of ids) {
    const sums = sumsAt(state, id, nowMs, periodsOf(named, id))
    state.budgets.set(id, { ...sums, held: countable(sums.held + amount) })
  }
}

/** Charges `amount` to the budgets, or with a negative one takes it back. */
export function chargeTo(
  state: Budgets,
  ids: readonly string[],
  amount: Nanos,
  nowMs: number,
  named: readonly Periods[] = [],
): void {
  for (const id of ids) {
    const sums = sumsAt(state, id, nowMs, periodsOf(named, id))
    state.budgets.set(id, { ...sums, spent: countable(sums.spent + amount) })
  }
}

/** Corrects what was spent in a period that is not over yet. */
export function adjustBudgets(state: Budgets, changes: readonly BudgetChange[], nowMs: number): void {
  for (const { id, spent, until, after } of changes) {
    const known = sumsAt(state, id, nowMs)
    if (nowMs < until)
      state.budgets.set(id, { spent: countable(known.spent + spent), held: known.held, until, after })
  }
}

/** Forgets budgets that nothing is held in and that were not used for a whole period: those of keys that are gone. */
export function forgetUnused({ budgets }: Budgets, nowMs: number): void {
  for (const [id, { held, after }] of budgets) if (held === 0 && after <= nowMs) budgets.delete(id)
}

/** A sum is never below zero, nor beyond the safe integers. */
function countable(sum: Nanos): Nanos {
  return Math.min(Math.max(0, sum), Number.MAX_SAFE_INTEGER)
}

/** What was spent in the period at `nowMs`, by the sums of a balance. */
export function spentIn(sums: BudgetSums | undefined, nowMs: number): Nanos {
  return sums !== undefined && nowMs < sums.until ? sums.spent : 0
}

/** The sums of the period at `nowMs`. */
function sumsAt(state: Budgets, id: string, nowMs: number, periods?: Periods['periods']): BudgetSums {
  const known = state.budgets.get(id) ?? { spent: 0, held: 0, until: 0, after: 0 }
  const spent = nowMs < known.until ? known.spent : 0
  const ends = periods === undefined ? endsAfter(known, nowMs) : endsOf(periods, nowMs)
  return { spent, held: known.held, ...ends }
}

type Ends = Pick<BudgetSums, 'until' | 'after'>

/** The end of the period at `nowMs`, and that of the next one. Clocks of proxies may be wrong by a part of a period. */
function endsOf([first, second, third]: Periods['periods'], nowMs: number): Ends {
  return nowMs < first ? { until: first, after: second } : endsAfter({ until: second, after: third }, nowMs)
}

/** The same, from two ends that may be over: no command has named the periods since, so they are taken to be equally long. */
function endsAfter({ until, after }: Ends, nowMs: number): Ends {
  const length = after - until
  if (nowMs < until || length <= 0) return { until, after }
  const passed = Math.floor((nowMs - until) / length) + 1
  return { until: until + passed * length, after: after + passed * length }
}

function periodsOf(named: readonly Periods[], id: string): Periods['periods'] | undefined {
  return named.find((one) => one.id === id)?.periods
}

export function checkBudgets(budgets: readonly Budget[] = []): readonly Budget[] {
  for (const { most } of budgets) natural('most', most)
  checkPeriods(budgets)
  return budgets
}

export function checkPeriods(budgets: readonly Periods[] = []): readonly Periods[] {
  if (budgets.length > 1 && new Set(budgets.map(({ id }) => id)).size < budgets.length)
    throw new RangeError('a command names a budget twice')
  for (const { periods } of budgets) for (const begin of periods) natural('periods', begin)
  return budgets
}

export function checkBudgetChanges(changes: readonly BudgetChange[] = []): readonly BudgetChange[] {
  for (const { spent, until, after } of changes) {
    integer('spent', spent)
    natural('until', until)
    natural('after', after)
  }
  return changes
}
