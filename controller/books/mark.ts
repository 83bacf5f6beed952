/** What a checkpoint keeps of one account: enough to restore its sums if the store loses them. */
import { z } from 'zod'
import type { Nanos } from '../../contract/money.ts'
import type { Balance, Sums } from '../../store/ledger/contract.ts'

const nanos = z.int()

const sums = {
  credited: nanos,
  spent: nanos,
  /** Credits that the ledger has applied, deleted ones included: "namespace/name" and amount. */
  credits: z.record(z.string(), nanos),
}

export const mark = z.object({
  ...sums,
  /** Number of entries that the sums count. */
  entries: z.int().min(0),
  /** The last of them; absent without one. */
  last: z.string().optional(),
  /** What was spent in the last known period of each budget, with its end and that of the next one. */
  budgets: z.record(z.string(), z.object({ spent: nanos, until: z.int(), after: z.int() })).optional(),
  /** Sub-accounts by id. */
  subs: z.record(z.string(), z.object(sums)).optional(),
})
export type Mark = z.output<typeof mark>

/** `sub`: the sub-account that got the allowance. */
export interface AppliedCredit {
  sub?: string | undefined
  amount: Nanos
}

/** Marks by account id. */
export const marks = z.record(z.string(), mark)
export type Marks = Record<string, Mark>

/** `applied`: the credits since `before`, the last mark of the account, by "namespace/name"; see creditsSince. */
export function markOf(
  { entries, lastEntry, ...balance }: Balance,
  applied: Readonly<Record<string, AppliedCredit>>,
  before?: Mark,
): Mark {
  const creditsOf = (sub?: string) =>
    Object.fromEntries(
      Object.entries(applied).flatMap(([id, credit]) => (credit.sub === sub ? [[id, credit.amount]] : [])),
    )
  const subs = Object.entries(balance.subs).map(([sub, own]) => {
    const credits = { ...before?.subs?.[sub]?.credits, ...creditsOf(sub) }
    return [sub, { ...sumsOf(own), credits }] as const
  })
  const spending = Object.entries(balance.budgets).flatMap(([id, { spent, until, after }]) =>
    spent > 0 ? [[id, { spent, until, after }] as const] : [],
  )
  return {
    ...sumsOf(balance),
    entries,
    ...(spending.length > 0 && { budgets: Object.fromEntries(spending) }),
    ...(lastEntry !== undefined && { last: lastEntry }),
    credits: { ...before?.credits, ...creditsOf() },
    // Those of deleted sub-accounts stay.
    ...((subs.length > 0 || before?.subs !== undefined) && {
      subs: { ...before?.subs, ...Object.fromEntries(subs) },
    }),
  }
}

const sumsOf = ({ credited, posted }: Sums) => ({ credited, spent: credited - posted })
