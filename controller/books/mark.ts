/** What a checkpoint keeps of one account: enough to restore its sums if the store loses them. */
import { z } from 'zod'
import type { Balance } from '../../store/ledger/contract.ts'

const nanos = z.int()

export const mark = z.object({
  credited: nanos,
  spent: nanos,
  /** Number of entries that the sums count. */
  entries: z.int().min(0),
  /** The last of them; absent without one. */
  last: z.string().optional(),
  /** Credits that the ledger has applied, deleted ones included: "namespace/name" and amount. */
  credits: z.record(z.string(), nanos),
})
export type Mark = z.output<typeof mark>

/** Marks by account id. */
export const marks = z.record(z.string(), mark)
export type Marks = Record<string, Mark>

/** `credits`: those that were applied since `before`, the last mark of the account. */
export function markOf(
  { credited, posted, entries, lastEntry }: Balance,
  credits: Readonly<Record<string, number>>,
  before?: Mark,
): Mark {
  return {
    credited,
    spent: credited - posted,
    entries,
    ...(lastEntry !== undefined && { last: lastEntry }),
    credits: { ...before?.credits, ...credits },
  }
}
